"""The command line: a file for each step of the flow, which parses, calls and prints.

A verb is a command of the Typer application of one of these files, which imports what it needs when it runs;
one from outside the package is added to ``ambidex.cli.app`` with ``@app.command()``.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ambidex.cli.options import CHECK_FAILED, WRONG_USAGE, say
from ambidex.cli.verbs import (
    derive,
    describe,
    diagnose,
    report,
    scenarios,
    sweep,
    train,
    trained,
    tune,
    verify,
)
from ambidex.common.escaping import message
from ambidex.common.words import suggestion


class Verbs(TyperGroup):
    """What is refused as the value of an option is said in our words, with what was probably meant."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = plain_refusal(error.message)
            raise


def plain_refusal(text: str) -> str:
    """What the parser of options says, without pydantic's words."""
    text = text.removeprefix("Value error, ").replace("Input should be", "it should be")
    text = text.partition(", unable to parse")[0]
    if "is not one of" not in text:
        return text
    given, *choices = re.findall("'([^']*)'", text)
    return text.removesuffix(".") + suggestion(given, choices)


app = typer.Typer(
    name="ambidex",
    cls=Verbs,
    help="Symmetry learning for imperfect robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for step in (describe, derive, verify, scenarios, train, sweep, tune, trained, report, diagnose):
    app.add_typer(step.app)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from ambidex import __version__

        print(f"ambidex {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; wrong input ends in one clear line and exit status 2.

    What is no number where one has to be ends in a line too, and exit status 1.
    """
    try:
        app()
    except ArithmeticError as error:
        say(f"ambidex: {message(error)}", to_stderr=True)
        sys.exit(CHECK_FAILED)
    except (ValueError, OSError) as error:
        say(f"ambidex: {message(error)}", to_stderr=True)
        sys.exit(WRONG_USAGE)
    except MemoryError as error:
        say(f"ambidex: this needs more memory than there is ({message(error)})", to_stderr=True)
        sys.exit(WRONG_USAGE)
