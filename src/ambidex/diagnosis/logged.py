"""Reading what was logged on a robot: observations that it visited, or whole transitions (s, a, s')."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common import files
from ambidex.common.arrays import FloatArray
from ambidex.common.reading import LARGEST_ARRAYS, read_npz, read_text

Observations = npt.NDArray[np.floating[Any]] | dict[str, npt.NDArray[np.floating[Any]]]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Log:
    """Steps of a robot in the order in which they were made, a row each.

    :param observations: s
    :param actions: a, as the robot got it: clipped to the action box
    :param next_observations: s', before any reset
    """

    observations: Observations
    actions: FloatArray
    next_observations: Observations

    def __len__(self) -> int:
        return len(self.actions)


def read_observations(path: Path) -> Observations:
    """States in the order in which they were visited: one row each.

    :param path: ``.csv`` (a row per state, a heading is skipped), ``.npz`` or ``.safetensors`` (one array, or
        one per key of a Dict observation)
    """
    if path.suffix == ".csv":
        return _read_csv(path).astype(np.float32)
    return observations_in(path, read_arrays(path))


def observations_in(path: Path, arrays: Arrays) -> Observations:
    """The one array of a file, or the one for each key of a Dict observation."""
    if not arrays:
        raise ValueError(f"{path} holds no array")
    floats = {name: _numbers(path, name, array).astype(np.float32) for name, array in arrays.items()}
    for name, array in floats.items():
        if array.ndim != 2:
            raise ValueError(f"{path}: {name!r} has the shape {array.shape}; give one row per state")
    if len({len(array) for array in floats.values()}) > 1:
        raise ValueError(f"{path}: its arrays have different numbers of states")
    return next(iter(floats.values())) if len(floats) == 1 else dict(floats)


def check_finite(path: Path, observations: Observations) -> None:
    """Refuse what a policy cannot answer."""
    parts = observations if isinstance(observations, dict) else {"": observations}
    for name, part in parts.items():
        wrong = np.argwhere(~np.isfinite(part))
        if len(wrong):
            row, element = wrong[0]
            where = f"{name!r} row" if name else "row"
            raise ValueError(f"{path}: {where} {row}, element {element} is {part[row, element]}")


def read_transitions(path: Path, *, observation_size: int, action_size: int) -> Log:
    """Transitions in the order in which they were made.

    :param path: ``.npz`` or ``.safetensors`` with the arrays ``observations``, ``actions`` and
        ``next_observations``, or ``episode_starts`` instead of the last: true for each row that begins an
        episode, the next observation of any other is the row after it. Or ``.csv``: a row per transition of
        observations, actions, next observations; a heading is skipped
    :param observation_size: o, how many observations the robot's description has
    :param action_size: n, how many actions
    """
    if path.suffix == ".csv":
        arrays = _columns(path, observation_size, action_size)
    else:
        arrays = _followed(path, read_arrays(path))
    sizes = {
        "observations": observation_size,
        "actions": action_size,
        "next_observations": observation_size,
    }
    checked = {name: _rows(path, name, arrays[name], size) for name, size in sizes.items()}
    lengths = {name: len(array) for name, array in checked.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise ValueError(f"{path}: its arrays have different numbers of rows: {counts}")
    return Log(**checked)


def _columns(path: Path, observation_size: int, action_size: int) -> Arrays:
    table = _read_csv(path)
    expected = 2 * observation_size + action_size
    if table.shape[1] != expected:
        raise ValueError(
            f"{path} has {table.shape[1]} columns; this robot's transitions have {expected}: "
            f"{observation_size} observations, {action_size} actions, {observation_size} next observations"
        )
    observations, actions, following = np.split(
        table, [observation_size, expected - observation_size], axis=1
    )
    return {"observations": observations, "actions": actions, "next_observations": following}


def _followed(path: Path, arrays: Arrays) -> Arrays:
    """The arrays with next observations: given, or of the rows that another of the same episode follows."""
    for name in ("observations", "actions"):
        if name not in arrays:
            raise ValueError(
                f"{path} has no array {name!r} but {', '.join(map(repr, sorted(arrays))) or 'none at all'}; "
                "it needs 'observations', 'actions' and 'next_observations' (or 'episode_starts')"
            )
    if "next_observations" in arrays:
        return arrays
    if "episode_starts" not in arrays:
        raise ValueError(
            f"{path} has neither 'next_observations' nor 'episode_starts' (true where a row begins an "
            "episode), so it is not known which observations follow which"
        )
    starts, observations, actions = (
        np.asarray(arrays[name]) for name in ("episode_starts", "observations", "actions")
    )
    if starts.shape != observations.shape[:1] or starts.shape != actions.shape[:1]:
        raise ValueError(
            f"{path}: 'episode_starts' has the shape {starts.shape} beside 'observations' of shape "
            f"{observations.shape} and 'actions' of shape {actions.shape}; give one number per row"
        )
    if not np.isin(starts, (0, 1)).all():
        raise ValueError(f"{path}: 'episode_starts' has values other than 0 and 1")
    rows = np.flatnonzero(starts[1:] == 0)
    return {
        "observations": observations[rows],
        "actions": actions[rows],
        "next_observations": observations[rows + 1],
    }


def _rows(path: Path, name: str, array: npt.NDArray[Any], size: int) -> FloatArray:
    """A row of finite numbers per transition."""
    numbers = _numbers(path, name, array)
    if numbers.ndim != 2 or numbers.shape[1] != size:
        raise ValueError(
            f"{path}: {name!r} has the shape {numbers.shape}; this robot's has (transitions, {size})"
        )
    if not len(numbers):
        raise ValueError(f"{path} holds no transition")
    if not np.isfinite(numbers).all():
        row, element = np.argwhere(~np.isfinite(numbers))[0]
        raise ValueError(f"{path}: {name!r} row {row}, element {element} is {numbers[row, element]}")
    return numbers


def _numbers(path: Path, name: str, array: npt.NDArray[Any]) -> FloatArray:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{path}: {name!r} holds {array.dtype}, not numbers")
    return array.astype(np.float64)


def read_arrays(path: Path) -> Arrays:
    """Every array of an ``.npz`` or ``.safetensors`` file."""
    if path.suffix == ".npz":
        return read_npz(path)
    if path.suffix == ".safetensors":
        return files.read_arrays(path)
    raise ValueError(f"{path}: logs are read from .csv, .npz or .safetensors")


def _read_csv(path: Path) -> FloatArray:
    lines = [line for line in read_text(path, LARGEST_ARRAYS).splitlines() if line.strip()]
    if lines and not _is_numeric(lines[0]):
        lines = lines[1:]
    if not lines:
        raise ValueError(f"{path} holds no rows of numbers")
    try:
        table: FloatArray = np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except ValueError as error:
        what = str(error).partition(";")[0]
        raise ValueError(f"{path} is not a table of numbers separated by commas: {what}") from None
    return table


def _is_numeric(line: str) -> bool:
    try:
        [float(cell) for cell in line.split(",")]
    except ValueError:
        return False
    return True
