"""The exact state of an environment and of every wrapper around it, as arrays.

Environments with ``get_state`` and ``set_state`` are exact by themselves; Gymnasium's MuJoCo and
classic-control environments are exact through the adapters here. `inexact` names what is not.
"""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import wrappers
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecEnv,
    VecEnvWrapper,
    VecMonitor,
    VecNormalize,
)

from ambidex.common.arrays import below
from ambidex.common.files import Arrays
from ambidex.experiment.configure.vectorized import SteppedAsOne
from ambidex.learn.relabel.frame import EnvFrame
from ambidex.learn.relabel.vec_frame import VecFrame

_KEPT_HERE = (VecMonitor, Monitor, wrappers.TimeLimit, EnvFrame, VecFrame)
_WITHOUT_STATE = (DummyVecEnv, SteppedAsOne, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)
_KEPT_ELSEWHERE = (VecNormalize,)  # also where the environment itself is not exact


def inexact(environment: VecEnv | gym.Env) -> str | None:
    """The part whose state cannot be kept, or None if a resumed run is exact to the bit."""
    for _, layer in _layers(environment):
        if isinstance(layer, _KEPT_HERE + _WITHOUT_STATE + _KEPT_ELSEWHERE):
            continue
        if isinstance(layer, SubprocVecEnv):
            culprit: str | None = layer.env_method("inexact", indices=0)[0]
            return culprit
        if not (_keeps_itself(layer) or _is_mujoco(layer) or _is_classic_control(layer)):
            return type(layer).__name__
    return None


def capture(environment: VecEnv | gym.Env) -> Arrays:
    """The state of every layer, each under its own prefix."""
    arrays: Arrays = {}
    for place, layer in _layers(environment):
        arrays |= {f"{place}.{name}": array for name, array in _capture_layer(layer).items()}
    return arrays


def restore(environment: VecEnv | gym.Env, arrays: Arrays) -> None:
    """Bring an environment that has been reset to a captured state."""
    for place, layer in _layers(environment):
        _restore_layer(layer, below(f"{place}.", arrays))


def _layers(environment: Any) -> list[tuple[str, Any]]:
    """From the outside in: ``("0", VecMonitor), ("1", DummyVecEnv), ("1/0/0", Monitor), ...``."""
    layers: list[tuple[str, Any]] = []

    def walk(layer: Any, place: str) -> None:
        depth = 0
        while True:
            layers.append((f"{place}{depth}", layer))
            if _keeps_itself(layer):
                return
            if isinstance(layer, DummyVecEnv):
                for index, inner in enumerate(layer.envs):
                    walk(inner, f"{place}{depth}/{index}/")
                return
            if isinstance(layer, VecEnvWrapper):
                layer = layer.venv
            elif isinstance(layer, gym.Wrapper | SteppedAsOne):
                layer = layer.env
            else:
                return
            depth += 1

    walk(environment, "")
    return layers


def _keeps_itself(layer: Any) -> bool:
    """Whether the class itself (not what it wraps) offers its state."""
    return callable(getattr(type(layer), "get_state", None)) and callable(
        getattr(type(layer), "set_state", None)
    )


def _capture_layer(layer: Any) -> Arrays:
    if _keeps_itself(layer) and not _is_mujoco(layer):
        return dict(layer.get_state())
    if isinstance(layer, SubprocVecEnv):
        each = enumerate(layer.env_method("captured"))
        return {f"{index}.{name}": array for index, own in each for name, array in own.items()}
    if isinstance(layer, VecMonitor):
        return {"returns": layer.episode_returns.copy(), "lengths": layer.episode_lengths.copy()}
    if isinstance(layer, Monitor):
        return {"rewards": np.array(layer.rewards, dtype=np.float64), "done": np.array(layer.needs_reset)}
    if isinstance(layer, wrappers.TimeLimit):
        return {"elapsed": np.array(layer._elapsed_steps)}
    if isinstance(layer, EnvFrame | VecFrame):
        return {"elements": layer.elements.copy()}
    if _is_mujoco(layer):
        return _mujoco_arrays(layer) | _generator(layer)
    if _is_classic_control(layer):
        return {"attributes": _text(_plain_attributes(layer))} | _generator(layer)
    return {}


def _restore_layer(layer: Any, own: Arrays) -> None:
    if _keeps_itself(layer) and not _is_mujoco(layer):
        layer.set_state(own)
    elif isinstance(layer, SubprocVecEnv):
        for index in range(layer.num_envs):
            layer.env_method("bring_back", below(f"{index}.", own), indices=index)
    elif isinstance(layer, VecMonitor):
        layer.episode_returns = own["returns"].copy()
        layer.episode_lengths = own["lengths"].copy()
    elif isinstance(layer, Monitor):
        layer.rewards = own["rewards"].tolist()
        layer.needs_reset = bool(own["done"])
    elif isinstance(layer, wrappers.TimeLimit):
        layer._elapsed_steps = int(own["elapsed"])  # type: ignore[assignment]
    elif isinstance(layer, EnvFrame | VecFrame):
        layer.elements = own["elements"].copy()
    elif _is_mujoco(layer):
        for name, array in own.items():
            if name == "time":
                layer.data.time = float(array)
            elif name != "generator":
                getattr(layer.data, name)[...] = array
        _restore_generator(layer, own)
    elif _is_classic_control(layer):
        attributes = _from_text(own["attributes"])
        foreign = attributes.keys() - vars(layer).keys()
        if foreign:
            raise ValueError(f"{type(layer).__name__} has no attribute {min(foreign)!r}")
        for name, value in attributes.items():
            setattr(layer, name, value)
        _restore_generator(layer, own)


def _is_mujoco(layer: Any) -> bool:
    """One of Gymnasium's MuJoCo environments (whose ``set_state`` means another thing)."""
    return any(base.__module__ == "gymnasium.envs.mujoco.mujoco_env" for base in type(layer).__mro__)


def _is_classic_control(layer: Any) -> bool:
    return type(layer).__module__.startswith("gymnasium.envs.classic_control")


def _mujoco_arrays(layer: Any) -> Arrays:
    """Every array of ``mjData`` whose size does not change from step to step.

    The derived ones too: after ``mj_step`` the body positions lag one substep behind ``qpos``, and
    environments read them, so that recomputing them would change the next reward.
    """
    arrays: Arrays = {"time": np.array(layer.data.time)}
    empty = type(layer.data)(layer.model)
    for name in dir(empty):
        array = None if name.startswith("_") else getattr(empty, name)
        if isinstance(array, np.ndarray) and array.size and array.dtype.kind in "fiub":
            arrays[name] = getattr(layer.data, name).copy()
    return arrays


def _generator(layer: Any) -> Arrays:
    return {"generator": _text(layer.np_random.bit_generator.state)}


def _restore_generator(layer: Any, own: Arrays) -> None:
    layer.np_random.bit_generator.state = _from_text(own["generator"])


def _plain_attributes(layer: Any) -> dict[str, Any]:
    """The attributes that an episode changes: numbers and arrays, not spaces, screens or generators."""
    plain: dict[str, Any] = {}
    for name, value in vars(layer).items():
        if isinstance(value, np.ndarray):
            plain[name] = {"dtype": str(value.dtype), "values": value.tolist()}
        elif value is None or isinstance(value, bool | int | float):
            plain[name] = value
    return plain


def _text(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _from_text(array: np.ndarray) -> dict[str, Any]:
    values = json.loads(array.tobytes())
    return {
        name: np.array(value["values"], dtype=value["dtype"])
        if isinstance(value, dict) and value.keys() == {"dtype", "values"}
        else value
        for name, value in values.items()
    }
