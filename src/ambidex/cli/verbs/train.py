"""One run: train, resume; and two beside each other: demo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ambidex.cli.options import (
    CHECK_FAILED,
    INTERRUPTED,
    Algorithm,
    EnvironmentArguments,
    Environments,
    MethodName,
    Normalize,
    PresetName,
    RunDirectory,
    Settings,
    SteppingName,
    Trust,
    named_values,
    print_table,
    say,
    whole_number,
)
from ambidex.common.numerals import plural
from ambidex.experiment.configure.methods import DEFAULT, EQUIVARIANT, METHODS

app = typer.Typer()


@app.command()
def train(
    scenario: Annotated[str | None, typer.Argument(help="A scenario; none where --env is given.")] = None,
    algorithm: Algorithm = None,
    method: Annotated[
        MethodName | None,
        typer.Option(help=f"{DEFAULT.name} by default, {EQUIVARIANT.name} for --env alone."),
    ] = None,
    preset: PresetName = None,
    seed: Annotated[int | None, typer.Option(help="0 by default.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="N", help="Training steps; the scenario's by default."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory; runs/SCENARIO/METHOD/seed-N.")] = None,
    env: Annotated[
        str | None, typer.Option(help="Any Gymnasium id, also module:Id-v0 of this folder, with --symmetry.")
    ] = None,
    env_args: EnvironmentArguments = None,
    num_envs: Environments = None,
    stepping: SteppingName = None,
    normalize: Normalize = None,
    symmetry: Annotated[str | None, typer.Option(help="A symmetry file or catalog name.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of values by name.")] = None,
    assignments: Settings = None,
    symmetry_samples: Annotated[int | None, typer.Option(help="Transforms drawn per state.")] = None,
    fast: Annotated[bool | None, typer.Option(help="The hand-written update of plain MLPs.")] = None,
    trust: Trust = False,
) -> None:
    """Train one run.

    Example: ambidex train A2.1 --method asl --steps 1000000 --set learning_rate=1e-4 --out runs/limping

    Example: ambidex train A2.1 --algorithm trpo --method msl

    Example: ambidex train --env my_robot:Walker-v0 --symmetry my-robot.yaml --num-envs 8 --normalize
    """
    _use_one_thread()
    from ambidex.experiment.configure.foreign import refuse_foreign_code
    from ambidex.experiment.configure.presets import configure

    chosen = configure(
        config,
        assignments or [],
        scenario=scenario,
        algorithm=algorithm,
        method=method,
        preset=preset,
        seed=seed,
        steps=steps,
        env=env,
        symmetry=symmetry,
        symmetry_samples=symmetry_samples,
        fast=fast,
        num_envs=num_envs,
        stepping=stepping,
        normalize=normalize,
        env_args=named_values(env_args),
    )
    is_named_here = env is not None or any(one.startswith("env=") for one in assignments or [])
    refuse_foreign_code(chosen, str(config or scenario), trust=trust or is_named_here)
    _say_what_is_not_fitted(chosen)
    directory = out or Path("runs") / chosen.directory
    from ambidex.experiment.one_run import run

    _attend(chosen, directory, lambda reporter: run.train(chosen, directory, reporter=reporter))


@app.command()
def resume(
    directory: RunDirectory,
    steps: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="N", help="Training steps in all; as started by default."),
    ] = None,
    trust: Trust = False,
) -> None:
    """Continue a run that was stopped, or extend one.

    To the bit as if it had never ended.

    Example: ambidex resume runs/limping --steps 2000000
    """
    _use_one_thread()
    from ambidex.experiment.one_run import record, run

    chosen = record.read_config(directory)
    if steps is not None:
        chosen = chosen.model_copy(update={"steps": steps})
    _attend(
        chosen,
        directory,
        lambda reporter: run.resume(directory, steps=steps, reporter=reporter, trust=trust),
    )


def _say_what_is_not_fitted(config: Any) -> None:
    """The preset fits actuators where it can; say why it does not."""
    from ambidex.experiment.configure.build import symmetry_source
    from ambidex.experiment.configure.fittable import obstacle

    source = symmetry_source(config)
    fits = config.preset == "ambidex" and config.method == EQUIVARIANT.name
    if fits and config.hyperparameters.actuators is None and source is not None:
        reason = obstacle("transition", source)
        if reason is not None:
            say(f"the actuators are not fitted: {reason}")


def _use_one_thread() -> None:
    """Libraries count their threads when they are loaded, which the verbs do after this."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _attend(config: Any, directory: Path, work: Any) -> None:
    """Do the work of a run under a progress bar; a failed run ends with exit status 1."""
    from ambidex.experiment.one_run.progress import Console
    from ambidex.experiment.one_run.record import read
    from ambidex.experiment.one_run.run import RunFailed, how_to_go_on

    if config.trained_steps != config.steps:
        say(
            f"{config.steps:,} steps are {plural(config.iterations, 'iteration')} of "
            f"{config.iteration_steps:,}, {config.trained_steps:,} steps"
        )
    try:
        with Console(config.title, config.trained_steps) as reporter:
            work(reporter)
    except RunFailed as error:
        say(f"ambidex: {error}", to_stderr=True)
        raise typer.Exit(CHECK_FAILED) from None
    except KeyboardInterrupt:
        say(f"stopped; {how_to_go_on(directory)}", to_stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    about = read(directory)
    if about["status"] == "collapsed":
        say(f"ambidex: {directory} has collapsed: {about['message']}", to_stderr=True)
        raise typer.Exit(CHECK_FAILED)
    say(f"done: {directory}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the runs and the page are kept.")] = Path("demo"),
) -> None:
    """Two minutes: a rusty robot, and three ways to learn.

    At the end: what was found out about the rust, and a report.

    Example: ambidex demo --out demo
    """
    from ambidex.experiment.demo import demonstrate
    from ambidex.experiment.one_run.progress import Console
    from ambidex.report import write_report

    print("A triangle robot: limb 1 is rusty and needs double the torque, limb 2 triple.")
    print(
        "PPO knows no symmetry; ASL is pulled toward it; the equivariant network has it, and fits its motors."
    )
    shown = demonstrate(out, lambda config: Console(config.title, config.trained_steps))
    evaluated = list(next(iter(shown.returns.values())))
    at = evaluated[::-1][:: max(1, len(evaluated) // 4)][::-1]  # four of them, the last included
    print("\nreturn, the mean of three seeds:")
    print_table(
        ["training steps", *(f"{steps:,}" for steps in at)],
        [
            [METHODS.get(method).label, *(f"{values[steps]:.1f}" for steps in at)]
            for method, values in shown.returns.items()
        ],
    )
    print("\ntorque ratios that the equivariant policy found in its motors:")
    print_table(
        ["", "mean", "of each seed", "true"],
        [
            [
                ratio.limbs,
                f"{ratio.mean:.2f}",
                " ".join(f"{m:.2f}" for m in ratio.learned),
                f"{ratio.true:.2f}",
            ]
            for ratio in shown.ratios
        ],
    )
    page = write_report(shown.directories, out / "report.html")["page"]
    print(f"the report: {page}")
