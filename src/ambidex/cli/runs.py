"""The verbs that train, continue, watch and use runs; each imports what it needs when it runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

app = typer.Typer()

CHECK_FAILED = 1
INTERRUPTED = 130

RunDirectory = Annotated[Path, typer.Argument(help="A run directory, as `ambidex train` writes it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Which = Annotated[Literal["best", "last"], typer.Option("--policy", help="The policy to take.")]
Method = Literal["ppo", "msl", "psl", "asl"]


class _SpreadingCommand(TyperCommand):
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


@app.command()
def train(
    scenario: Annotated[str | None, typer.Argument(help="A scenario; none where --env is given.")] = None,
    method: Annotated[Method | None, typer.Option(help="asl by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="0 by default.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; the scenario's by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory; runs/SCENARIO/METHOD/seed-N.")] = None,
    env: Annotated[str | None, typer.Option(help="Any Gymnasium id, with --symmetry.")] = None,
    symmetry: Annotated[str | None, typer.Option(help="A symmetry file or catalog name.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of values by name.")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="key=value, repeatable.")] = None,
    symmetry_samples: Annotated[int | None, typer.Option(help="Transforms drawn per state.")] = None,
    fast: Annotated[bool | None, typer.Option(help="The hand-written update of plain MLPs.")] = None,
) -> None:
    """Train one run.

    Example: ambidex train A2.1 --method asl --steps 1000000 --set learning_rate=1e-4 --out runs/limping
    """
    _use_one_thread()
    from ambidex.experiment.configure.presets import configure

    options = {"scenario": scenario, "method": method, "seed": seed, "steps": steps, "env": env}
    options |= {"symmetry": symmetry, "symmetry_samples": symmetry_samples, "fast": fast}
    chosen = configure(config, assignments or [], **options)
    directory = out or Path("runs") / chosen.directory
    from ambidex.experiment.one_run import run

    _attend(chosen, directory, lambda reporter: run.train(chosen, directory, reporter=reporter))


@app.command()
def resume(
    directory: RunDirectory,
    steps: Annotated[int | None, typer.Option(help="Training steps in all; as started by default.")] = None,
) -> None:
    """Continue a run that was stopped, or extend one that is done, to the bit as if it had never ended.

    Example: ambidex resume runs/limping --steps 2000000
    """
    _use_one_thread()
    from ambidex.experiment.one_run import record, run

    chosen = record.read_config(directory)
    if steps is not None:
        chosen = chosen.model_copy(update={"steps": steps})
    _attend(chosen, directory, lambda reporter: run.resume(directory, steps=steps, reporter=reporter))


def _use_one_thread() -> None:
    """Libraries count their threads when they are loaded, which the verbs do after this."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _attend(config: Any, directory: Path, work: Any) -> None:
    """Do the work of a run under a progress bar; a failed run ends with exit status 1."""
    from ambidex.experiment.one_run.progress import Console
    from ambidex.experiment.one_run.run import RunFailed

    try:
        with Console(config.title, config.steps) as reporter:
            work(reporter)
    except RunFailed as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    except KeyboardInterrupt:
        print(f"stopped; `ambidex resume {directory}` continues", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    print(f"done: {directory}")


@app.command()
def evaluate(
    directory: RunDirectory,
    policy: Which = "best",
    episodes: Annotated[int | None, typer.Option(min=1, help="How many; as in training by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Deterministic episodes of a trained policy, per goal, and how symmetric the policy is.

    Example: ambidex evaluate runs/limping --episodes 64
    """
    from dataclasses import asdict

    from ambidex.experiment.trained import evaluate as evaluation

    rows = evaluation.summary(evaluation.evaluate(directory, which=policy, episodes=episodes))
    symmetries = evaluation.measure_symmetry(directory, which=policy, episodes=episodes)
    if as_json:
        print(json.dumps({"goals": rows, "symmetry": [asdict(measured) for measured in symmetries]}))
        return
    print_table(
        ["goal", "episodes", "mean return", "lowest", "highest", "mean length"],
        [
            ["all" if goal is None else goal, count, *(f"{value:,.1f}" for value in values)]
            for goal, count, *values in (row.values() for row in rows)
        ],
    )
    for measured in symmetries:
        print(
            f"\nsymmetry under {measured.isometry}: 0 is symmetric, per action 0 to {len(measured.gait) - 1}"
        )
        for what in ("canonical", "equivariance", "gait"):
            print(f"  {what:<14}" + " ".join(f"{value:6.2f}" for value in getattr(measured, what)))


@app.command(cls=_SpreadingCommand)
def sweep(
    scenarios: Annotated[list[str], typer.Option(help="One or more scenarios.")],
    methods: Annotated[list[str], typer.Option(help="One or more of ppo, msl, psl, asl.")],
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


@app.command()
def play(
    directory: RunDirectory,
    video: Annotated[Path, typer.Option(help="An .mp4 or .gif file.")],
    policy: Which = "best",
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of the film.")] = 10.0,
) -> None:
    """Film a trained policy; needs no screen.

    Example: ambidex play runs/limping --video limping.mp4
    """
    from ambidex.experiment.trained.play import play as film

    frames = film(directory, video, which=policy, seconds=seconds)
    print(f"{video}: {frames} frames")


@app.command()
def export(
    target: Annotated[
        str, typer.Argument(help="A run directory, or a description: a YAML file or a name of the catalog.")
    ],
    onnx: Annotated[Path | None, typer.Option(help="Of a run: the file to write.")] = None,
    policy: Which = "best",
    to: Annotated[
        Literal["rsl_rl", "cusrl", "numpy", "jax", "torch"] | None,
        typer.Option(help="Of a description: what to write a module for."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --to: the module to write.")] = None,
    elements: Annotated[
        list[str] | None, typer.Option("--element", help="With --to: only this transform; may be repeated.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", help="For rsl_rl: the observations' group, policy by default; may be repeated."
        ),
    ] = None,
    pass_through: Annotated[
        list[str] | None,
        typer.Option(help="For rsl_rl: a group that no transform changes; may be repeated."),
    ] = None,
) -> None:
    """Write a trained policy as ONNX, or a description as a Python module for other code.

    The policy is written with its clipping and checked against the original. The module needs nothing of this
    package; what lint finds in the description is printed and stands in the module's header.

    Example: ambidex export runs/limping --onnx limping.onnx

    Example: ambidex export my-robot.yaml --to rsl_rl --out my_robot_symmetry.py --pass-through images
    """
    if (onnx is None) == (to is None):
        raise ValueError("give either --onnx FILE for a run, or --to and --out for a description")
    if to is not None:
        from ambidex.symmetry.files.export.module import export_module

        if out is None:
            raise ValueError(f"--to {to}: give --out, such as --out my_robot_symmetry.py")
        findings = export_module(
            target, out, to, elements=elements, groups=groups or (), pass_through=pass_through or ()
        )
        for finding in findings:
            print(finding, file=sys.stderr)
        print(f"{out}: for {to}; lint has {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
        return
    from ambidex.experiment.trained.export import export as write_onnx

    assert onnx is not None
    try:
        exported = write_onnx(Path(target), onnx, policy)
    except ArithmeticError as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    compared = f"{exported.observations} observations"
    print(f"{onnx}: equal to the policy within {exported.difference:.1e} on {compared}")


def print_table(columns: list[str], rows: list[list[Any]]) -> None:
    """Print columns of text, without lines."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)
