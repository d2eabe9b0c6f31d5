"""The exact state of an environment and of every wrapper around it, as arrays.

Environments whose ``get_state`` gives arrays by name, which ``set_state`` takes, are exact by themselves;
Gymnasium's MuJoCo and classic-control environments are exact through the adapters here. `inexact` names
what is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Kind:
    """One kind of layer, and how its state is read and brought back."""

    holds: Callable[[Any], bool]
    capture: Callable[[Any], Arrays]
    restore: Callable[[Any, Arrays], None]


def inexact(environment: VecEnv | gym.Env) -> str | None:
    """The part whose state cannot be kept, or None if a resumed run is exact to the bit."""
    for _, layer in _layers(environment):
        if isinstance(layer, SubprocVecEnv):
            culprit: str | None = layer.env_method("inexact", indices=0)[0]
            return culprit
        if _kind_of(layer) is _FOREIGN or (_keeps_itself(layer) and not _gives_arrays(layer)):
            return type(layer).__name__
    return None


def capture(environment: VecEnv | gym.Env) -> Arrays:
    """The state of every layer, each under its own prefix."""
    arrays: Arrays = {}
    for place, layer in _layers(environment):
        arrays |= {f"{place}.{name}": array for name, array in _kind_of(layer).capture(layer).items()}
    return arrays


def restore(environment: VecEnv | gym.Env, arrays: Arrays) -> None:
    """Bring an environment that has been reset to a captured state."""
    for place, layer in _layers(environment):
        _kind_of(layer).restore(layer, below(f"{place}.", arrays))


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


def _kind_of(layer: Any) -> _Kind:
    return next(kind for kind in _KINDS if kind.holds(layer))


def _keeps_itself(layer: Any) -> bool:
    """Whether the class itself (not what it wraps) offers its state."""
    methods = [getattr(type(layer), name, None) for name in ("get_state", "set_state")]
    return all(map(callable, methods)) and not _is_mujoco(layer)


def _gives_arrays(layer: Any) -> bool:
    """Whether what it offers is arrays by name; other packages' ``get_state`` may be anything."""
    try:
        state = layer.get_state()
    except TypeError:  # it takes arguments
        return False
    return isinstance(state, dict) and all(
        isinstance(name, str) and isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "fiub"
        for name, array in state.items()
    )


def _captured_apart(layer: SubprocVecEnv) -> Arrays:
    each = enumerate(layer.env_method("captured"))
    return {f"{index}.{name}": array for index, own in each for name, array in own.items()}


def _restore_apart(layer: SubprocVecEnv, own: Arrays) -> None:
    for index in range(layer.num_envs):
        layer.env_method("bring_back", below(f"{index}.", own), indices=index)


def _restore_vec_monitor(layer: VecMonitor, own: Arrays) -> None:
    layer.episode_returns = own["returns"].copy()
    layer.episode_lengths = own["lengths"].copy()


def _restore_monitor(layer: Monitor, own: Arrays) -> None:
    layer.rewards = own["rewards"].tolist()
    layer.needs_reset = bool(own["done"])


def _restore_limit(layer: wrappers.TimeLimit, own: Arrays) -> None:
    layer._elapsed_steps = int(own["elapsed"])  # type: ignore[assignment]


def _restore_frame(layer: EnvFrame | VecFrame, own: Arrays) -> None:
    layer.elements = own["elements"].copy()


def _is_mujoco(layer: Any) -> bool:
    """One of Gymnasium's MuJoCo environments (whose ``set_state`` means another thing)."""
    return any(base.__module__ == "gymnasium.envs.mujoco.mujoco_env" for base in type(layer).__mro__)


def _is_classic_control(layer: Any) -> bool:
    return type(layer).__module__.startswith("gymnasium.envs.classic_control")


def _mujoco_state(layer: Any) -> Arrays:
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
    return arrays | _generator(layer)


def _restore_mujoco(layer: Any, own: Arrays) -> None:
    for name, array in own.items():
        if name == "time":
            layer.data.time = float(array)
        elif name != "generator":
            getattr(layer.data, name)[...] = array
    _restore_generator(layer, own)


def _classic_state(layer: Any) -> Arrays:
    return {"attributes": _text(_plain_attributes(layer))} | _generator(layer)


def _restore_classic(layer: Any, own: Arrays) -> None:
    attributes = _from_text(own["attributes"])
    foreign = attributes.keys() - vars(layer).keys()
    if foreign:
        raise ValueError(f"{type(layer).__name__} has no attribute {min(foreign)!r}")
    for name, value in attributes.items():
        setattr(layer, name, value)
    _restore_generator(layer, own)


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


def _of(*classes: type) -> Callable[[Any], bool]:
    return lambda layer: isinstance(layer, classes)


def _no_state(layer: Any) -> Arrays:
    return {}


def _nothing_to_restore(layer: Any, own: Arrays) -> None:
    pass


_FOREIGN = _Kind(lambda layer: True, _no_state, _nothing_to_restore)
_KINDS = (  # the first that holds a layer
    _Kind(_keeps_itself, lambda layer: dict(layer.get_state()), lambda layer, own: layer.set_state(own)),
    _Kind(_of(SubprocVecEnv), _captured_apart, _restore_apart),
    _Kind(
        _of(VecMonitor),
        lambda layer: {"returns": layer.episode_returns.copy(), "lengths": layer.episode_lengths.copy()},
        _restore_vec_monitor,
    ),
    _Kind(
        _of(Monitor),
        lambda layer: {"rewards": np.array(layer.rewards, dtype=float), "done": np.array(layer.needs_reset)},
        _restore_monitor,
    ),
    _Kind(_of(wrappers.TimeLimit), lambda layer: {"elapsed": np.array(layer._elapsed_steps)}, _restore_limit),
    _Kind(_of(EnvFrame, VecFrame), lambda layer: {"elements": layer.elements.copy()}, _restore_frame),
    _Kind(_is_mujoco, _mujoco_state, _restore_mujoco),
    _Kind(_is_classic_control, _classic_state, _restore_classic),
    # What wraps others and has no state, and a normalisation, which is kept elsewhere.
    _Kind(
        _of(DummyVecEnv, SteppedAsOne, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker, VecNormalize),
        _no_state,
        _nothing_to_restore,
    ),
    _FOREIGN,
)
