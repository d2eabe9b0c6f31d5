"""The runs of a sweep as Ray tasks, on one machine or a cluster that shares the directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ambidex.experiment.many_runs.sweep import Listener, Outcome, PlannedRun

RETRIES = 10


def run_with_ray(runs: Sequence[PlannedRun], listener: Listener) -> list[Outcome]:
    """One CPU for each run; a run whose worker dies is resumed from its checkpoint, on any node."""
    try:
        import ray
    except ImportError:
        raise ValueError("the engine 'ray' needs Ray: pip install 'ambidex[ray]'") from None

    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    work = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
    tasks: dict[Any, PlannedRun] = {
        work.remote(run.config.model_dump_json(), str(run.directory.resolve())): run for run in runs
    }
    outcomes = []
    waiting = list(tasks)
    while waiting:
        (ready,), waiting = ray.wait(waiting, num_returns=1)
        outcome = _outcome(tasks[ready], ready)
        outcomes.append(outcome)
        listener(outcome)
    return outcomes


def _work(config: str, directory: str) -> None:
    from ambidex.experiment.configure.config import RunConfig
    from ambidex.experiment.one_run.run import train_or_resume

    train_or_resume(RunConfig.model_validate_json(config), Path(directory))


def _outcome(run: PlannedRun, task: Any) -> Outcome:
    import ray

    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        return Outcome(run, "failed", str(error.cause))
    except ray.exceptions.RayError as error:
        return Outcome(run, "failed", f"{type(error).__name__}: the run can be resumed")
    return Outcome(run, "done")
