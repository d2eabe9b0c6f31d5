"""Everything that decides how a training goes on, taken out of its objects and put back."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize

from ambidex.common.arrays import below
from ambidex.common.files import Arrays
from ambidex.experiment.configure import normalization
from ambidex.experiment.one_run import environment_state

_COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining")


def policy_arrays(model: BaseAlgorithm) -> Arrays:
    """The policy's parameters and buffers by their names in the module."""
    return {name: tensor.numpy(force=True).copy() for name, tensor in model.policy.state_dict().items()}


def policy_file(model: BaseAlgorithm) -> Arrays:
    """The same with the normalisation of observations, where there is one: all that acting takes."""
    assert model.env is not None
    own = normalization.Normalization.of(model.env)
    return policy_arrays(model) | ({} if own is None else own.arrays())


def set_policy(model: BaseAlgorithm, arrays: Arrays) -> None:
    model.policy.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})


def capture(model: BaseAlgorithm) -> tuple[dict[str, Arrays], dict[str, Any]]:
    """The state of a model, its environment and the global generators, between two iterations.

    :return: groups of arrays, and what JSON holds; `restore` takes both
    """
    assert model.env is not None and model.ep_info_buffer is not None
    arrays = {
        "policy": policy_arrays(model),
        **{name: _optimizer_arrays(optimizer) for name, optimizer in optimizers(model).items()},
        "symmetry": dict(model.symmetry_state()) if hasattr(model, "symmetry_state") else {},
        "random": _random_arrays(),
    }
    if (statistics := normalization.capture(model.env)) is not None:
        arrays["normalization"] = statistics
    if variables := _variables(model):
        arrays["variables"] = {name: own.numpy(force=True).copy() for name, own in variables.items()}
    if environment_state.inexact(model.env) is None:
        arrays["environment"] = environment_state.capture(model.env)
        arrays["observation"] = _observation_arrays(model)
    state = {
        "counters": {name.lstrip("_"): getattr(model, name) for name in _COUNTERS},
        "episodes": [[float(episode["r"]), int(episode["l"])] for episode in model.ep_info_buffer],
        "python_random": _as_lists(random.getstate()),
        "numpy_random": [part for part in np.random.get_state() if not isinstance(part, np.ndarray)],  # noqa: NPY002
    }
    return arrays, state


def restore(model: BaseAlgorithm, arrays: dict[str, Arrays], state: dict[str, Any]) -> None:
    """Bring a freshly set-up model to a captured state.

    Where the environment's state could not be kept, it stands at the start of a new episode.
    """
    assert model.env is not None
    set_policy(model, arrays["policy"])
    for name, optimizer in optimizers(model).items():
        _restore_optimizer(optimizer, arrays[name])
    for name, variable in _variables(model).items():
        variable.data.copy_(torch.from_numpy(arrays["variables"][name]))
    if hasattr(model, "set_symmetry_state"):
        model.set_symmetry_state(arrays["symmetry"])
    if "normalization" in arrays:
        normalization.restore(model.env, arrays["normalization"])
        model._last_obs = _seen_again(model.env)
    if "environment" in arrays:
        environment_state.restore(model.env, arrays["environment"])
        _restore_observation(model, arrays["observation"])
    for name in _COUNTERS:
        setattr(model, name, state["counters"][name.lstrip("_")])
    episodes = ({"r": r, "l": length} for r, length in state["episodes"])
    model.ep_info_buffer = deque(episodes, maxlen=model._stats_window_size)
    _restore_random(arrays["random"], state)


def _seen_again(env: VecEnv) -> Any:
    """The observations of the last reset, as the normalisation that was brought back shows them."""
    wrapper = unwrap_vec_normalize(env)
    assert wrapper is not None
    return wrapper.normalize_obs(wrapper.get_original_obs())


def optimizers(model: BaseAlgorithm) -> dict[str, torch.optim.Optimizer]:
    """By the names of their files: ``optimizer`` for that of the whole policy."""
    names, _ = model._get_torch_save_params()
    return {
        "optimizer" if name == "policy.optimizer" else name: recursive_getattr(model, name)
        for name in names
        if name != "policy"
    }


def _variables(model: BaseAlgorithm) -> dict[str, torch.Tensor]:
    """Tensors beside the policy, an entropy coefficient say."""
    _, names = model._get_torch_save_params()
    return {name: recursive_getattr(model, name) for name in names}


def _optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    return {
        f"{index}.{name}": value.numpy(force=True).copy()
        for index, entries in optimizer.state_dict()["state"].items()
        for name, value in entries.items()
    }


def _restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """The learning rate is not kept: the schedule sets it at every update."""
    entries: dict[int, dict[str, torch.Tensor]] = {}
    for key, array in arrays.items():
        index, _, name = key.partition(".")
        entries.setdefault(int(index), {})[name] = torch.from_numpy(array.copy())
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def _observation_arrays(model: BaseAlgorithm) -> Arrays:
    last = model._last_obs
    observations = (
        {f"last/{key}": value for key, value in last.items()} if isinstance(last, dict) else {"last": last}
    )
    return {name: np.array(value) for name, value in observations.items()} | {
        "episode_starts": np.array(model._last_episode_starts)
    }


def _restore_observation(model: BaseAlgorithm, arrays: Arrays) -> None:
    model._last_episode_starts = arrays["episode_starts"].copy()
    if "last" in arrays:
        model._last_obs = arrays["last"].copy()
    else:
        model._last_obs = {name: array.copy() for name, array in below("last/", arrays).items()}


def _random_arrays() -> Arrays:
    return {
        "torch": torch.get_rng_state().numpy().copy(),
        "numpy": np.random.get_state()[1].copy(),  # type: ignore[index]  # noqa: NPY002
    }


def _restore_random(arrays: Arrays, state: dict[str, Any]) -> None:
    torch.set_rng_state(torch.from_numpy(arrays["torch"].copy()))
    name, position, has_gauss, cached = state["numpy_random"]
    np.random.set_state((name, arrays["numpy"], position, has_gauss, cached))  # noqa: NPY002
    random.setstate(_as_tuples(state["python_random"]))


def _as_lists(value: Any) -> Any:
    return [_as_lists(part) for part in value] if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(part) for part in value) if isinstance(value, list) else value
