"""A learning rate that follows the KL divergence: its rule by hand, its measure against torch, its resume."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.learn import MSL, SymmetricPPO
from ambidex.learn.update import learning_rate
from ambidex.symmetry import SymmetryGroup


@pytest.mark.parametrize(
    ("rate", "kl", "expected"),
    [
        (1e-4, 0.031, 1e-4 / 1.3),  # above 1.5 times 0.02
        (1e-4, 0.029, 1e-4),
        (1e-4, 0.014, 1e-4),
        (1e-4, 0.013, 1.3e-4),  # below two thirds of it
        (2.9e-4, 0.0, 3e-4),
        (3.1e-5, 1.0, 3e-5),
        (1e-4, math.nan, 1e-4 / 1.3),
        (1e-4, math.inf, 1e-4 / 1.3),
    ],
)
def test_the_rule(rate: float, kl: float, expected: float) -> None:
    assert learning_rate.followed(rate, kl, 0.02, 3e-5, 3e-4) == pytest.approx(expected)


@pytest.fixture
def build(triangle: SymmetryGroup, triangle_world: Callable[[], Any]) -> Callable[..., SymmetricPPO]:
    def make(**kwargs: Any) -> SymmetricPPO:
        settings: dict[str, Any] = {"symmetries": triangle, "loss": MSL(), "learning_rate": 1e-3} | kwargs
        return SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([triangle_world]),
            n_steps=64,
            batch_size=32,
            seed=0,
            device="cpu",
            **settings,
        )

    return make


def test_the_divergence_is_that_of_the_whole_batch(build: Callable[..., SymmetricPPO]) -> None:
    model = build()
    _, callback = model._setup_learn(64)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 64)  # type: ignore[arg-type]
    iteration = model._preparation.prepare(model.policy, model.rollout_buffer, 0.2, None)  # type: ignore[union-attr]
    assert learning_rate.batch_kl(model.policy, model.rollout_buffer) == pytest.approx(0, abs=1e-6)
    with torch.no_grad():
        model.policy.action_net.bias += 0.3
    ratios = []
    for state, action, old in zip(
        iteration.observations[:, 0], iteration.actions, iteration.old_log_probs, strict=True
    ):
        new = model.policy.get_distribution(state[None]).log_prob(action[None])
        ratios.append(float((new - old).detach()))
    expected = np.mean(np.exp(ratios) - 1 - np.array(ratios))
    assert learning_rate.batch_kl(model.policy, model.rollout_buffer) == pytest.approx(expected, rel=1e-4)


def test_a_rate_that_is_too_high_falls_to_its_lowest(build: Callable[..., SymmetricPPO]) -> None:
    model = build(desired_kl=1e-9)
    model.learn(64 * 12)
    assert model.symmetry_state()["learning_rate/followed"] == pytest.approx(1e-4)
    assert model.policy.optimizer.param_groups[0]["lr"] < 1.1e-4


def test_by_default_it_never_rises_above_the_given_rate(build: Callable[..., SymmetricPPO]) -> None:
    model = build(desired_kl=1e9)
    model.learn(64 * 3)
    assert model.symmetry_state()["learning_rate/followed"] == pytest.approx(1e-3)
    model = build(desired_kl=1e9, learning_rate_range=(1e-4, 2e-3))
    model.learn(64 * 3)
    assert model.symmetry_state()["learning_rate/followed"] == pytest.approx(2e-3)


def test_it_goes_on_where_it_was(build: Callable[..., SymmetricPPO], tmp_path: Any) -> None:
    model = build(desired_kl=1e-9)
    model.learn(64 * 3)
    other = build(desired_kl=1e-9)
    other.set_symmetry_state(model.symmetry_state())
    assert (
        other.symmetry_state()["learning_rate/followed"] == model.symmetry_state()["learning_rate/followed"]
    )
    model.save(tmp_path / "model.zip")
    loaded = SymmetricPPO.load(tmp_path / "model.zip")
    assert (
        loaded.symmetry_state()["learning_rate/followed"] == model.symmetry_state()["learning_rate/followed"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"desired_kl": 0.0}, "desired_kl is a positive number"),
        ({"desired_kl": True}, "desired_kl is a positive number"),
        ({"learning_rate_range": (1e-5, 1e-3)}, "learning_rate_range is for desired_kl"),
        ({"desired_kl": 0.01, "learning_rate_range": (1e-3, 1e-5)}, "a lowest and a highest rate"),
        ({"desired_kl": 0.01, "learning_rate_range": 1e-3}, "a lowest and a highest rate"),
        ({"desired_kl": 0.01, "learning_rate_range": (1e-3,)}, "a lowest and a highest rate"),
        ({"desired_kl": 0.01, "learning_rate_range": ("1e-5", "1e-3")}, "a lowest and a highest rate"),
    ],
)
def test_wrong_values(build: Callable[..., SymmetricPPO], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**arguments)


def test_numbers_of_numpy_are_numbers(build: Callable[..., SymmetricPPO]) -> None:
    build(desired_kl=np.float32(0.01), learning_rate_range=(np.float64(1e-5), np.float32(1e-3)))


@pytest.mark.parametrize("actions", [spaces.MultiBinary(3), spaces.MultiDiscrete([2, 3]), spaces.Discrete(3)])
def test_the_divergence_of_choices(world: type, actions: spaces.Space[Any]) -> None:
    env = world(spaces.Box(-1, 1, (4,), np.float32), actions)
    model = SymmetricPPO("MlpPolicy", env, n_steps=32, batch_size=32, desired_kl=0.01, seed=0, device="cpu")
    _, callback = model._setup_learn(32)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 32)  # type: ignore[arg-type]
    assert learning_rate.batch_kl(model.policy, model.rollout_buffer) == pytest.approx(0, abs=1e-6)
    with torch.no_grad():
        model.policy.action_net.bias[0] += 1.0
    assert learning_rate.batch_kl(model.policy, model.rollout_buffer) > 0.01
    model.learn(64)


def test_a_policy_in_double_precision(build: Callable[..., SymmetricPPO]) -> None:
    model = build(desired_kl=1e-9)
    model.policy.double()
    model.learn(64 * 2)
    assert model.symmetry_state()["learning_rate/followed"] < 1e-3


def test_without_symmetries_the_update_stays_that_of_stable_baselines3() -> None:
    """Also where the policy does more to observations than the updates here know: one-hot vectors."""

    def trained(**kwargs: Any) -> SymmetricPPO:
        model = SymmetricPPO(
            "MlpPolicy", "FrozenLake-v1", n_steps=32, batch_size=32, seed=0, device="cpu", **kwargs
        )
        return model.learn(96)

    plain, following = trained(), trained(desired_kl=1e9)
    for one, other in zip(plain.policy.parameters(), following.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert trained(desired_kl=1e-12).symmetry_state()["learning_rate/followed"] < 3e-4
