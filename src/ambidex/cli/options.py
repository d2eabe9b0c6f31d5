"""What several verbs share: options and arguments, exit statuses, tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ambidex.common.escaping import printable
from ambidex.common.json import to_json
from ambidex.common.numerals import whole
from ambidex.experiment.configure.algorithms import ALGORITHMS, PPO
from ambidex.experiment.configure.methods import METHODS, PLAIN

CHECK_FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130


def whole_number(given: str | int) -> int:
    """A count as people write it, ``1e6`` too."""
    value = given if isinstance(given, int) else whole(given)
    if value is None or value < 1:
        raise typer.BadParameter(f"{given} is not a whole number from 1 on, such as 50000 or 1e6")
    return value


Trust = Annotated[
    bool, typer.Option("--trust", help="Run the Python module of an environment that a file names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Description = Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")]
RunDirectory = Annotated[Path, typer.Argument(help="A run directory, as `ambidex train` writes it.")]
Which = Annotated[Literal["best", "last"], typer.Option("--policy", help="The policy to take.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A value of the run; repeatable.")
]
EnvironmentArguments = Annotated[
    list[str] | None,
    typer.Option("--env-arg", metavar="KEY=VALUE", help="A keyword argument of the environment; repeatable."),
]
Environments = Annotated[int | None, typer.Option(help="Environments stepped together.")]
SteppingName = Annotated[
    Literal["here", "processes", "vector"] | None,
    typer.Option(help="One after the other, each in a process of its own, or as one array."),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        help="Running normalisation of observations and rewards; --set normalize=rewards for rewards only."
    ),
]
PresetName = Annotated[
    Literal["ambidex", "paper"] | None,
    typer.Option(
        "--preset",
        help="One configuration for every robot, or the paper's of the scenario; by default ambidex for a "
        "robot of your own and equivariant, else paper.",
    ),
]
if TYPE_CHECKING:
    AlgorithmName = str
    MethodName = str
else:
    AlgorithmName = Literal[ALGORITHMS.names]
    MethodName = Literal[PLAIN, *METHODS.names]
Algorithm = Annotated[AlgorithmName | None, typer.Option(help=f"{PPO.name} by default.")]


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
