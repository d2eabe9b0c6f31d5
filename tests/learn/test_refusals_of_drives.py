"""A fit from transitions beside observations that no longer have the units of the drive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import Env, spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from ambidex.learn import SymmetricPPO, SymmetricVecNormalize, TransitionFit
from tests.actuators.two_legs import two_legs


class Legs(Env[Any, Any]):
    observation_space = spaces.Box(-10, 10, (8,), np.float32)
    action_space = spaces.Box(-1, 1, (4,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(8, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(8, np.float32), 0.0, False, False, {}


@pytest.mark.parametrize("norm_obs", [True, False])
def test_a_drive_of_targets_and_normalised_observations(norm_obs: bool) -> None:
    group = two_legs()
    env: VecEnv = SymmetricVecNormalize(DummyVecEnv([Legs]), symmetries=group, norm_obs=norm_obs)

    def make() -> SymmetricPPO:
        return SymmetricPPO(
            "MlpPolicy",
            env,
            symmetries=group,
            actuators=TransitionFit(),
            n_steps=8,
            batch_size=8,
            device="cpu",
        )

    if not norm_obs:
        make()
        return
    with pytest.raises(ValueError, match="gains in units of the robot"):
        make()
    normalized, env = env, DummyVecEnv([Legs])
    with pytest.raises(ValueError, match="gains in units of the robot"):
        make().set_env(normalized)
