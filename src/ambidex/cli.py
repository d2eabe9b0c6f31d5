"""The command line: parses, calls, prints. Each verb imports what it needs when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

app = typer.Typer(
    name="ambidex",
    help="Symmetry learning for imperfect robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

CHECK_FAILED = 1
WRONG_USAGE = 2


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
