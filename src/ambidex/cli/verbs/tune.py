"""A search for hyperparameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ambidex.cli.options import (
    CHECK_FAILED,
    Algorithm,
    EnvironmentArguments,
    Environments,
    MethodName,
    Normalize,
    PresetName,
    Settings,
    SpreadingCommand,
    SteppingName,
    named_values,
    print_table,
    say,
    whole_number,
)
from ambidex.experiment.configure.algorithms import PPO
from ambidex.experiment.configure.methods import EQUIVARIANT

app = typer.Typer()


@app.command(cls=SpreadingCommand)
def tune(
    out: Annotated[Path, typer.Option(help="Where the search, its runs and its page are kept.")],
    scenarios: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One or more scenarios.")
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="A Gymnasium id instead, also module:Id-v0, with --symmetry.")
    ] = None,
    env_args: EnvironmentArguments = None,
    num_envs: Environments = None,
    stepping: SteppingName = None,
    normalize: Normalize = None,
    symmetry: Annotated[str | None, typer.Option(help="A symmetry file or catalog name.")] = None,
    algorithm: Algorithm = None,
    method: Annotated[MethodName, typer.Option(help="The method to tune.")] = EQUIVARIANT.name,
    preset: PresetName = None,
    space: Annotated[
        Path | None, typer.Option(help="A YAML file of ranges and choices; the package's by default.")
    ] = None,
    budget: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="Training steps of a run.")
    ] = 400_000,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try, in all.")] = 40,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each scenario in a trial.")] = 1,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RETURN", help="What counts as 1; by default the paper's best. Repeatable."
        ),
    ] = None,
    assignments: Settings = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Processes here, or Ray tasks.")] = "local",
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is proposed.")] = 0,
) -> None:
    """Search for hyperparameters.

    The same command again goes on where it was stopped. The best so far is in DIR/best.yaml, for `ambidex
    train --config`, and what was tried in DIR/tune.html.

    Example: ambidex tune --scenarios A1.1 A4.1 --budget 400000 --trials 40 --out tuned

    Example: ambidex tune --env my_robot:Walker-v0 --symmetry my-robot.yaml --num-envs 8
    --budget 1000000 --out tuned
    """
    from ambidex.experiment.configure.presets import read_assignments
    from ambidex.experiment.one_run.run import RunFailed
    from ambidex.experiment.tuning.search import Progress, search
    from ambidex.experiment.tuning.space import default_space, read_space
    from ambidex.experiment.tuning.task import Task
    from ambidex.report.publish.tuning_page import write_tuning_page

    if bool(scenarios) == bool(env):
        raise ValueError("give either --scenarios, or --env with --symmetry")
    if space is None and algorithm not in (None, PPO.name):
        raise ValueError(f"the search space that ships is for {PPO.label}; give {algorithm} one (--space)")
    overrides: dict[str, Any] = read_assignments(assignments or [])
    given = {
        "env": env,
        "env_args": named_values(env_args),
        "num_envs": num_envs,
        "stepping": stepping,
        "normalize": normalize,
        "symmetry": symmetry,
        "algorithm": algorithm,
        "preset": preset,
    }
    overrides |= {key: value for key, value in given.items() if value is not None}
    task = Task(
        scenarios=tuple(scenarios or ()),
        method=method,
        budget=budget,
        seeds=seeds,
        references=_references(scenarios or [], reference or []),
        overrides=overrides,
    )

    def tell(progress: Progress) -> None:
        score = "" if progress.score is None else f" {progress.score:.4g},"
        why = f" ({progress.reason})" if progress.reason else ""
        say(f"trial {progress.trial}, {progress.steps:,} steps:{score} {progress.state}{why}")

    try:
        study = search(
            task,
            default_space() if space is None else read_space(space),
            out,
            trials=trials,
            seed=seed,
            engine=engine,
            jobs=jobs,
            listener=tell,
            after_batch=lambda: write_tuning_page(out),
        )
    except RunFailed as error:
        say(f"ambidex: {error}", to_stderr=True)
        raise typer.Exit(CHECK_FAILED) from None
    write_tuning_page(out)
    if not (out / "best.yaml").exists():
        say(f"no trial had the whole budget; {out / 'tune.html'} says why", to_stderr=True)
        raise typer.Exit(CHECK_FAILED)
    best = study.best_trial
    say(f"best: trial {best.number} with {best.value:.4g}")
    print_table(["setting", "value"], [[name, value] for name, value in best.params.items()])
    say(out / "best.yaml")
    say(out / "tune.html")


def _references(scenarios: list[str], given: list[str]) -> dict[str, float]:
    """What counts as 1: the paper's best return of each scenario that it has, and what the user says."""
    from ambidex.report import paper

    published = {scenario: paper.best_return(scenario) for scenario in scenarios}
    found = {scenario: value for scenario, value in published.items() if value is not None}
    for assignment in given:
        name, separator, value = assignment.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            separator = ""
        if not separator:
            raise ValueError(f"--reference {assignment}: expected NAME=RETURN, such as A1.1=2183")
    return found
