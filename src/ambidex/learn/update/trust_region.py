"""TRPO's update with symmetry losses: a natural gradient step within a trust region, then the critic's steps.

The actor ascends

    J = mean of A pi(a | s) / pi_old(a | s)
        - sum over the K images of the mean over the states of [policy_weight * L_pi] * gate

along ``H^-1 grad J``, H the curvature of the KL divergence (its mean over the states of the roll-out and the
action elements, as sb3-contrib has it), and goes back on that line until J has grown and the divergence is
below ``target_kl``: the bound holds whatever the losses weigh. H knows nothing of a symmetry loss, whose
valley may be far narrower than the trust region; where sb3-contrib would give up, the line is searched on
toward the top of a parabola. The critic, whose steps come after the
actor's, descends on

    (V(s) - V_targ)^2 + sum over the K images of value_weight * (V(f(s)) - V_targ)^2 * gate
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.utils import conjugate_gradient_solver
from stable_baselines3.common.distributions import Distribution, kl_divergence
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn import Parameter, functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ambidex.common.arrays import each_part
from ambidex.learn.losses.constants import Observations
from ambidex.learn.update.forward import action_outputs, actor_latent, critic_values, flatten_rows
from ambidex.learn.update.iteration import Iteration, NonFiniteLoss
from ambidex.learn.update.minibatch import Minibatch, draw_epoch, minibatches
from ambidex.learn.update.rollout_data import only_images
from ambidex.learn.update.symmetry_terms import (
    GateLog,
    gate_of,
    relaxation_penalty,
    symmetry_policy_terms,
    symmetry_value_terms,
)

if TYPE_CHECKING:
    from ambidex.learn.trpo import SymmetricTRPO


@dataclass
class TrustRegionStatistics:
    """What an update reports.

    :param objective: J after the step; before it where no step was taken
    :param kl: between the policies before and after
    :param succeeded: whether the line search found a step
    :param value_loss: of the samples, the mean over the critic's minibatches
    :param symmetry_policy_loss: the weighted policy terms of all transforms, as they enter J
    :param symmetry_value_loss: the same for the critic's terms
    :param value_gate_ratio: (N,) the share of each transform's samples that the value gate blocked
    """

    objective: float
    kl: float
    succeeded: bool
    value_loss: float
    symmetry_policy_loss: float
    symmetry_value_loss: float
    value_gate_ratio: npt.NDArray[np.float64]


def update(model: SymmetricTRPO, iteration: Iteration) -> TrustRegionStatistics:
    """One step of the actor, then those of the critic."""
    gates = GateLog(len(iteration.names), iteration.returns.device)
    actor = _Actor(model, iteration, gates)
    before = actor.evaluate()
    actor.refuse_non_finite(before)
    after, parameters = _step(model, actor, before)
    value_loss, symmetry_value_loss = _critic_steps(model, iteration, parameters, gates)
    reached = before if after is None else after
    return TrustRegionStatistics(
        objective=reached.objective.item(),
        kl=0.0 if after is None else actor.divergence(after).item(),
        succeeded=after is not None,
        value_loss=value_loss,
        symmetry_policy_loss=reached.symmetry.item(),
        symmetry_value_loss=symmetry_value_loss,
        value_gate_ratio=gates.ratio(),
    )


@dataclass(frozen=True)
class _Evaluation:
    """What the policy is worth at some parameters."""

    objective: Tensor
    symmetry: Tensor
    distribution: Distribution


class _Actor:
    """J as a function of the policy as it is, for one draw of images; the critic's gates stand still."""

    def __init__(self, model: SymmetricTRPO, iteration: Iteration, gates: GateLog) -> None:
        self.policy = model.policy
        self.iteration = iteration
        every = draw_epoch(iteration)
        span = slice(None, None, model.sub_sampling_factor)
        self.minibatch = Minibatch(every.rows[span], None if every.images is None else every.images[span])
        rows = self.minibatch.rows
        self.actions = iteration.actions[rows]
        self.old_log_probs = iteration.old_log_probs[rows]
        advantages = iteration.advantages[rows]
        if model.normalize_advantage:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        self.advantages = advantages
        stacked = self.minibatch.observations(iteration.observations)
        # Apart, since the curvature is that of the states alone.
        self.states: Observations = each_part(lambda part: part[:, 0], stacked)
        self.images = flatten_rows(only_images(stacked)) if iteration.names else None
        self.gate: Tensor | float = 1.0
        with torch.no_grad():
            if iteration.gates is not None:
                values = critic_values(self.policy, flatten_rows(stacked)).view(len(rows), -1)
                self.gate, blocked = gate_of(iteration, self.minibatch, values)
                gates.add(blocked, self.minibatch)
            self.old = copy.copy(self._distribution(actor_latent(self.policy, self.states)))

    def evaluate(self) -> _Evaluation:
        latent = actor_latent(self.policy, self.states)
        distribution = copy.copy(self._distribution(latent))
        ratio = torch.exp(distribution.log_prob(self.actions) - self.old_log_probs)
        surrogate = (self.advantages * ratio).mean()
        symmetry = self._symmetry(latent)
        objective = surrogate - symmetry - relaxation_penalty(self.policy)
        return _Evaluation(objective, symmetry, distribution)

    def divergence(self, evaluation: _Evaluation) -> Tensor:
        """The KL divergence from the policy of the roll-out, its mean over states and action elements."""
        return kl_divergence(evaluation.distribution, self.old).mean()

    def refuse_non_finite(self, evaluation: _Evaluation) -> None:
        for name, value in (("symmetry", evaluation.symmetry), ("objective", evaluation.objective)):
            if not torch.isfinite(value):
                raise NonFiniteLoss(f"TRPO's {name} is not finite; the parameters were left as they are")

    def _distribution(self, latent: Tensor) -> Distribution:
        return self.policy._get_action_dist_from_latent(latent)

    def _symmetry(self, latent: Tensor) -> Tensor:
        if self.images is None:
            return latent.new_zeros(())
        outputs = action_outputs(self.policy, latent)
        images = action_outputs(self.policy, actor_latent(self.policy, self.images))
        stacked = torch.cat([outputs[:, None], images.view(len(outputs), -1, outputs.shape[1])], dim=1)
        log_std = getattr(self.policy, "log_std", None)
        terms = symmetry_policy_terms(self.iteration, self.minibatch, stacked, log_std, self.advantages)
        return (terms * self.gate).sum(dim=1).mean()


def _step(
    model: SymmetricTRPO, actor: _Actor, before: _Evaluation
) -> tuple[_Evaluation | None, list[Parameter]]:
    """Move the actor; None, and the policy as it was, where no step improves it within the trust region."""
    model.policy.optimizer.zero_grad()
    everything = list(model.policy.parameters())
    slopes = torch.autograd.grad(
        actor.divergence(before), everything, create_graph=True, allow_unused=True, materialize_grads=False
    )
    parameters = [own for own, slope in zip(everything, slopes, strict=True) if slope is not None]
    kl_slope = torch.cat([slope.flatten() for slope in slopes if slope is not None])
    ascent = _flat(torch.autograd.grad(before.objective, parameters, retain_graph=True))
    if not torch.isfinite(ascent).all():
        raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")

    def curvature(vector: Tensor) -> Tensor:
        product = torch.autograd.grad((kl_slope * vector).sum(), parameters, retain_graph=True)
        return _flat(product) + model.cg_damping * vector

    direction = conjugate_gradient_solver(curvature, ascent, max_iter=model.cg_max_steps)
    bend = float(direction @ curvature(direction))
    if not bend > 0:  # there is nowhere to go
        return None, parameters
    # KL = x^T H x / 2 is target_kl at this multiple of the direction.
    longest = math.sqrt(2 * model.target_kl / bend) * direction
    slope = float(ascent @ longest)
    return _line_search(model, actor, before, parameters, longest, slope), parameters


@torch.no_grad()
def _line_search(
    model: SymmetricTRPO,
    actor: _Actor,
    before: _Evaluation,
    parameters: list[Parameter],
    longest: Tensor,
    slope: float,
) -> _Evaluation | None:
    """sb3-contrib's tries, and where there are images as many more.

    :param slope: of J along ``longest``, at the start
    """
    start = parameters_to_vector(parameters)
    share = 1.0
    tries = model.line_search_max_iter
    for number in range(tries if actor.images is None else 2 * tries):
        vector_to_parameters(start + share * longest, parameters)
        after = actor.evaluate()
        if actor.divergence(after) < model.target_kl and after.objective > before.objective:
            return after
        shrunk = model.line_search_shrinking_factor * share
        if number + 1 < tries:
            share = shrunk
        else:
            share = min(shrunk, _top(slope, float(after.objective - before.objective), share))
    vector_to_parameters(start, parameters)
    return None


def _top(slope: float, gain: float, share: float) -> float:
    """Where a parabola that begins with ``slope``, and has ``gain`` at ``share``, is highest.

    No nearer than a tenth of the share, since J is no parabola.
    """
    bend = 2 * (slope * share - gain) / share**2
    return max(slope / bend, share / 10) if bend > 0 else share


def _flat(gradients: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([gradient.flatten() for gradient in gradients])


def _critic_steps(
    model: SymmetricTRPO, iteration: Iteration, actor: list[Parameter], gates: GateLog
) -> tuple[float, float]:
    """:return: the mean over the minibatches of the loss of the samples, and of the images' weighted one"""
    policy, optimizer = model.policy, model.policy.optimizer
    losses = []
    for _ in range(model.n_critic_updates):
        for _, minibatch in minibatches(draw_epoch(iteration), model.batch_size):
            loss, symmetry = critic_losses(policy, iteration, minibatch, gates)
            total = loss + symmetry + relaxation_penalty(policy)
            if not torch.isfinite(total):
                raise NonFiniteLoss("the critic's loss is not finite; its parameters were left as they are")
            losses.append(torch.stack([loss, symmetry]).detach())
            optimizer.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            for parameter in actor:  # what actor and critic share stays within the trust region
                parameter.grad = None
            optimizer.step()
    if not losses:
        return math.nan, math.nan
    value_loss, symmetry_value_loss = torch.stack(losses).double().mean(dim=0).tolist()
    return value_loss, symmetry_value_loss


def critic_losses(
    policy: ActorCriticPolicy, iteration: Iteration, minibatch: Minibatch, gates: GateLog | None = None
) -> tuple[Tensor, Tensor]:
    """The squared error of the samples' values, and the weighted and gated one of their images."""
    stacked = minibatch.observations(iteration.observations)
    values = critic_values(policy, flatten_rows(stacked)).view(len(minibatch.rows), -1)
    loss = functional.mse_loss(iteration.returns[minibatch.rows], values[:, 0])
    if not iteration.names:
        return loss, loss.new_zeros(())
    gate, blocked = gate_of(iteration, minibatch, values)
    if gates is not None:
        gates.add(blocked, minibatch)
    terms = symmetry_value_terms(iteration, minibatch, values) * gate
    return loss, terms.sum(dim=1).mean()
