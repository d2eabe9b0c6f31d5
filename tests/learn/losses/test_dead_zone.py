"""ASL's dead zone in training, against a plain loop over the states that were visited."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from ambidex import ASL, SymmetricPPO, SymmetryGroup

STEPS = 32


class Growing(gymnasium.Env[Any, Any]):
    """Observations are noise that is three times as large in each roll-out as in the one before."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = spaces.Box(-1, 1, (3,), np.float32)

    def __init__(self) -> None:
        self.time = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self.observe(), 0.0, False, False, {}

    def observe(self) -> Any:
        return (3.0 ** (self.time // STEPS) * self.np_random.normal(size=4)).astype(np.float32)


@pytest.mark.parametrize("history", [1, 2])
def test_the_spread_of_observations_is_that_of_the_last_batches_the_current_one_included(
    triangle: SymmetryGroup, history: int
) -> None:
    model = SymmetricPPO(
        "MlpPolicy",
        Growing(),
        symmetries=triangle,
        loss=ASL(dead_zone=1.0, history=history),
        n_steps=STEPS,
        batch_size=STEPS,
        n_epochs=1,
        seed=0,
        policy_kwargs={"net_arch": [4]},
    )
    batches: list[np.ndarray] = []
    for _ in range(4):
        model.learn(STEPS, reset_num_timesteps=False)
        batches.append(model.rollout_buffer.observations.reshape(STEPS, 4).astype(np.float64))
        last = np.concatenate(batches[-history:])
        spread = np.abs(last - last.mean(axis=0)).mean(axis=0)
        ratios = {
            transform: value
            for metric, transform, _, value in model.symmetry_metrics()
            if metric == "neutral_rejection_ratio"
        }
        for symmetry in triangle:
            near = [np.mean(np.abs(s - symmetry.observation(s)) / spread) <= 1.0 for s in batches[-1]]
            assert ratios[symmetry.name] == pytest.approx(np.mean(near), abs=1e-6)
    assert min(ratios.values()) > 0 and max(ratios.values()) < 1
