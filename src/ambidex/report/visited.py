"""Observations that a policy visited: from its environment, or from a file that was logged on the robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ambidex.experiment.stored import StoredPolicy

Observations = npt.NDArray[np.float32] | dict[str, npt.NDArray[np.float32]]


def read_observations(path: Path) -> Observations:
    """States in the order in which they were visited: one row each.

    :param path: ``.csv`` (a row per state, a heading is skipped), ``.npz`` or ``.safetensors`` (one array, or
        one per key of a Dict observation)
    """
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
    elif path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        arrays = load_file(path)
    else:
        raise ValueError(f"{path}: observations are read from .csv, .npz or .safetensors")
    if not arrays:
        raise ValueError(f"{path} holds no array")
    floats = {name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()}
    for name, array in floats.items():
        if array.ndim != 2:
            raise ValueError(f"{path}: {name!r} has the shape {array.shape}; give one row per state")
    if len({len(array) for array in floats.values()}) > 1:
        raise ValueError(f"{path}: its arrays have different numbers of states")
    return next(iter(floats.values())) if len(floats) == 1 else floats


def _read_csv(path: Path) -> npt.NDArray[np.float32]:
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        [float(cell) for cell in lines[0].split(",")]
    except (ValueError, IndexError):
        lines = lines[1:]
    try:
        rows = np.array([[float(cell) for cell in line.split(",")] for line in lines if line], np.float32)
    except ValueError as error:
        raise ValueError(f"{path} is not a table of numbers separated by commas: {error}") from None
    if rows.ndim != 2:
        raise ValueError(f"{path} holds no states")
    return rows


def visit(stored: StoredPolicy, states: int) -> Observations:
    """Let a policy act as in training, with its noise, until it has seen so many states."""
    import torch

    torch.manual_seed(stored.config.seed)
    visited: list[Any] = []
    observation, _ = stored.env.reset()
    while len(visited) < states:
        visited.append(observation)
        action, _ = stored.policy.predict(observation, deterministic=False)
        observation, _, terminated, truncated, _ = stored.env.step(action)
        if terminated or truncated:
            observation, _ = stored.env.reset()
    if isinstance(visited[0], dict):
        return {key: np.stack([one[key] for one in visited]).astype(np.float32) for key in visited[0]}
    return np.stack(visited).astype(np.float32)
