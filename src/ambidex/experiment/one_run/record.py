"""`run.json`: what a run is and where it stands."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, Literal

from ambidex.common.escaping import sentence
from ambidex.common.files import write_json
from ambidex.experiment.configure.config import RunConfig, parse
from ambidex.experiment.one_run.metrics import COLUMNS, read_columns
from ambidex.experiment.one_run.trust import resumes, schema
from ambidex.experiment.one_run.trust.identity import COPIES, Identity
from ambidex.symmetry import SymmetryGroup, load

Status = Literal["running", "done", "failed", "collapsed"]


def create(directory: Path, config: RunConfig, identity: Identity) -> None:
    """Write the record of a run that is about to start, before any other file of it."""
    about = {
        "format": schema.FORMAT,
        "status": "running",
        "config": config.model_dump(mode="json"),
        "hashes": dict(identity.hashes),
        "checkpoints": [],
        **resumes.surroundings(),
        "hardware": resumes.hardware(),
        "timings": {"started": resumes.now()},
        "steps": 0,
        "iterations": 0,
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }
    write_json(directory / "run.json", about)


def note_resume(directory: Path) -> list[str]:
    """Add to the record that the run goes on, when, where and with what; what changed, in words."""
    about = read(directory)
    here = resumes.surroundings()
    changed = resumes.changes(about, here)
    entry = {"time": resumes.now(), "steps": about["steps"], **here}
    write_json(directory / "run.json", about | {"resumed": [*about.get("resumed", []), entry]})
    return changed


def own(directory: Path, checkpoints: list[str]) -> None:
    """Say which checkpoints are the run's own, before they are written: no others are read or pruned."""
    write_json(directory / "run.json", read(directory) | {"checkpoints": checkpoints})


def update(
    directory: Path,
    *,
    status: Status,
    steps: int,
    total: int,
    iterations: int,
    checkpoints: list[str],
    cpu_seconds: float,
    message: str | None = None,
) -> None:
    """Bring the record up to date.

    :param total: the steps after which the run ends, which may be others than it was started with
    :param checkpoints: the names of those that are kept
    :param cpu_seconds: the time of the processor that all of it took
    :param message: why a run failed or collapsed
    """
    about = read(directory)
    about.pop("message", None)
    about |= {"status": status, "steps": steps, "iterations": iterations, "checkpoints": checkpoints}
    about["config"] |= {"steps": total}
    if message is not None:
        about["message"] = sentence(message)
    started = about["timings"].get("started") if "timings" in about else None
    about["timings"] = {"started": started, "updated": resumes.now()} | _seconds(directory)
    about["timings"]["cpu"] = round(cpu_seconds, 3)
    write_json(directory / "run.json", about)


def read(directory: Path) -> dict[str, Any]:
    """The record of a run; a ValueError says what to give instead of a directory that is none."""
    try:
        return schema.read_record(directory / "run.json")
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{directory} is not a run directory (no run.json in it)") from None


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
        changed["scenario"] = str(directory / COPIES["scenario"])
    return parse(RunConfig, read(directory)["config"] | changed)


def read_group(directory: Path) -> SymmetryGroup | None:
    """The symmetries that the run was started with, from its own copy; None where it had none."""
    description = directory / COPIES["symmetry"]
    return load(description) if description.exists() else None


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
    if steps <= about["steps"] - read_config(directory).iteration_steps:
        raise ValueError(
            f"{directory} has made {about['steps']:,} steps already and cannot end after {steps:,}; "
            "ask for as many or more, or train in another directory"
        )


def _settings(config: RunConfig) -> dict[str, Any]:
    """All values by name, save the steps and the name of the preset, whose values are among them."""
    return (
        config.model_dump(exclude={"steps", "preset", "hyperparameters"})
        | config.hyperparameters.model_dump()
    )


def _seconds(directory: Path) -> dict[str, float]:
    """The sum of each column of the timings."""
    parts = COLUMNS["timings.csv"][1:]
    rows = read_columns(directory / "timings.csv", *parts)
    return {part: round(sum(float(row[i]) for row in rows), 3) for i, part in enumerate(parts)}
