"""Many runs: sweep, status."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ambidex.cli.options import (
    CHECK_FAILED,
    Algorithm,
    AsJson,
    PresetName,
    Settings,
    SpreadingCommand,
    Trust,
    print_json,
    print_table,
    whole_number,
)
from ambidex.cli.options import say as tell
from ambidex.experiment.configure.methods import METHODS

app = typer.Typer()


@app.command(cls=SpreadingCommand)
def sweep(
    scenarios: Annotated[list[str], typer.Option(metavar="NAME", help="One or more scenarios.")],
    methods: Annotated[
        list[str], typer.Option(metavar="NAME", help=f"One or more of {', '.join(METHODS.names)}.")
    ],
    out: Annotated[Path, typer.Option(help="Where the runs are kept.")],
    algorithm: Algorithm = None,
    preset: PresetName = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 1,
    steps: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="N", help="Training steps; the scenario's by default."),
    ] = None,
    assignments: Settings = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Processes here, or Ray tasks.")] = "local",
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once; one per core by default.")] = None,
    trust: Trust = False,
) -> None:
    """Train a grid of runs.

    The same command again skips what is done and resumes what is not. With more --steps it extends the runs
    that are there.

    Example: ambidex sweep --scenarios A1.1 A2.1 --methods ppo asl --seeds 12 --out runs
    """
    from ambidex.experiment.configure.foreign import refuse_foreign_code
    from ambidex.experiment.configure.presets import read_assignments, refuse_unused
    from ambidex.experiment.many_runs import sweep as sweeping

    options = {"steps": steps, "algorithm": algorithm, "preset": preset}
    overrides = read_assignments(assignments or []) | {k: v for k, v in options.items() if v is not None}
    refuse_unused(methods, overrides)
    runs = sweeping.plan(scenarios, methods, range(seeds), out, overrides)
    for run in runs:
        refuse_foreign_code(run.config, str(run.config.scenario), trust=trust or "env" in overrides)
    tell(f"{len(runs)} runs in {out}; `ambidex status {out}` shows how far they are")

    def say(outcome: sweeping.Outcome) -> None:
        tell(f"{outcome.state}: {outcome.run.directory} {outcome.message or ''}".rstrip())

    outcomes = sweeping.sweep(runs, out, engine=engine, jobs=jobs, listener=say)
    if any(outcome.state in ("failed", "collapsed") for outcome in outcomes):
        raise typer.Exit(CHECK_FAILED)


@app.command()
def status(
    directory: Annotated[Path, typer.Argument(help="A run directory, or one that holds many.")],
    as_json: AsJson = False,
) -> None:
    """How far runs are, how fast, and how long they still take.

    Example: ambidex status runs
    """
    from ambidex.experiment.many_runs.status import status as read_status

    rows = read_status(directory)
    if as_json:
        print_json([row.as_json() for row in rows], indent=None)
        return
    names = [row.title for row in rows]
    if len(set(names)) < len(names):  # such as those of the trials of a search
        names = [str(row.directory.relative_to(directory)) for row in rows]
    print_table(
        ["run", "state", "steps", "return", "steps/s", "left", ""],
        [[name, row.state, *row.figures(), row.message or ""] for name, row in zip(names, rows, strict=True)],
    )
