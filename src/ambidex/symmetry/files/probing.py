"""What a mirror function of somebody else does, seen by calling it on unit vectors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.group import SymmetryGroup

CHECKS = 8  # random vectors on which a function must do what it did to the unit vectors
NEAR = 1e-5  # float32

Entries = dict[str, dict[str, Any]]


def probe(name: str, robot: SymmetryGroup) -> Entries:
    """The matrices of a function's images, as raw tables.

    :param name: ``module:function`` in the way of rsl_rl, which takes ``(env, obs, actions)`` and returns the
        batch followed by its images; or ``module:observation,action``, two functions of one tensor each
    :param robot: says how many elements there are
    """
    module_name, _, functions = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"{name}: cannot import it: {error}") from None
    finally:
        sys.path.remove(str(Path.cwd()))
    found = []
    for function in functions.split(","):
        if not callable(getattr(module, function, None)):
            raise ValueError(f"{name}: the module has no function {function!r}")
        found.append(getattr(module, function))
    try:
        return _mirrors(name, found, robot) if len(found) == 2 else _augmentation(name, found[0], robot)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(
            f"{name}: it fails when called without an environment: {type(error).__name__}: {error}"
        ) from error


def _mirrors(name: str, functions: list[Callable[..., Any]], robot: SymmetryGroup) -> Entries:
    import torch

    size = robot.observation_size
    if isinstance(size, dict):
        raise ValueError(
            f"{name}: the robot has the groups {', '.join(size)}; give a function as rsl_rl does"
        )
    entry = {}
    for side, count, function in zip(
        ("observation", "action"), (size, robot.action_size), functions, strict=True
    ):
        rows = _rows(count, count)
        images = function(torch.tensor(rows, dtype=torch.float32)).double().numpy()
        entry[side] = {"matrix": _matrix(f"{name}, {side}", rows, images, count)}
    return {"mirror": entry}


def _augmentation(name: str, function: Callable[..., Any], robot: SymmetryGroup) -> Entries:
    import torch

    size = robot.observation_size
    sizes = size if isinstance(size, dict) else {"policy": size}
    most = max(*sizes.values(), robot.action_size)
    rows = {group: _rows(count, most) for group, count in sizes.items()}
    tensors = {group: torch.tensor(each, dtype=torch.float32) for group, each in rows.items()}
    actions = _rows(robot.action_size, most)
    obs_images, act_images = _call(function, tensors, torch.tensor(actions, dtype=torch.float32))
    sides = {
        **{
            group: (rows[group], obs_images if isinstance(obs_images, torch.Tensor) else obs_images[group])
            for group in sizes
        },
        "actions": (actions, act_images),
    }
    matrices: dict[str, list[list[list[float]]]] = {}
    for side, (given, images) in sides.items():
        whole = images.detach().double().numpy()
        if len(whole) % len(given) or not np.allclose(whole[: len(given)], given, atol=NEAR):
            raise ValueError(f"{name}: {side}: expected the batch first, and then its images")
        blocks = np.split(whole, len(whole) // len(given))[1:]
        matrices[side] = [_matrix(f"{name}, {side}", given, block, given.shape[1]) for block in blocks]
    if len({len(found) for found in matrices.values()}) > 1 or not matrices["actions"]:
        counts = ", ".join(f"{len(found)} of {side}" for side, found in matrices.items())
        raise ValueError(f"{name}: expected as many images of everything, and at least one; got {counts}")
    entries = {}
    for number in range(len(matrices["actions"])):
        observed = {group: {"matrix": matrices[group][number]} for group in sizes}
        entries[f"image {number + 1}"] = {
            "observation": observed if isinstance(size, dict) else observed["policy"],
            "action": {"matrix": matrices["actions"][number]},
        }
    return entries


def _call(function: Callable[..., Any], groups: dict[str, Any], actions: Any) -> tuple[Any, Any]:
    """With a TensorDict, as rsl_rl does from version 3 on; where that fails, with a tensor as before."""
    try:
        from tensordict import TensorDict
    except ImportError:
        batch: Any = dict(groups)
    else:
        batch = TensorDict(dict(groups), batch_size=[len(actions)])
    try:
        obs, images = function(env=None, obs=batch, actions=actions)
    except Exception:
        if len(groups) > 1:
            raise
        obs, images = function(env=None, obs=next(iter(groups.values())), actions=actions)
    return obs, images


def _rows(count: int, most: int) -> FloatArray:
    """The unit vectors of ``count`` elements, zeros up to ``most`` rows, and random vectors."""
    rows = np.zeros((most + CHECKS, count))
    rows[:count] = np.eye(count)
    rows[most:] = np.random.default_rng(0).normal(size=(CHECKS, count))
    return rows


def _matrix(what: str, rows: FloatArray, images: FloatArray, count: int) -> list[list[float]]:
    if images.shape != rows.shape:
        raise ValueError(f"{what}: expected images of shape {rows.shape}, got {images.shape}")
    matrix = images[:count].T
    if not np.allclose(images, rows @ matrix.T, atol=NEAR):
        raise ValueError(f"{what}: the function is not linear, and every symmetry of vectors is")
    rounded = np.round(matrix)
    exact: list[list[float]] = np.where(np.abs(matrix - rounded) < NEAR, rounded, matrix).tolist()
    return exact
