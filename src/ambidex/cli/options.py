"""What several verbs share: options and arguments, exit statuses, tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ambidex.common.escaping import printable
from ambidex.common.json import to_json
from ambidex.experiment.configure.algorithms import ALGORITHMS
from ambidex.experiment.configure.methods import METHODS, PLAIN

CHECK_FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130

Trust = Annotated[
    bool, typer.Option("--trust", help="Run the Python module of an environment that a file names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Description = Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")]
RunDirectory = Annotated[Path, typer.Argument(help="A run directory, as `ambidex train` writes it.")]
Which = Annotated[Literal["best", "last"], typer.Option("--policy", help="The policy to take.")]
EnvironmentArguments = Annotated[
    list[str] | None,
    typer.Option("--env-arg", help="key=value, a keyword argument of the environment; repeatable."),
]
PresetName = Annotated[
    Literal["ambidex", "paper"] | None,
    typer.Option(
        "--preset",
        help="One configuration for every robot, or the paper's of the scenario; by default ambidex for "
        "--env and equivariant, else paper.",
    ),
]
if TYPE_CHECKING:
    AlgorithmName = str
    MethodName = str
else:
    AlgorithmName = Literal[ALGORITHMS.names]
    MethodName = Literal[PLAIN, *METHODS.names]


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


def named_values(assignments: list[str] | None) -> dict[str, Any] | None:
    """``["mass=2", "terrain=rough"]`` as values by name; None where none are given."""
    from ambidex.experiment.configure.presets import read_assignments

    return read_assignments(assignments) if assignments else None


def say(text: object, *, to_stderr: bool = False) -> None:
    """Print what may hold names from files of others: nothing in it commands the terminal."""
    print(printable(str(text)), file=sys.stderr if to_stderr else sys.stdout, flush=True)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON for a program: a number that is none is null."""
    print(to_json(value, indent))


def print_table(columns: list[str], rows: list[list[Any]]) -> None:
    """Print columns of text, without lines."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(printable(str(cell)) for cell in row))
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)
