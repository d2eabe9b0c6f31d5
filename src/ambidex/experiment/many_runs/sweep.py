"""Many runs: a grid of scenarios, methods and seeds, each brought to its end once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ambidex.common.files import write_json
from ambidex.common.reading import read_end
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.trust import schema

Engine = Literal["local", "ray"]
_POLL_SECONDS = 0.2
_END_OF_LOG = 65_536  # bytes
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class PlannedRun:
    """One point of the grid and where it is kept."""

    config: RunConfig
    directory: Path


@dataclass(frozen=True)
class Outcome:
    """How a run of the grid ended in this call: done now, done before, collapsed or failed, and why."""

    run: PlannedRun
    state: Literal["done", "skipped", "collapsed", "failed"]
    message: str | None = None


Listener = Callable[[Outcome], None]


def plan(
    scenarios: Sequence[str],
    methods: Sequence[str],
    seeds: Iterable[int],
    out: Path,
    overrides: Mapping[str, Any],
) -> list[PlannedRun]:
    """The grid, seed by seed, so that every scenario and method has results early.

    What does not exist, or would be trained twice in one place, is refused.
    """
    from ambidex.envs.scenarios import get

    for scenario in scenarios:
        get(scenario)
    runs: dict[Path, PlannedRun] = {}
    for seed in seeds:
        for scenario in scenarios:
            for method in methods:
                config = resolve(scenario, method, {**overrides, "seed": seed})
                run = PlannedRun(config, out / config.directory)
                if runs.setdefault(run.directory, run) is not run:
                    raise ValueError(f"{config.title} would be run twice; give each scenario and method once")
    return list(runs.values())


def sweep(
    runs: Sequence[PlannedRun],
    out: Path,
    *,
    engine: Engine = "local",
    jobs: int | None = None,
    listener: Listener = lambda outcome: None,
) -> list[Outcome]:
    """Bring every run to its end: skip what is done, resume what is not, report what fails.

    :param runs: the grid of `plan`
    :param out: where `sweep.json` announces the grid
    :param engine: ``"local"`` processes, or ``"ray"`` tasks on a machine or a cluster
    :param jobs: runs at once; one per core by default (Ray knows its own cores)
    :param listener: told of each run as it ends
    """
    done = [_is_done(run) for run in runs]  # refuses what cannot be run before anything is written
    ours = {str(run.directory.relative_to(out)): run.config.model_dump(mode="json") for run in runs}
    grid = announced(out) | ours
    with _engine(engine, jobs) as run_all:
        out.mkdir(parents=True, exist_ok=True)
        _announce(grid, out)
        outcomes = [ended(run, "skipped") for run, is_done in zip(runs, done, strict=True) if is_done]
        for outcome in outcomes:
            listener(outcome)
        left = [run for run, is_done in zip(runs, done, strict=True) if not is_done]
        return outcomes + (run_all(left, listener) if left else [])


@contextmanager
def _engine(
    engine: Engine, jobs: int | None
) -> Iterator[Callable[[Sequence[PlannedRun], Listener], list[Outcome]]]:
    """What brings runs to their end, ready before anything is written."""
    if engine == "local":
        count = jobs or usable_cores()
        yield lambda runs, listener: _run_locally(runs, count, listener)
        return
    from ambidex.experiment.many_runs.ray import run_with_ray, started

    with started():
        yield run_with_ray


@contextmanager
def runs_at_once(engine: Engine, jobs: int | None) -> Iterator[int]:
    """How many the engine has room for; Ray stays started for all sweeps inside."""
    if engine == "local":
        yield jobs or usable_cores()
        return
    from ambidex.experiment.many_runs.ray import cores, started

    with started():
        yield jobs or cores()


def usable_cores() -> int:
    """The cores that this process may use; where the system does not say (macOS), all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_done(run: PlannedRun) -> bool:
    """Whether this very run is done, with all its steps, or over; another one in its place is an error."""
    if not (run.directory / "run.json").exists():
        return False
    record.require_same_run(run.directory, run.config)
    about = record.read(run.directory)
    whole = about["status"] == "done" and about["config"]["steps"] == run.config.steps
    return bool(whole or about["status"] == "collapsed")


def ended(run: PlannedRun, state: Literal["done", "skipped"] = "done") -> Outcome:
    """The outcome of a run that came to its end: its steps are made, or it collapsed."""
    about = record.read(run.directory)
    if about["status"] == "collapsed":
        return Outcome(run, "collapsed", about.get("message"))
    return Outcome(run, state)


def announced(out: Path) -> dict[str, dict[str, Any]]:
    """The configurations of the grid that was announced in a directory, by their place in it."""
    path = out / "sweep.json"
    try:
        return schema.read_grid(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged; remove it and give the command of the sweep again, which loses no run "
            f"({error})"
        ) from None


def _announce(grid: Mapping[str, Mapping[str, Any]], out: Path) -> None:
    runs = [{"directory": place, "config": config} for place, config in grid.items()]
    write_json(out / "sweep.json", {"runs": runs})


def _run_locally(runs: Sequence[PlannedRun], jobs: int, listener: Listener) -> list[Outcome]:
    """A process of its own for each run, so that one that dies takes no other with it."""
    outcomes: list[Outcome] = []
    waiting = list(reversed(runs))
    active: dict[subprocess.Popen[bytes], PlannedRun] = {}
    with _ending_in_order():
        try:
            while waiting or active:
                while waiting and len(active) < jobs:
                    run = waiting.pop()
                    active[_start(run)] = run
                for process in [process for process in active if process.poll() is not None]:
                    with process:
                        outcome = _outcome(active.pop(process), process.returncode)
                    outcomes.append(outcome)
                    listener(outcome)
                time.sleep(_POLL_SECONDS)
        finally:
            for process in active:
                process.terminate()
            for process in active:
                with process:
                    process.wait()
    return outcomes


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM run what stands in ``finally``, as Ctrl-C does; a signal is the main thread's alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start(run: PlannedRun) -> subprocess.Popen[bytes]:
    """Start a worker; it ends when its standard input does, which is when this process is gone."""
    run.directory.mkdir(parents=True, exist_ok=True)
    arguments = [run.config.model_dump_json(), str(run.directory)]
    command = [sys.executable, "-m", "ambidex.experiment.many_runs.worker", *arguments]
    with open(run.directory / "worker.log", "ab", opener=_own_log) as log:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=os.environ | _ONE_THREAD
        )


def _own_log(path: str, flags: int) -> int:
    """A regular file of the run, no link and no pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def _outcome(run: PlannedRun, code: int) -> Outcome:
    if code == 0:
        return ended(run)
    if code < 0:
        said = f"killed by signal {-code}; run the same sweep again to resume it"
        return Outcome(run, "failed", said)
    end = read_end(run.directory / "worker.log", _END_OF_LOG).decode("utf-8", "replace")
    lines = end.strip().splitlines()
    return Outcome(run, "failed", lines[-1] if lines else f"exit status {code}")
