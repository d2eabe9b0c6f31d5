"""Gymnasium's vector environments, which step many robots as one array, for Stable-Baselines3."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from ambidex.envs.making import prepare, refusal


def make_vector(env_id: str, count: int, /, **options: Any) -> VecEnv:
    """The vector environment that an id has besides its single one, counting returns and lengths."""
    prepare(env_id)
    try:
        made = gym.make_vec(env_id, count, vectorization_mode="vector_entry_point", **options)
    except (gym.error.Error, ImportError, ValueError) as error:
        raise ValueError(refusal(env_id, error)) from None
    return VecMonitor(SteppedAsOne(made))


class SteppedAsOne(VecEnv):
    """A vector environment of Gymnasium's; what it gives is copied, since it may go on in the same arrays.

    :param env: one that begins a new episode in the step that ends the last one, or when it is told to
    """

    def __init__(self, env: VectorEnv) -> None:
        self.env = env
        self.resets = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if self.resets not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise ValueError(
                f"{type(env.unwrapped).__name__} begins an episode one step after the last one has ended, "
                "which would be learned as a step; let its autoreset_mode be SAME_STEP or DISABLED, or step "
                "single environments (--stepping here, or processes)"
            )
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        seeds: Any = None if self._seeds[0] is None else self._seeds
        observations, _ = self.env.reset(seed=seeds)
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        return deepcopy(observations)

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, terminated, truncated, told = self.env.step(self._actions)
        done = np.logical_or(terminated, truncated)
        infos: list[dict[str, Any]] = [
            {"TimeLimit.truncated": bool(cut and not end)}
            for cut, end in zip(truncated, terminated, strict=True)
        ]
        if done.any():
            last = told["final_obs"] if self.resets is AutoresetMode.SAME_STEP else observations
            for index in np.flatnonzero(done).tolist():
                infos[index]["terminal_observation"] = _one(last, index)
            if self.resets is AutoresetMode.DISABLED:
                observations, _ = self.env.reset(options={"reset_mask": done})
        return deepcopy(observations), np.array(rewards, dtype=np.float32), done, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        return [getattr(self.env, method_name)(*arguments, **named)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


def _one(observations: Any, index: int) -> Any:
    if isinstance(observations, dict):
        return {key: _one(part, index) for key, part in observations.items()}
    return deepcopy(observations[index])
