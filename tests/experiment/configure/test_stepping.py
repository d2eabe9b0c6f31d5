"""Environments that are stepped in this process give what Stable-Baselines3 gives, and keep nothing of it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.experiment.configure.stepping import HereVecEnv

BOX = spaces.Box(-99, 99, (2,), np.float32)


class Counting(gym.Env[Any, Any]):
    """Shows its count of steps in an array that it goes on to change."""

    action_space = BOX

    def __init__(self, space: spaces.Space[Any], terminates: bool) -> None:
        self.observation_space = space
        self.terminates = terminates
        self.count, self.told = np.zeros(2, np.float32), {"steps": 0, "path": []}

    def _observed(self) -> Any:
        return {"body": self.count} if isinstance(self.observation_space, spaces.Dict) else self.count

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = np.full(2, self.np_random.integers(3), np.float32)
        return self._observed(), {"begun": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += action
        self.told["steps"] += 1
        self.told["path"].append(float(self.count[0]))
        over = bool(self.count[0] > 4)
        return (
            self._observed(),
            float(self.count.sum()) / 3,
            over and self.terminates,
            over,
            dict(self.told),
        )


@pytest.mark.parametrize("space", [BOX, spaces.Dict({"body": BOX})])
def test_steps_are_those_of_stable_baselines(space: spaces.Space[Any]) -> None:
    both = []
    for kind in (HereVecEnv, DummyVecEnv):
        env = kind([lambda end=end: Counting(space, end) for end in (False, True)])
        env.seed(3)
        answers: list[Any] = [env.reset()]
        rng = np.random.default_rng(0)
        for _ in range(12):
            answers.append(env.step(rng.integers(2, size=(2, 2)).astype(np.float32)))
        answers.append(env.reset_infos)
        both.append(answers)
    np.testing.assert_equal(*both)  # at the end: nothing that was given has changed since
    ended = [
        info["TimeLimit.truncated"]
        for *_, dones, infos in both[0][1:-1]
        for info, done in zip(infos, dones, strict=True)
        if done
    ]
    assert True in ended and False in ended
    rewards = both[0][1][1]
    assert rewards.dtype == np.float32
