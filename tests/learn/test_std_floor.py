"""The floor of a policy's noise: held after every update, and nothing else changed by it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import SymmetricPPO
from ambidex.symmetry import load

START = -1.0
SMALL: dict[str, Any] = {"n_steps": 32, "batch_size": 32, "n_epochs": 2, "seed": 0, "device": "cpu"}


def trained(policy: str, steps: int = 128, **kwargs: Any) -> SymmetricPPO:
    return SymmetricPPO(
        policy,
        TriangleVecEnv(2, scenario="triangle-rust", seed=0),
        symmetries=load("triangle"),
        learning_rate=0.05,
        ent_coef=-1.0,  # noise costs, so that it shrinks
        policy_kwargs={"net_arch": [12], "log_std_init": START},
        **SMALL,
        **kwargs,
    ).learn(steps)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_noise_that_would_shrink_stays_at_its_floor(policy: str) -> None:
    free, held = trained(policy), trained(policy, std_floor=0.3)
    assert (free.policy.log_std < math.log(0.3)).all()
    np.testing.assert_allclose(held.policy.log_std.detach().exp(), 0.3, rtol=1e-6)


def test_noise_above_its_floor_is_left_alone() -> None:
    free, held = trained("EquivariantMlpPolicy"), trained("EquivariantMlpPolicy", std_floor=1e-9)
    for one, other in zip(free.policy.parameters(), held.policy.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("wrong", [0.0, -0.3, True, "much", math.inf])
def test_what_is_no_floor_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="std_floor is a positive number"):
        trained("MlpPolicy", std_floor=wrong)


def test_policies_without_such_a_noise_are_refused() -> None:
    with pytest.raises(ValueError, match="use_sde=True"):
        trained("MlpPolicy", std_floor=0.3, use_sde=True)
    with pytest.raises(ValueError, match="Discrete"):
        SymmetricPPO("MlpPolicy", gymnasium.make("CartPole-v1"), std_floor=0.3, **SMALL)


class Noises(BaseCallback):
    """The least std at the start of every roll-out."""

    def _on_training_start(self) -> None:
        self.seen: list[float] = []

    def _on_rollout_start(self) -> None:
        self.seen.append(float(self.model.policy.log_std.detach().exp().min()))

    def _on_step(self) -> bool:
        return True


def test_the_first_roll_out_has_the_floor_too_and_the_log_has_what_roll_outs_had() -> None:
    model = SymmetricPPO(
        "MlpPolicy",
        TriangleVecEnv(2, seed=0),
        std_floor=0.5,
        policy_kwargs={"net_arch": [12], "log_std_init": START},
        learning_rate=0.05,
        ent_coef=-1.0,
        **SMALL,
    )
    noises = Noises()
    model.learn(128, noises, log_interval=100)
    np.testing.assert_allclose(noises.seen, [0.5, 0.5], rtol=1e-6)
    assert model.logger.name_to_value["train/std"] == pytest.approx(0.5)


def test_a_model_that_is_loaded_with_a_floor_has_it_from_the_first_roll_out_on(tmp_path: Path) -> None:
    trained("EquivariantMlpPolicy").save(tmp_path / "model")
    noises = Noises()
    env = TriangleVecEnv(2, scenario="triangle-rust", seed=0)
    SymmetricPPO.load(tmp_path / "model", env, "cpu", std_floor=0.6).learn(64, noises)
    np.testing.assert_allclose(noises.seen, [0.6], rtol=1e-6)
