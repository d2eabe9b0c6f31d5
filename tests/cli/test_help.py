"""What `--help` shows to who has never seen the command line."""

import pytest
import typer.main
from typer.testing import CliRunner

from ambidex.cli import command_line as cli

VERBS = list(typer.main.get_command(cli.app).commands)


def _help(*words):
    done = CliRunner().invoke(cli.app, [*words, "--help"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    return done.output


def test_no_summary_is_cut():
    text = _help()
    assert all(verb in text for verb in VERBS)
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.parametrize("verb", VERBS)
def test_placeholders_are_words_and_no_types(verb):
    for line in _help(verb).splitlines():
        if line.strip().startswith("--"):  # typer shows the type of arguments whatever their name
            assert not any(kind in line for kind in ("list[", "tuple[", "float,float", "FLOAT FLOAT"))


def test_only_options_that_there_are_stand_in_the_help():
    """An option that is named in a help text is one of the verb's."""
    for verb in ("sweep", "tune", "train"):
        command = typer.main.get_command(cli.app).commands[verb]
        known = {name for option in command.params for name in option.opts}
        words = " ".join(str(getattr(option, "help", "")) for option in command.params)
        named = {word.strip(".,;()`") for word in words.split() if word.startswith("--")}
        assert named <= known, verb
