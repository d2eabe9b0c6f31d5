"""`run.json`: what a run is and where it stands; and the lock that keeps two processes apart."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO, Any, Literal

from ambidex.common.files import write_json
from ambidex.experiment.configure.config import RunConfig, parse
from ambidex.experiment.one_run.metrics import COLUMNS, read_columns

FORMAT = 1
SCENARIO_COPY = "scenario.yaml"
_PATIENCE_SECONDS = 1.0
Status = Literal["running", "done", "failed"]
_PACKAGES = ("ambidex", "torch", "stable-baselines3", "gymnasium", "numpy", "pybullet", "mujoco")


def create(directory: Path, config: RunConfig) -> None:
    """Write the record of a run that is about to start."""
    about = {
        "format": FORMAT,
        "status": "running",
        "config": config.model_dump(mode="json"),
        "versions": {"python": platform.python_version()} | _versions(),
        "commit": _commit(),
        "hardware": {"cpu": _cpu(), "cores": os.cpu_count(), "platform": platform.platform()},
        "timings": {"started": _now()},
        "steps": 0,
        "iterations": 0,
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }
    write_json(directory / "run.json", about)


def update(
    directory: Path, *, status: Status, steps: int, total: int, iterations: int, message: str | None = None
) -> None:
    """Bring the record up to date.

    :param total: the steps after which the run ends, which may be others than it was started with
    :param message: why a run failed
    """
    about = read(directory)
    about.pop("message", None)
    about |= {"status": status, "steps": steps, "iterations": iterations}
    about["config"] |= {"steps": total}
    if message is not None:
        about["message"] = message
    about["timings"] = {"started": about["timings"]["started"], "updated": _now()} | _seconds(directory)
    write_json(directory / "run.json", about)


def read(directory: Path) -> dict[str, Any]:
    """The record of a run; a ValueError says what to give instead of a directory that is none."""
    path = directory / "run.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{directory} is not a run directory (no run.json in it)") from None
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if not isinstance(about, dict):
        raise ValueError(f"{path} is not the record of a run")
    if about.get("format") != FORMAT:
        raise ValueError(f"{path} is of format {about.get('format')!r}, this version reads format {FORMAT}")
    for name, kind in {"config": dict, "status": str, "steps": int}.items():
        if not isinstance(about.get(name), kind):
            raise ValueError(f"{path} has no {name!r} as `ambidex train` writes it")
    return dict(about)


def read_config(directory: Path) -> RunConfig:
    return parse(RunConfig, read(directory)["config"])


def read_own_config(directory: Path, *, steps: int | None = None) -> RunConfig:
    """The same, with the directory's copy of a scenario file in place of the file, which may be gone.

    :param steps: training steps in all, refused if the run has made more; None: as started
    """
    changed: dict[str, Any] = {}
    if steps is not None:
        _require_reachable(directory, steps)
        changed["steps"] = steps
    if read_config(directory).scenario_file is not None:
        changed["scenario"] = str(directory / SCENARIO_COPY)
    return parse(RunConfig, read(directory)["config"] | changed)


def require_same_run(directory: Path, config: RunConfig) -> None:
    """Refuse a directory that holds another run; the number of steps may still be changed."""
    ours, theirs = _settings(config), _settings(read_config(directory))
    changed = [name for name in ours if ours[name] != theirs[name]]
    if changed:
        raise ValueError(
            f"{directory} holds a run with another {', '.join(changed)}; choose another directory"
        )
    _require_reachable(directory, config.steps)


def _require_reachable(directory: Path, steps: int) -> None:
    """Steps come in whole iterations: any number that ends in the last one done, or later, can be had."""
    about = read(directory)
    settings = read_config(directory).hyperparameters
    if steps <= about["steps"] - settings.n_steps * settings.num_envs:
        raise ValueError(
            f"{directory} has made {about['steps']:,} steps already and cannot end after {steps:,}; "
            "ask for as many or more, or train in another directory"
        )


def _settings(config: RunConfig) -> dict[str, Any]:
    """All values by name, save the steps."""
    return config.model_dump(exclude={"steps", "hyperparameters"}) | config.hyperparameters.model_dump()


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Hold a run directory; the system lets go of it when the process ends, however it ends."""
    with (directory / "lock").open("a+") as file:
        if not _take(file):
            file.seek(0)
            raise ValueError(f"{directory} is being trained by another process ({file.read()})")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _take(file: IO[str]) -> bool:
    """Take the lock, with patience for one who only looks whether it is free, or is about to end."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PATIENCE_SECONDS / 100)


def is_locked(directory: Path) -> bool:
    """Whether a process is training in this directory now."""
    try:
        with (directory / "lock").open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _seconds(directory: Path) -> dict[str, float]:
    """The sum of each column of the timings."""
    parts = COLUMNS["timings.csv"][1:]
    rows = read_columns(directory / "timings.csv", *parts)
    return {part: round(sum(float(row[i]) for row in rows), 3) for i, part in enumerate(parts)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The commit of the source tree that runs, marked if files in it are changed; None if installed."""
    root = Path(__file__).parents[4]
    if not (root / ".git").exists():
        return None
    try:
        run = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(run, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
