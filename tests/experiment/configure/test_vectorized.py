"""Gymnasium's vector environments give what Stable-Baselines3's give, and keep nothing of what they gave."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.experiment.configure.vectorized import SteppedAsOne

BOX = spaces.Box(-99, 99, (1,), np.float32)


class Counting(VectorEnv):
    """Two robots that count their steps in an array of their own, which they show."""

    def __init__(self) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.num_envs, self.single_observation_space, self.single_action_space = 2, BOX, BOX
        self.steps, self.rewards = np.zeros((2, 1), np.float32), np.zeros(2, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.steps[:] = 0
        return self.steps, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.steps += 1
        self.rewards -= 1
        return self.steps, self.rewards, np.zeros(2, bool), np.zeros(2, bool), {}


def test_what_was_given_does_not_change() -> None:
    env = SteppedAsOne(Counting())
    seen, earned = [env.reset()], []
    for _ in range(3):
        observations, rewards, *_ = env.step(np.zeros((2, 1)))
        seen.append(observations)
        earned.append(rewards)
    np.testing.assert_array_equal(np.array(seen)[..., 0], [[0, 0], [1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(earned, [[-1, -1], [-2, -2], [-3, -3]])


class Sensors(gym.Env[Any, Any]):
    """Observes by key; episodes have three steps."""

    observation_space = spaces.Dict({"legs": BOX, "body": spaces.Box(-99, 99, (2,), np.float32)})
    action_space = BOX

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._observed(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self._observed(), 1.0, False, self.steps == 3, {}

    def _observed(self) -> dict[str, Any]:
        return {
            key: self.np_random.normal(size=size).astype(np.float32)
            for key, size in (("legs", 1), ("body", 2))
        }


def test_the_last_observations_by_key_are_those_of_single_environments() -> None:
    many = SteppedAsOne(SyncVectorEnv([Sensors, Sensors], autoreset_mode=AutoresetMode.SAME_STEP))
    single = DummyVecEnv([Sensors, Sensors])
    for env in (many, single):
        env.seed(5)
    np.testing.assert_equal(many.reset(), dict(single.reset()))
    ended = 0
    for _ in range(7):
        (seen, _, done, infos), (same, _, same_done, same_infos) = (
            env.step(np.zeros((2, 1), np.float32)) for env in (many, single)
        )
        np.testing.assert_equal(seen, dict(same))
        np.testing.assert_array_equal(done, same_done)
        for index in np.flatnonzero(done):
            np.testing.assert_equal(
                infos[index]["terminal_observation"], same_infos[index]["terminal_observation"]
            )
            ended += 1
    assert ended == 4
