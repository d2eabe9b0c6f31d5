"""Clip ranges as narrow as the rounding of a log-probability: where both updates agree, and why not further.

In single precision log pi(a | s) of eight actions is known to about 1e-6. At such a clip range rounding thus
decides which samples are clipped, and the two updates, which round differently, may decide otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.learn import PSL, Augmentation, SymmetricPPO
from ambidex.learn.losses.surrogate import clipped_surrogate
from ambidex.learn.update import autograd as generic
from ambidex.learn.update.fast import update as fast
from ambidex.symmetry import SymmetryGroup

CLIP = 1e-6
LOSSES: dict[str, Any] = {"none": None, "PSL": PSL(policy_weight=0.4), "augmentation": Augmentation()}


@pytest.mark.parametrize("clip_range", [1e-7, 1e-6, 1e-4, 0.2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_slope_by_hand_is_autograds_at_every_sample(clip_range: float, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    log_ratio = 2 * clip_range * torch.randn(100_000, generator=generator, dtype=dtype)
    advantages = torch.randn(100_000, generator=generator, dtype=dtype)
    log_ratio.requires_grad_()
    ratio = torch.exp(log_ratio)
    kept = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    loss = -torch.min(advantages * ratio, advantages * kept)  # as Stable-Baselines3 writes it
    (expected,) = torch.autograd.grad(loss.sum(), log_ratio)
    _, slope = clipped_surrogate(log_ratio.detach(), advantages, clip_range)
    torch.testing.assert_close(slope, expected, rtol=1e-6, atol=0)


@pytest.fixture
def difference(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any]
) -> Callable[..., tuple[float, float, SymmetricPPO]]:
    """How far the two updates end apart, how far the policy moved, and the model before it."""

    def measure(loss: Any, *, double: bool) -> tuple[float, float, SymmetricPPO]:
        model = SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([lambda: make_world(28, 8)] * 2),
            symmetries=None if loss is None else ant,
            loss=loss,
            seed=0,
            device="cpu",
            fast=True,
            n_steps=128,
            n_epochs=4,
            learning_rate=3e-5,
            policy_kwargs={"net_arch": [24, 16]},
        )
        if double:
            model.policy.double()
        _, callback = model._setup_learn(10_000)
        assert model.env is not None and model._preparation is not None
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        ends = []
        for how in (fast.update, generic.update):
            trained = copy.deepcopy(model)
            assert trained._preparation is not None
            iteration = trained._preparation.prepare(trained.policy, trained.rollout_buffer, CLIP, None)
            np.random.seed(11)  # noqa: NPY002, Stable-Baselines3 draws from the global generator
            how(trained, iteration)
            ends.append(torch.cat([p.detach().flatten() for p in trained.policy.parameters()]))
        before = torch.cat([p.detach().flatten() for p in model.policy.parameters()])
        return float((ends[0] - ends[1]).abs().max()), float((ends[0] - before).abs().max()), model

    return measure


@pytest.mark.parametrize("name", LOSSES)
def test_without_rounding_both_updates_agree(name: str, difference: Callable[..., Any]) -> None:
    apart, moved, _ = difference(LOSSES[name], double=True)
    assert moved > 1e-4
    assert apart < 1e-12


def test_rounding_alone_is_as_wide_as_the_clip_range(difference: Callable[..., Any]) -> None:
    """So what single precision tells apart less far than it moves is all that can be had."""
    apart, moved, model = difference(None, double=False)
    assert apart < moved
    buffer = model.rollout_buffer
    observations, actions = (
        torch.as_tensor(part).flatten(0, 1) for part in (buffer.observations, buffer.actions)
    )
    exactly = copy.deepcopy(model.policy).double()
    with torch.no_grad():
        single = model.policy.evaluate_actions(observations, actions)[1]
        means = exactly.action_net(exactly.mlp_extractor.forward_actor(observations.double()))
        normal = torch.distributions.Normal(means, exactly.log_std.exp())
        exact = normal.log_prob(actions.double()).sum(dim=1)
    rounding = (single - exact).abs().max().item()
    assert CLIP / 10 < rounding < 10 * CLIP
