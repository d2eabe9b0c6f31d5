"""The command line: a file for each step of the flow, which parses, calls and prints.

A verb is a command of the Typer application of one of these files, which imports what it needs when it runs;
one from outside the package is added to ``ambidex.cli.app`` with ``@app.command()``.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ambidex.cli import derive, describe, diagnose, report, scenarios, sweep, train, trained, verify
from ambidex.cli.options import WRONG_USAGE

app = typer.Typer(
    name="ambidex",
    help="Symmetry learning for imperfect robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for step in (describe, derive, verify, scenarios, train, sweep, trained, report, diagnose):
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
    """Run the command line; wrong input ends in one clear line and exit status 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"ambidex: {error}", file=sys.stderr)
        sys.exit(WRONG_USAGE)


if __name__ == "__main__":
    main()
