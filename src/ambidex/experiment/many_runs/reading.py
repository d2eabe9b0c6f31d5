"""Reading run directories as they are: complete, still running, failed, cut off in the middle of a line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.envs import scenarios
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.metrics import read_columns
from ambidex.symmetry import SymmetryGroup, load

Place = tuple[str, str, int]
"""A run's scenario, method and seed."""

MetricKey = tuple[str, str, str]
"""A metric's name, its transform (or "") and its element (or "")."""

_NEVER_A_RUN = {"checkpoints", "tensorboard"}


@dataclass(frozen=True)
class Series:
    """Numbers over training steps, in order of the steps."""

    steps: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class Run:
    """One training, as far as its directory tells.

    :param scenario: its name, "A1.1 on ambidex/AntMujoco-v0" where that is not the scenario's own robot
    :param returns: the mean return of each evaluation, or None before the first one
    :param metrics: the symmetry metrics by name, transform and element
    :param truth: per transform the true multipliers and biases, or None where they are unknown
    :param group: the symmetry description that was used, or None where there is none
    """

    directory: Path
    scenario: str
    method: str
    seed: int
    status: str
    steps: int
    planned_steps: int | None
    config: dict[str, Any]
    about: dict[str, Any]
    returns: Series | None
    metrics: dict[MetricKey, Series]
    truth: dict[str, tuple[FloatArray, FloatArray]] | None
    group: SymmetryGroup | None


@dataclass(frozen=True)
class Runs:
    """What was found in some directories.

    :param runs: every run that could be read, by scenario, method and seed
    :param lost: why a run could not be read
    :param unreadable: the same of directories of which it is not known which run they hold
    :param planned: the runs that sweeps there announced
    """

    runs: list[Run]
    lost: dict[Place, str] = field(default_factory=dict)
    unreadable: dict[Path, str] = field(default_factory=dict)
    planned: set[Place] = field(default_factory=set)


def load_runs(directories: Iterable[str | os.PathLike[str]]) -> Runs:
    """Every run in the directories and below them.

    A metric file that is missing or breaks off costs what it held; a run that cannot be read at all is listed
    with the reason, and the others are read.

    :param directories: run directories, or directories that hold run directories at any depth
    """
    found: dict[Path, None] = {}
    planned: dict[Path, Place] = {}
    for directory in map(Path, directories):
        if not directory.is_dir():
            raise ValueError(
                f"{directory} is not a directory; give one that `ambidex train` or `sweep` wrote"
            )
        for path in _walk(directory):
            if _is_run(path):
                found[path.resolve()] = None
            planned |= _planned(path)
    runs, unreadable = [], {}
    for path in found:
        try:
            runs.append(_read_run(path))
        except (ValueError, OSError) as error:
            unreadable[path] = str(error)
    if not runs:
        reasons = "; ".join(f"{path}: {reason}" for path, reason in unreadable.items())
        raise ValueError(
            reasons or "no run.json found; give a directory that `ambidex train` or `sweep` wrote"
        )
    runs.sort(key=lambda run: (run.scenario, run.method, run.seed))
    _refuse_twins(runs)
    taken = {_place(run.config) for run in runs}
    lost: dict[Place, str] = {}
    for path in list(unreadable):
        place = planned.get(path) or _recorded_place(path)
        if place is not None and place not in taken | set(lost):
            lost[place] = unreadable.pop(path)
    return Runs(runs, lost, unreadable, set(planned.values()))


def _walk(directory: Path) -> Iterator[Path]:
    """The directory and those below it, down to the run directories."""
    yield directory
    for child in [] if _is_run(directory) else sorted(directory.iterdir()):
        if child.is_dir() and child.name not in _NEVER_A_RUN and not child.name.startswith("."):
            yield from _walk(child)


def _is_run(directory: Path) -> bool:
    return (directory / "run.json").is_file()


def _refuse_twins(runs: list[Run]) -> None:
    seen: dict[Place, Run] = {}
    for run in runs:
        twin = seen.setdefault(_place(run.config), run)
        if twin is not run:
            raise ValueError(
                f"{twin.directory} and {run.directory} are both {run.scenario}, {run.method}, "
                f"seed {run.seed}; an average would count it twice: leave one out or report them on two pages"
            )


def _planned(directory: Path) -> dict[Path, Place]:
    """The grid that a sweep announced in a directory; empty where there is none."""
    try:
        entries = json.loads((directory / "sweep.json").read_text(encoding="utf-8"))["runs"]
        return {(directory / entry["directory"]).resolve(): _place(entry["config"]) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _recorded_place(directory: Path) -> Place | None:
    """Which run a directory holds, where its record says so and only another file is damaged."""
    try:
        return _place(record.read(directory)["config"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _place(config: Mapping[str, Any]) -> Place:
    return _robot(config), str(config["method"]), int(config["seed"])


def _robot(config: Mapping[str, Any]) -> str:
    """What runs must share to be compared: the scenario, and the Gymnasium id if that is not its own.

    A scenario's file goes by its name alone.
    """
    scenario, env = str(config.get("scenario") or ""), str(config.get("env") or "")
    name = Path(scenario).stem if scenario.endswith((".yaml", ".yml")) else scenario
    if not env or not name:
        return name or env
    return name if env == _own_env(scenario) else f"{name} on {env}"


def _own_env(scenario: str) -> str | None:
    """The Gymnasium id of one of the package's scenarios."""
    return scenarios.get(scenario).env if scenario in scenarios.names() else None


def _read_run(directory: Path) -> Run:
    about = record.read(directory)
    config = about.get("config") or {}
    scenario = _robot(config)
    if not scenario or not config.get("method") or not isinstance(config.get("seed"), int):
        raise ValueError(f"{directory}/run.json does not name its scenario, method and seed")
    return Run(
        directory=directory,
        scenario=scenario,
        method=str(config["method"]),
        seed=config["seed"],
        status=str(about.get("status", "running")),
        steps=int(about.get("steps") or 0),
        planned_steps=config.get("steps"),
        config=config,
        about=about,
        returns=_read_returns(directory / "evaluations.csv"),
        metrics=_read_metrics(directory / "symmetry.csv"),
        truth=_read_truth(directory / "truth.json"),
        group=_read_group(directory / "symmetry.yaml"),
    )


def _read_returns(path: Path) -> Series | None:
    episodes: dict[int, dict[int, float]] = {}
    for step, episode, value in read_columns(path, "steps", "episode", "return"):
        episodes.setdefault(int(step), {})[int(episode)] = float(value)
    if not episodes:
        return None
    most = max(map(len, episodes.values()))
    whole = sorted(step for step, values in episodes.items() if len(values) == most)
    means = [np.mean(list(episodes[step].values())) for step in whole]
    return Series(np.array(whole, float), np.array(means))


def _read_metrics(path: Path) -> dict[MetricKey, Series]:
    points: dict[MetricKey, dict[float, float]] = {}
    rows = read_columns(path, "steps", "metric", "transform", "element", "value")
    for steps, metric, transform, element, value in rows:
        if value and math.isfinite(float(value)):
            points.setdefault((metric, transform, element), {})[float(steps)] = float(value)
    return {
        key: Series(np.array(sorted(values)), np.array([values[step] for step in sorted(values)]))
        for key, values in points.items()
    }


def _read_truth(path: Path) -> dict[str, tuple[FloatArray, FloatArray]] | None:
    try:
        maps = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: (np.asarray(map_["multipliers"], float), np.asarray(map_["biases"], float))
            for name, map_ in maps.items()
        } or None
    except OSError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{path} does not map transforms to their multipliers and biases") from None


def _read_group(path: Path) -> SymmetryGroup | None:
    return load(path) if path.is_file() else None
