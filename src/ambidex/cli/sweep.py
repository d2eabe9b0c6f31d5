"""Many runs: sweep, status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from ambidex.cli.options import CHECK_FAILED, AsJson, SpreadingCommand, print_table
from ambidex.experiment.configure.methods import METHODS

app = typer.Typer()


@app.command(cls=SpreadingCommand)
def sweep(
    scenarios: Annotated[list[str], typer.Option(help="One or more scenarios.")],
    methods: Annotated[list[str], typer.Option(help=f"One or more of {', '.join(METHODS.names)}.")],
    out: Annotated[Path, typer.Option(help="Where the runs are kept.")],
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 1,
    steps: Annotated[int | None, typer.Option(help="Training steps; the scenario's by default.")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="key=value, repeatable.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Processes here, or Ray tasks.")] = "local",
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once; one per core by default.")] = None,
) -> None:
    """Train a grid of runs; the same command again skips what is done and resumes what is not.

    With more --steps it extends the runs that are there.

    Example: ambidex sweep --scenarios A1.1 A2.1 --methods ppo asl --seeds 12 --out runs
    """
    from ambidex.experiment.configure.presets import read_assignments
    from ambidex.experiment.many_runs import sweep as sweeping

    overrides = read_assignments(assignments or []) | ({} if steps is None else {"steps": steps})
    runs = sweeping.plan(scenarios, methods, range(seeds), out, overrides)
    print(f"{len(runs)} runs in {out}; `ambidex status {out}` shows how far they are")

    def say(outcome: sweeping.Outcome) -> None:
        print(f"{outcome.state}: {outcome.run.directory} {outcome.message or ''}".rstrip(), flush=True)

    outcomes = sweeping.sweep(runs, out, engine=engine, jobs=jobs, listener=say)
    if any(outcome.state == "failed" for outcome in outcomes):
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
        print(json.dumps([row.as_json() for row in rows]))
        return
    print_table(
        ["run", "state", "steps", "return", "steps/s", "left", ""],
        [[row.title, row.state, *row.figures(), row.message or ""] for row in rows],
    )
