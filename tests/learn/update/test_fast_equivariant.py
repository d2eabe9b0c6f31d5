"""The fast update and roll-out of equivariant policies against autograd and Stable-Baselines3's roll-out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from ambidex.learn import MSL, SymmetricPPO, TransitionFit
from ambidex.learn.update import autograd
from ambidex.learn.update.fast import update as fast
from ambidex.symmetry import SymmetryGroup

Build = Callable[..., SymmetricPPO]


@pytest.fixture
def build(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> Build:
    def make(fast: bool | None = None, **kwargs: Any) -> SymmetricPPO:
        networks = {"net_arch": [24, 16], "activation_fn": nn.ReLU, "log_std_init": -0.5}
        return SymmetricPPO(
            "EquivariantMlpPolicy",
            DummyVecEnv([lambda: make_world(28, 8)] * 2),
            symmetries=ant,
            n_steps=64,
            batch_size=32,
            n_epochs=2,
            learning_rate=1e-2,
            seed=3,
            device="cpu",
            fast=fast,
            policy_kwargs=networks | kwargs.pop("policy_kwargs", {}),
            **kwargs,
        )

    return make


def rolled_out(model: SymmetricPPO) -> SymmetricPPO:
    _, callback = model._setup_learn(10_000)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)  # type: ignore[arg-type]
    return model


def updated(model: SymmetricPPO, how: Callable[..., Any]) -> None:
    assert model._preparation is not None
    iteration = model._preparation.prepare(model.policy, model.rollout_buffer, 0.2, None)
    np.random.seed(11)  # noqa: NPY002, Stable-Baselines3 draws from the global generator
    how(model, iteration)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"policy_kwargs": {"relax": "biases", "relax_penalty": 0.1}},
        {"policy_kwargs": {"relax": "weights", "relax_penalty": 0.1}},
        {"policy_kwargs": {"relax": "weights"}, "loss": MSL()},
        {"actuators": TransitionFit()},
    ],
    ids=["strict", "biases", "weights", "weights with MSL", "actuators"],
)
def test_the_update_equals_that_by_autograd(build: Build, options: dict[str, Any]) -> None:
    model = build(**options)
    assert model._takes_fast_path
    model.policy.double()
    rolled_out(model)
    if "relax" in options.get("policy_kwargs", {}):
        with torch.no_grad():
            for layer in model.policy.tied_layers()["actor"]:  # type: ignore[operator]
                for free in layer.free():
                    free.normal_(std=0.1)
    before, reference = copy.deepcopy(model.policy), copy.deepcopy(model)
    updated(model, fast.update)
    updated(reference, autograd.update)
    moved = 0.0
    for one, other, start in zip(
        model.policy.parameters(), reference.policy.parameters(), before.parameters(), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)
        moved = max(moved, float((one - start).detach().abs().max()))
    assert moved > 1e-2


def test_the_rollout_is_that_of_stable_baselines3(build: Build) -> None:
    quick, slow = rolled_out(build(fast=True)), rolled_out(build(fast=False))
    for name in ("observations", "actions", "rewards", "values", "log_probs", "advantages"):
        np.testing.assert_allclose(
            getattr(quick.rollout_buffer, name), getattr(slow.rollout_buffer, name), atol=2e-5, err_msg=name
        )


def test_it_stays_equivariant_through_training(build: Build, ant: SymmetryGroup) -> None:
    model = build(desired_kl=0.02)
    model.learn(512)
    states = torch.randn(20, 28)
    for symmetry in ant:
        images = symmetry.observation(states)
        with torch.no_grad():
            means = model.policy.get_distribution(states).distribution.mean  # type: ignore[union-attr]
            of_images = model.policy.get_distribution(images).distribution.mean  # type: ignore[union-attr]
            values, image_values = model.policy.predict_values(states), model.policy.predict_values(images)
        torch.testing.assert_close(of_images, symmetry.action(means), rtol=0, atol=2e-6)
        torch.testing.assert_close(image_values, values, rtol=1e-5, atol=1e-5)


def test_the_penalty_counts_on_every_path(build: Build) -> None:
    def free(penalty: float, fast: bool | None) -> float:
        model = build(fast=fast, policy_kwargs={"relax": "weights", "relax_penalty": penalty})
        model.learn(256)
        layers = model.policy.tied_layers()["actor"]  # type: ignore[operator]
        return float(sum(part.detach().square().sum() for layer in layers for part in layer.free()))

    for path in (None, False):
        assert free(100.0, path) < 0.5 * free(0.0, path)


def test_the_callers_settings_stay_as_they_are(build: Build, ant: SymmetryGroup) -> None:
    settings: dict[str, Any] = {"net_arch": [8]}
    build(policy_kwargs=settings)
    assert settings == {"net_arch": [8]}
