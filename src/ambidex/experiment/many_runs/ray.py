"""The runs of a sweep as Ray tasks, on one machine or a cluster that shares the directory."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ambidex.common.escaping import sentence
from ambidex.experiment.many_runs.sweep import Listener, Outcome, PlannedRun, ended

RETRIES = 10
_ANSWER_SECONDS = 10.0
_LOOK_SECONDS = 10.0
PATIENCE_SECONDS = 120.0
"""For a run whose last worker is on its way out: a node that is lost takes its processes with it only after
a while."""


@contextmanager
def started() -> Iterator[None]:
    """Ray, ready for tasks: that of the caller, of ``RAY_ADDRESS``, or one of our own, ended afterwards.

    What keeps it from starting is said in one sentence.
    """
    try:
        import ray
    except ImportError:
        raise ValueError("the engine 'ray' needs Ray: pip install 'ambidex[ray]'") from None
    if ray.is_initialized():
        yield
        return
    try:
        _require_answer(os.environ.get("RAY_ADDRESS", ""))
        ray.init(include_dashboard=False, log_to_driver=False)
    except Exception as error:  # Ray has no class of its own for what goes wrong at its start
        ray.shutdown()
        raise ValueError(f"Ray does not start: {sentence(error)}; nothing was written") from None
    try:
        yield
    finally:
        ray.shutdown()


def cores() -> int:
    """Those of the whole cluster, of which each run takes one."""
    import ray

    return int(ray.cluster_resources().get("CPU", 1))  # type: ignore[no-untyped-call]


def _require_answer(address: str) -> None:
    """Knock at a cluster's address, since Ray itself waits for many minutes where nobody answers."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
        except OSError as error:
            raise ValueError(f"nobody answers at RAY_ADDRESS={address} ({error.strerror or error})") from None


def run_with_ray(runs: Sequence[PlannedRun], listener: Listener) -> list[Outcome]:
    """One CPU for each run; a run whose worker dies is resumed from its checkpoint, on any node."""
    import ray

    work = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
    tasks: dict[Any, PlannedRun] = {
        work.remote(run.config.model_dump_json(), str(run.directory.resolve())): run for run in runs
    }
    outcomes = []
    waiting = list(tasks)
    while waiting:
        done, waiting = ray.wait(waiting, num_returns=1, timeout=_LOOK_SECONDS)
        if not done and not any(node["Alive"] for node in ray.nodes()):  # type: ignore[no-untyped-call]
            raise OSError("Ray has lost its last node; the same command goes on with the runs")
        for ready in done:
            outcome = _outcome(tasks[ready], ready)
            outcomes.append(outcome)
            listener(outcome)
    return outcomes


def _work(config: str, directory: str) -> None:
    from ambidex.experiment.configure.config import RunConfig
    from ambidex.experiment.one_run.run import train_or_resume
    from ambidex.experiment.one_run.trust.locking import Busy

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return train_or_resume(RunConfig.model_validate_json(config), Path(directory))
        except Busy:
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _outcome(run: PlannedRun, task: Any) -> Outcome:
    import ray

    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        return Outcome(run, "failed", sentence(error.cause if error.cause is not None else error))
    except ray.exceptions.RayError as error:
        return Outcome(run, "failed", f"{type(error).__name__}: the run can be resumed")
    return ended(run)
