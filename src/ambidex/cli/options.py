"""What several verbs share: options and arguments, exit statuses, tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ambidex.experiment.configure.methods import METHODS

CHECK_FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Description = Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")]
RunDirectory = Annotated[Path, typer.Argument(help="A run directory, as `ambidex train` writes it.")]
Which = Annotated[Literal["best", "last"], typer.Option("--policy", help="The policy to take.")]
if TYPE_CHECKING:
    MethodName = str
else:
    MethodName = Literal[METHODS.names]


class SpreadingCommand(TyperCommand):
    """``--scenarios A B`` means ``--scenarios A --scenarios B``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        for arg in args:
            if arg.startswith("-"):
                option = arg
            elif option in ("--scenarios", "--methods") and spread[-1] != option:
                spread.append(option)
            spread.append(arg)
        return super().parse_args(ctx, spread)


def print_table(columns: list[str], rows: list[list[Any]]) -> None:
    """Print columns of text, without lines."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)
