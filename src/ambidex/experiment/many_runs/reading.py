"""Reading run directories as they are: complete, still running, failed, cut off in the middle of a line."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.escaping import quoted
from ambidex.common.reading import read_text
from ambidex.envs import scenarios
from ambidex.experiment.configure.algorithms import ALGORITHMS, PPO
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.metrics import read_columns
from ambidex.experiment.one_run.trust import schema
from ambidex.experiment.one_run.trust.identity import COPIES
from ambidex.experiment.one_run.trust.owned import FOLDERS
from ambidex.symmetry import SymmetryGroup, load

Place = tuple[str, str, int]
"""A run's scenario, its way (its method, and its algorithm if that is not PPO) and seed."""

MetricKey = tuple[str, str, str]
"""A metric's name, its transform (or "") and its element (or "")."""

_LARGEST = 1e100


@dataclass(frozen=True)
class Series:
    """Numbers over training steps, in order of the steps."""

    steps: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class Run:
    """One training, as far as its directory tells.

    :param method: how it learned: its method, and its algorithm if that is not PPO (``a2c-msl``)
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
        for path in walk(directory):
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


def walk(directory: Path) -> Iterator[Path]:
    """The directory and those below it, down to the run directories; of links, those to runs alone count."""
    waiting = [directory]
    while waiting:
        here = waiting.pop()
        yield here
        if _is_run(here):
            continue
        with os.scandir(here) as entries:
            names = [
                entry.name
                for entry in entries
                if (entry.is_dir(follow_symlinks=False) or _is_run(here / entry.name))
                and entry.name not in FOLDERS
                and not entry.name.startswith(".")
            ]
        waiting += [here / name for name in sorted(names, reverse=True)]


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
        grid = schema.read_grid(directory / "sweep.json")
        return {(directory / place).resolve(): _place(config) for place, config in grid.items()}
    except (OSError, ValueError):
        return {}


def _recorded_place(directory: Path) -> Place | None:
    """Which run a directory holds, where its record says so and only another file is damaged."""
    try:
        return _place(record.read(directory)["config"])
    except ValueError:
        return None


def _place(config: Mapping[str, Any]) -> Place:
    return _robot(config), _way(config), int(config["seed"])


def _way(config: Mapping[str, Any]) -> str:
    """As `RunConfig.way`, of what another version may have written."""
    algorithm = str(config.get("algorithm", PPO.name))
    method = str(config["method"])
    return ALGORITHMS.get(algorithm).way(method) if algorithm in ALGORITHMS else f"{algorithm}-{method}"


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
    config = about["config"]
    group = _read_group(directory / COPIES["symmetry"])
    return Run(
        directory=directory,
        scenario=_robot(config),
        method=_way(config),
        seed=config["seed"],
        status=about["status"],
        steps=about["steps"],
        planned_steps=config.get("steps"),
        config=config,
        about=about,
        returns=read_returns(directory / "evaluations.csv"),
        metrics=_read_metrics(directory / "symmetry.csv"),
        truth=_read_truth(directory / "truth.json", group),
        group=group,
    )


def read_returns(path: Path) -> Series | None:
    """The mean return of each whole evaluation in an `evaluations.csv`; None before the first one."""
    episodes: dict[int, dict[int, float]] = {}
    for step, episode, value in read_columns(path, "steps", "episode", "return"):
        number = _number(path, value)
        if math.isfinite(number):
            episodes.setdefault(_whole(path, step), {})[_whole(path, episode)] = number
    if not episodes:
        return None
    most = max(map(len, episodes.values()))
    whole = sorted(step for step, values in episodes.items() if len(values) == most)
    means = [np.mean(list(episodes[step].values())) for step in whole]
    return Series(np.array(whole, float), np.array(means))


def _read_metrics(path: Path) -> dict[MetricKey, Series]:
    points: dict[MetricKey, dict[float, float]] = {}
    known: dict[str, float] = {}  # steps are the same for many rows
    columns = ("steps", "metric", "transform", "element", "value")
    for steps, metric, transform, element, value in read_columns(path, *columns):
        number = _number(path, value) if value else math.nan
        if number - number == 0:  # neither NaN nor infinite
            step = known.get(steps)
            if step is None:
                step = known[steps] = float(_whole(path, steps))
            points.setdefault((metric, transform, element), {})[step] = number
    shared: dict[tuple[float, ...], FloatArray] = {}  # most metrics come at the same steps
    found = {}
    for names, values in points.items():
        key = (sys.intern(names[0]), sys.intern(names[1]), sys.intern(names[2]))
        places = tuple(sorted(values))
        array = shared.setdefault(places, np.array(places))
        found[key] = Series(array, np.array([values[place] for place in places]))
    return found


def _number(path: Path, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{path} has {quoted(text)} in place of a number") from None
    if abs(number) > _LARGEST and abs(number) != math.inf:
        raise ValueError(f"{path} has the number {quoted(text)}, with which nothing can be computed")
    return number


def _whole(path: Path, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise ValueError(f"{path} has {quoted(text)} in place of a whole number")
    return int(text)


def _read_truth(path: Path, group: SymmetryGroup | None) -> dict[str, tuple[FloatArray, FloatArray]] | None:
    """The true maps of the transforms in the description, each with a number for each action."""
    if not path.exists():
        return None
    maps = schema.read_truth(path)
    for name, (multipliers, _) in maps.items():
        if group is not None and (name not in group.names or len(multipliers) != group.action_size):
            raise ValueError(
                f"{path} does not map transforms to their multipliers and biases: {quoted(name)} is none of "
                f"symmetry.yaml with {group.action_size} actions"
            )
    return {name: (np.array(m, float), np.array(b, float)) for name, (m, b) in maps.items()} or None


def _read_group(path: Path) -> SymmetryGroup | None:
    return _group(read_text(path), path) if path.is_file() else None


_GROUPS: dict[str, SymmetryGroup] = {}


def _group(text: str, path: Path) -> SymmetryGroup:
    """The runs of a sweep share few descriptions; each is built once."""
    if text not in _GROUPS:
        if len(_GROUPS) >= 100:
            _GROUPS.clear()
        _GROUPS[text] = load(path)
    return _GROUPS[text]
