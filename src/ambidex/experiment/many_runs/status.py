"""Where runs stand: progress, speed and time left, read from their directories."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ambidex.experiment.configure.config import RunConfig, parse
from ambidex.experiment.many_runs.reading import walk
from ambidex.experiment.many_runs.sweep import announced
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.metrics import read_last_columns
from ambidex.experiment.one_run.trust.locking import is_locked

State = Literal["waiting", "running", "stopped", "done", "failed", "collapsed", "unreadable"]
_RECENT = 20


@dataclass(frozen=True)
class RunStatus:
    """One run.

    :param state: ``stopped`` is a run whose process is gone, `ambidex resume` continues it; ``unreadable``
        one whose files are damaged, with the reason as ``message``
    :param speed: training steps per second over the last iterations, evaluation included
    :param seconds_left: at that speed
    """

    directory: Path
    title: str
    state: State
    steps: int
    total: int
    episode_return: float | None = None
    speed: float | None = None
    seconds_left: float | None = None
    message: str | None = None

    def figures(self) -> list[str]:
        """Steps, return, speed and time left as a table shows them."""
        left = self.seconds_left
        return [
            f"{self.steps:,} of {self.total:,}",
            "" if self.episode_return is None else f"{self.episode_return:,.1f}",
            "" if self.speed is None else f"{self.speed:,.0f}",
            "" if left is None else f"{left // 3600:.0f}:{left // 60 % 60:02.0f}:{left % 60:02.0f}",
        ]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"directory": str(self.directory)}


def status(directory: Path) -> list[RunStatus]:
    """Every run in a directory and below it, those that a sweep has not started included."""
    if not directory.is_dir():
        raise ValueError(f"{directory} is not a directory")
    planned = {
        directory / place: _planned(directory / place, config)
        for place, config in announced(directory).items()
    }
    found = {path: of_run(path) for path in walk(directory) if (path / "run.json").is_file()}
    if not planned and not found:
        raise ValueError(f"no run in {directory}; `ambidex train` and `ambidex sweep` write them")
    return list((planned | found).values())


def of_run(directory: Path) -> RunStatus:
    """The status of one run directory."""
    try:
        return _of_readable_run(directory)
    except (ValueError, OSError, OverflowError) as error:
        return RunStatus(directory, directory.name, "unreadable", 0, 0, message=str(error))


def _of_readable_run(directory: Path) -> RunStatus:
    about = record.read(directory)
    config = parse(RunConfig, about["config"])
    state: State = about["status"]
    if state == "running" and not is_locked(directory):
        state = "stopped"
    rows = read_last_columns(directory / "progress.csv", "iteration", "steps", "episode_return")
    steps = int(rows[-1][1]) if rows else 0
    speed = _speed(directory, {int(iteration): int(s) for iteration, s, _ in rows[-_RECENT - 2 :]})
    left = (config.trained_steps - steps) / speed if speed and state == "running" else None
    return RunStatus(
        directory=directory,
        title=config.title,
        state=state,
        steps=steps,
        total=config.trained_steps,
        episode_return=float(rows[-1][2]) if rows and rows[-1][2] else None,
        speed=speed,
        seconds_left=left,
        message=about.get("message"),
    )


def _planned(directory: Path, config: dict[str, Any]) -> RunStatus:
    """A run of the grid that has no directory yet, or whose configuration is that of another version."""
    try:
        return waiting(directory, parse(RunConfig, config))
    except ValueError as error:
        return RunStatus(directory, directory.name, "unreadable", 0, 0, message=f"sweep.json: {error}")


def waiting(directory: Path, config: RunConfig) -> RunStatus:
    return RunStatus(directory, config.title, "waiting", 0, config.trained_steps)


def _speed(directory: Path, steps: dict[int, int]) -> float | None:
    """Steps per second over the last iterations."""
    parts = ("rollout", "fit", "update", "logging", "evaluation")
    rows = read_last_columns(directory / "timings.csv", "iteration", *parts)[-_RECENT:]
    rows = [row for row in rows if int(row[0]) in steps]
    if not rows:
        return None
    done = steps[int(rows[-1][0])] - steps.get(int(rows[0][0]) - 1, 0)
    seconds = sum(float(value) for row in rows for value in row[1:])
    return done / seconds if seconds > 0 else None
