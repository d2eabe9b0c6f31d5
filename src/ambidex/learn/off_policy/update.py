"""One gradient step of SAC with symmetry: stack, forward, losses, step.

For a minibatch of B transitions and K images of each, beside SAC's own losses,

    critics: sum over the K images of the mean over the B transitions of
             value_weight * gate * sum over the critics of (Q(f(s), g(a)) - y)^2
    actor:   the same of policy_weight * gate * L_pi

with the target y of the sample itself. MSL and ASL act on the mean before squashing. The gate is that of the
state; the worth of a state is the least Q of its action without noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from stable_baselines3.common.distributions import SquashedDiagGaussianDistribution
from stable_baselines3.common.policies import BaseModel
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from torch import Tensor, nn

from ambidex.common.arrays import each_part
from ambidex.learn.losses.constants import Observations
from ambidex.learn.off_policy.answers import worths
from ambidex.learn.off_policy.policy import expanded
from ambidex.learn.off_policy.preparation import Step
from ambidex.learn.update.forward import flatten_rows, leading_shape
from ambidex.learn.update.iteration import NonFiniteLoss

if TYPE_CHECKING:
    from ambidex.learn.off_policy.sac import SymmetricSAC


@dataclass(frozen=True)
class Losses:
    """Of one gradient step; those of the symmetry are weighted and gated.

    :param temperature: alpha, before its own step
    :param temperature_loss: None where alpha is given
    """

    actor: float
    critic: float
    temperature: float
    temperature_loss: float | None
    symmetry_policy: float
    symmetry_value: float


def gradient_step(model: SymmetricSAC, sample: ReplayBufferSamples) -> Losses:
    """Temperature, critics and actor in turn, as SAC does; the targets of the critics follow elsewhere."""
    preparation = model._preparation if model._has_losses else None
    drawn = preparation.draw() if preparation is not None else []
    observations = _unstacked(sample.observations)
    if preparation is not None:
        observations = preparation.images(sample.observations, drawn)
    with expanded(model.actor):
        means, log_std = _means(model, observations)
        squashed = model.actor.action_dist
        assert isinstance(squashed, SquashedDiagGaussianDistribution)
        actions, log_prob = squashed.log_prob_from_params(means[:, 0], log_std[:, 0])
        temperature, temperature_loss = _step_temperature(model, log_prob)
        targets = _targets(model, sample, temperature)
    step = None
    if preparation is not None:
        step = preparation.step(observations, drawn, means, log_std, model.symmetry_clip_range)
    with expanded(model.critic):
        gate = _gate(model, step, means)
        own_loss, symmetric_loss = critic_losses(model, sample, targets, step, gate)
        _descend(model.critic, own_loss + symmetric_loss, "critics'")
    with _frozen(model.critic, model.actor), expanded(model.critic):
        worth = torch.cat(model.critic(sample.observations, actions), dim=1).amin(dim=1)
        actor_loss = (temperature * log_prob - worth).mean()
        policy_loss = actor_loss.new_zeros(())
        if step is not None:
            policy_loss = (step.policy_terms(means, log_std) * gate).sum(dim=1).mean()
        _descend(model.actor, actor_loss + policy_loss, "actor's")
    return Losses(
        actor_loss.item(),
        own_loss.item(),
        temperature.item(),
        temperature_loss,
        policy_loss.item(),
        symmetric_loss.item(),
    )


def critic_losses(
    model: SymmetricSAC,
    sample: ReplayBufferSamples,
    targets: Tensor,
    step: Step | None,
    gate: Tensor | float,
) -> tuple[Tensor, Tensor]:
    """SAC's own, and the weighted one of the images, which learn the target of the sample itself."""
    if step is None:
        values = torch.cat(model.critic(sample.observations, sample.actions), dim=1)
        return 0.5 * (values - targets).square().mean(dim=0).sum(), values.new_zeros(())
    size = len(sample.actions)
    actions = torch.cat([sample.actions[:, None], step.maps.of_actions(sample.actions, step.drawn)], dim=1)
    values = torch.cat(model.critic(flatten_rows(step.observations), actions.flatten(0, 1)), dim=1)
    squares = (values.view(size, -1, values.shape[-1]) - targets[:, None]).square()
    own = 0.5 * squares[:, 0].mean(dim=0).sum()
    terms = step.value_weights * squares[:, 1:].sum(dim=-1) * gate
    return own, terms.sum(dim=1).mean()


def _means(model: SymmetricSAC, observations: Observations) -> tuple[Tensor, Tensor]:
    """(B, 1 + K, n) each: the means before squashing and the logarithms of the standard deviations."""
    means, log_std, _ = model.actor.get_action_dist_params(flatten_rows(observations))
    shape = (*leading_shape(observations), -1)
    return means.view(shape), log_std.view(shape)


def _gate(model: SymmetricSAC, step: Step | None, means: Tensor) -> Tensor | float:
    if step is None or step.gates is None:
        return 1.0
    if step.gates.always.all():
        return step.gates.dead_zone
    values = worths(model.policy, step.observations, means)
    return step.gates.dead_zone * step.gates.opened(values[:, :1], values[:, 1:])


def _step_temperature(model: SymmetricSAC, log_prob: Tensor) -> tuple[Tensor, float | None]:
    """alpha as it was, and its loss after a step of its own."""
    if model.ent_coef_optimizer is None or model.log_ent_coef is None:
        return model.ent_coef_tensor, None
    temperature = torch.exp(model.log_ent_coef.detach())
    assert isinstance(model.target_entropy, float)
    loss = -(model.log_ent_coef * (log_prob + model.target_entropy).detach()).mean()
    model.ent_coef_optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    model.ent_coef_optimizer.step()
    return temperature, loss.item()


@torch.no_grad()
def _targets(model: SymmetricSAC, sample: ReplayBufferSamples, temperature: Tensor) -> Tensor:
    """y = r + gamma (min Q-target(s', a') - alpha log pi(a' | s')), (B, 1)."""
    actions, log_prob = model.actor.action_log_prob(sample.next_observations)
    worth = torch.cat(model.critic_target(sample.next_observations, actions), dim=1).amin(dim=1)
    discounts = model.gamma if sample.discounts is None else sample.discounts
    following = (worth - temperature * log_prob)[:, None]
    return sample.rewards + (1 - sample.dones) * discounts * following


def _descend(network: BaseModel, loss: Tensor, whose: str) -> None:
    refuse_non_finite(loss.item(), whose)
    network.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    network.optimizer.step()


def refuse_non_finite(loss: float, whose: str) -> None:
    if not math.isfinite(loss):
        raise NonFiniteLoss(f"the {whose} loss is not finite; the parameters were left as they are")


@contextmanager
def _frozen(critic: nn.Module, actor: nn.Module) -> Iterator[None]:
    """No gradient by the critic's parameters: the actor's loss passes through them, and only that.

    Features that both share learn from the actor.
    """
    shared = set(actor.parameters())
    own = [one for one in critic.parameters() if one.requires_grad and one not in shared]
    for one in own:
        one.requires_grad_(False)
    try:
        yield
    finally:
        for one in own:
            one.requires_grad_(True)


def _unstacked(observations: Observations) -> Observations:
    """(B, o) as (B, 1, o)."""
    stacked: Observations = each_part(lambda part: part[:, None], observations)
    return stacked
