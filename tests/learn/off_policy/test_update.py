"""A gradient step with symmetry losses beside a slow, obvious loop over samples, transforms and actions."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from ambidex.learn import ASL, MSL, SymmetricSAC, TransitionFit
from ambidex.learn.off_policy.update import gradient_step
from ambidex.symmetry import Symmetry, SymmetryGroup, load
from tests.learn.networks.groups import skewed
from tests.learn.off_policy.test_equivariant import small_world

RATE = 0.01


def model_of(world: Any, group: SymmetryGroup, ends: Any = 1.0, **kwargs: Any) -> SymmetricSAC:
    """With plain gradient descent, so that parameters tell the gradient, and a filled replay."""
    model = SymmetricSAC(
        "MlpPolicy",
        small_world(world, group, ends),
        symmetries=group,
        learning_rate=RATE,
        buffer_size=200,
        learning_starts=1000,
        fit_interval=100,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [16], "optimizer_class": torch.optim.SGD},
        **kwargs,
    )
    model.learn(60)
    assert model._preparation is not None and model.replay_buffer is not None
    model._preparation.watch(model.policy, model.replay_buffer, None, 50)
    return model


def slow_step(model: SymmetricSAC, sample: ReplayBufferSamples, group: SymmetryGroup) -> dict[str, Any]:
    """SAC with the symmetry losses, one number at a time; gives the parameters after it."""
    actor, critic = model.actor, model.critic
    high = torch.as_tensor(model.action_space.high)
    actions, log_prob = actor.action_log_prob(sample.observations)
    alpha = model.log_ent_coef.detach().exp()  # type: ignore[union-attr]
    with torch.no_grad():
        following, following_log_prob = actor.action_log_prob(sample.next_observations)
        worth = torch.stack(model.critic_target(sample.next_observations, following)).min(dim=0).values[:, 0]
        y = sample.rewards[:, 0] + (1 - sample.dones[:, 0]) * model.gamma * (
            worth - alpha * following_log_prob
        )

    def mean_of(state: torch.Tensor) -> torch.Tensor:
        return actor.get_action_dist_params(state[None])[0][0]

    def worth_of(state: torch.Tensor) -> float:
        with torch.no_grad():
            return float(min(critic(state[None], torch.tanh(mean_of(state))[None])))

    critic_loss: Any = 0.0
    policy_loss: Any = 0.0
    opened = []
    size = len(sample.actions)
    for b, state in enumerate(sample.observations):
        for q in critic(state[None], sample.actions[b][None]):
            critic_loss = critic_loss + 0.5 * (q[0, 0] - y[b]) ** 2 / size
        for transform in group:
            loss = model.loss
            assert isinstance(loss, MSL | ASL)
            image = transform.observation(state)
            gate = 1.0
            if isinstance(loss, ASL):
                window = model._preparation.states[ASL]._window  # type: ignore[union-attr, attr-defined]
                seen = np.concatenate(window._batches)
                spread = np.abs(seen - seen.mean(axis=0)).mean(axis=0)
                gap = float(np.mean(np.abs(state.numpy() - image.numpy()) / spread))
                here, there = worth_of(state), worth_of(image)
                most = loss.value_gate * here if here >= 0 else here / loss.value_gate  # type: ignore[operator]
                gate = float(gap > loss.dead_zone and most > there)  # type: ignore[operator]
            opened.append(gate)
            turn = mapping(model, transform)
            turned = turn(sample.actions[b] * high) / high
            if model.actuators is None:
                turned = turned.clamp(-1, 1)
            for q in critic(image[None], turned[None]):
                critic_loss = critic_loss + gate * loss.value_weight * (q[0, 0] - y[b]) ** 2 / size
            target = unsquashed(turn, mean_of(state), high, transform)
            mean = mean_of(image)
            if isinstance(loss, MSL):
                term = ((target - mean) ** 2).mean()
            else:
                log_std = actor.get_action_dist_params(image[None])[1][0].detach()
                shift = loss.max_shift * log_std.exp() * math.sqrt(2 * math.log(1.2) / len(mean))
                now = mean.detach()
                aim = torch.minimum(torch.maximum(target.detach(), now - shift), now + shift)
                trust = model.action_maps()[transform.name].weights
                exponent = 0.0
                for i in range(len(mean)):
                    precision = float(trust[i]) / (2 * math.exp(2 * float(log_std[i])))
                    exponent = exponent + precision * ((aim[i] - now[i]) ** 2 - (aim[i] - mean[i]) ** 2)
                term = -torch.exp(exponent)  # type: ignore[arg-type]
            policy_loss = policy_loss + gate * loss.policy_weight * term / size
    descend(critic, critic_loss)
    least = torch.stack(critic(sample.observations, actions)).min(dim=0).values[:, 0]
    descend(actor, (alpha * log_prob - least).mean() + policy_loss)
    return {"policy": model.policy.state_dict(), "policy_loss": policy_loss.item(), "opened": opened}


def mapping(model: SymmetricSAC, transform: Symmetry) -> Any:
    """g-hat where the loss fits it."""
    if isinstance(model.loss, ASL) and model.loss.fit is not None:
        found = model.action_maps()[transform.name]
        return lambda a: torch.tensor(found.multipliers).float() * a[found.indices.copy()]
    return transform.action


def unsquashed(turn: Any, mean: torch.Tensor, high: torch.Tensor, transform: Symmetry) -> torch.Tensor:
    """The image of a mean: as the action that it becomes; itself where nothing but a sign changes."""
    squashed = torch.atanh((turn(torch.tanh(mean) * high) / high).clamp(-0.99, 0.99))
    size = torch.abs(turn(torch.ones_like(mean) * high)) / high
    return torch.where(torch.isclose(size, torch.ones(())), turn(mean * high) / high, squashed)


def descend(network: Any, loss: torch.Tensor) -> None:
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    with torch.no_grad():
        for parameter, gradient in zip(network.parameters(), gradients, strict=True):
            parameter -= RATE * gradient


def compare(model: SymmetricSAC, group: SymmetryGroup, sample: Any = None) -> dict[str, Any]:
    assert model.replay_buffer is not None
    sample = sample or model.replay_buffer.sample(12)
    other = copy.deepcopy(model.policy)
    torch.manual_seed(3)
    losses = gradient_step(model, sample)
    ours = copy.deepcopy(model.policy.state_dict())
    model.policy.load_state_dict(other.state_dict())
    model.log_ent_coef.data.zero_()  # type: ignore[union-attr]
    torch.manual_seed(3)
    slow = slow_step(model, sample, group)
    assert losses.symmetry_policy == pytest.approx(slow["policy_loss"], rel=1e-4)
    moved = 0.0
    for name, parameter in slow["policy"].items():
        moved = max(moved, float((parameter - other.state_dict()[name]).abs().max()))
        torch.testing.assert_close(ours[name], parameter, atol=2e-6, rtol=1e-4)
    assert moved > 1e-3
    return slow


@pytest.mark.parametrize("name", ["ant", "triangle"])
def test_mirror_loss(name: str, world: Any) -> None:
    group = load(name)
    compare(model_of(world, group, loss=MSL(policy_weight=2.0, value_weight=0.7)), group)


def test_mirror_loss_with_unlike_ranges(world: Any) -> None:
    """Then the map of means is not that of actions; some images are at the end of their range."""
    group = skewed()
    compare(model_of(world, group, [1.0, 1.5, 3.0], loss=MSL(policy_weight=2.0)), group)


@pytest.mark.parametrize("name", ["ant", "triangle"])
def test_adaptive_loss(name: str, world: Any) -> None:
    group = load(name)
    loss = ASL(policy_weight=0.5, value_weight=0.7, dead_zone=1.3, value_gate=1.2, fit=None)
    opened = compare(model_of(world, group, loss=loss), group)["opened"]
    assert 0 < sum(opened) < len(opened)


def test_adaptive_loss_with_fitted_maps(world: Any) -> None:
    group = load("triangle")
    loss = ASL(policy_weight=0.5, dead_zone=0.0, value_gate=1000.0, fit=TransitionFit())
    model = model_of(world, group, loss=loss)
    fit = model._preparation.states[ASL].fit  # type: ignore[union-attr, attr-defined]
    fit.log_scale = np.log([1.0, 1.6, 0.5])
    fit.half_widths = np.full((2, 3), 0.2)  # which the map is trusted less for
    model._preparation._fitted = None  # type: ignore[union-attr]
    with torch.no_grad():  # so that some targets are beyond their range
        model.actor.mu.bias += 0.7  # type: ignore[union-attr, operator]
    compare(model, group)


def test_drawn_transforms_have_the_same_expectation(world: Any) -> None:
    """All drawn singly, averaged, are all at once."""
    group = load("ant")
    model = model_of(world, group, loss=MSL())
    preparation = model._preparation
    assert preparation is not None and model.replay_buffer is not None
    sample = model.replay_buffer.sample(5)

    def policy_loss(drawn: list[int]) -> torch.Tensor:
        observations: Any = preparation.images(sample.observations, drawn)
        means, log_std, _ = model.actor.get_action_dist_params(observations.flatten(0, 1))
        means, log_std = means.view(5, 1 + len(drawn), 8), log_std.view(5, 1 + len(drawn), 8)
        step = preparation.step(observations, drawn, means, log_std, 0.2)
        return step.policy_terms(means, log_std).sum(dim=1).mean()

    single = torch.stack([policy_loss([j]) for j in range(7)]).mean()
    torch.testing.assert_close(single, policy_loss(list(range(7))))
    few = SymmetricSAC(
        "MlpPolicy", small_world(world, group), symmetries=group, loss=MSL(), symmetry_samples=2, device="cpu"
    )
    drawn = {tuple(few._preparation.draw()) for _ in range(60)}  # type: ignore[union-attr]
    assert all(len(set(two)) == 2 for two in drawn) and len(drawn) > 10


def test_the_shift_aims_no_farther_than_its_divergence(world: Any) -> None:
    """KL of the policy aimed at from the present one: max_shift^2 log(1 + epsilon), where all is clipped."""
    group = load("ant")
    model = model_of(world, group, loss=ASL(max_shift=0.5, dead_zone=0.0, value_gate=None, fit=None))
    sample = model.replay_buffer.sample(4)  # type: ignore[union-attr]
    observations: Any = model._preparation.images(sample.observations, [0])  # type: ignore[union-attr]
    means, log_std, _ = model.actor.get_action_dist_params(observations.flatten(0, 1))
    means, log_std = means.view(4, 2, 8), log_std.view(4, 2, 8)
    step = model._preparation.step(observations, [0], means + 100, log_std, 0.3)  # type: ignore[union-attr]
    (constants,) = step.losses
    sigma = log_std[:, 1].exp()
    divergence = ((constants.upper - constants.symmetric_means)[:, 0] / sigma).square().sum(dim=1) / 2  # type: ignore[attr-defined]
    torch.testing.assert_close(divergence, torch.full((4,), 0.25 * math.log(1.3)), atol=1e-3, rtol=1e-3)
