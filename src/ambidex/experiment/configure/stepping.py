"""Several environments as one for training: stepped one after the other, or each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn
from stable_baselines3.common.vec_env.util import dict_to_obs

from ambidex.common.files import Arrays

Stepping = Literal["here", "processes", "vector"]


class Kept(gym.Wrapper[Any, Any, Any, Any]):
    """An environment in another process, whose state can be asked for and set from outside."""

    def inexact(self) -> str | None:
        from ambidex.experiment.one_run import environment_state

        return environment_state.inexact(self.env)

    def captured(self) -> Arrays:
        from ambidex.experiment.one_run import environment_state

        return environment_state.capture(self.env)

    def bring_back(self, arrays: Arrays) -> None:
        from ambidex.experiment.one_run import environment_state

        environment_state.restore(self.env, arrays)

    def cpu_seconds(self) -> float:
        return time.process_time()


_SCALARS = {bool, int, float, str, np.float32, np.float64}


class HereVecEnv(DummyVecEnv):
    """Copies arrays where Stable-Baselines3 has a deep copy, which takes a tenth of a quick step."""

    def step_wait(self) -> VecEnvStepReturn:
        infos: list[dict[str, Any]] = []
        for index, env in enumerate(self.envs):
            observation, reward, terminated, truncated, told = env.step(self.actions[index])
            info = {name: one if type(one) in _SCALARS else deepcopy(one) for name, one in told.items()}
            info["TimeLimit.truncated"] = truncated and not terminated
            self.buf_rews[index] = reward
            self.buf_dones[index] = terminated or truncated
            if terminated or truncated:
                info["terminal_observation"] = deepcopy(observation)
                observation, self.reset_infos[index] = env.reset()
            self._save_obs(index, observation)
            infos.append(info)
        return self._obs_from_buf(), self.buf_rews.copy(), self.buf_dones.copy(), infos

    def _obs_from_buf(self) -> VecEnvObs:
        return dict_to_obs(self.observation_space, {key: part.copy() for key, part in self.buf_obs.items()})


class ApartVecEnv(SubprocVecEnv):
    """Rewards are rounded as in one process, so that both give the same numbers."""

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, dones, infos = super().step_wait()
        return observations, rewards.astype(np.float32), dones, infos


def cpu_seconds_elsewhere(env: VecEnv) -> float:
    """The time of the processor that processes of environments have taken so far."""
    return sum(env.env_method("cpu_seconds")) if isinstance(env.unwrapped, ApartVecEnv) else 0.0


def step_together(make: Callable[[], gym.Env], count: int, stepping: Stepping) -> VecEnv:
    """So many environments, one after the other in this process, or each in a process of its own.

    Both give the same numbers. A process pays off where a step takes longer than some tenths of a
    millisecond, and there are cores for them.

    :param make: makes one of them
    """
    if stepping == "processes":
        return ApartVecEnv([lambda: Kept(make())] * count)
    return HereVecEnv([make] * count)
