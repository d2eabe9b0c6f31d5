"""The robots of the benchmark."""

from __future__ import annotations

import typer

from ambidex.cli.options import AsJson, print_json

app = typer.Typer()


@app.command(name="scenarios")
def list_scenarios(as_json: AsJson = False) -> None:
    """List the scenarios of the benchmark, each in words.

    Example: ambidex scenarios --json
    """
    from ambidex.envs import scenarios

    if as_json:
        found = [scenarios.get(name).model_dump(mode="json") for name in scenarios.names()]
        print_json(found)
        return
    for name in scenarios.names():
        print(_entry(name, scenarios.get(name).description))


def _entry(name: str, words: str) -> str:
    """A name in the left column, words wrapped in the right."""
    import shutil
    import textwrap

    column = " " * 18
    width = min(shutil.get_terminal_size().columns, 110)
    lines = textwrap.fill(words, width, initial_indent=column, subsequent_indent=column)
    return name.ljust(len(column)) + lines.removeprefix(column)
