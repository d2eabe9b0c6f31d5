"""SAC's gradient step for plain MLPs on the CPU: `ambidex.learn.off_policy.update` without autograd.

The same samples, noise, losses and errors, and the same parameters up to rounding, tied or not. What differs
is where the time goes: passes are matrix products written out, Adam steps are fused, and through a critic the
actor's gradient goes back for those rows alone in which that critic is the least. Symmetry losses are left to
autograd.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.sac.policies import LOG_STD_MAX, LOG_STD_MIN, Actor, SACPolicy
from torch import Tensor, nn

from ambidex.learn.losses.gaussian import HALF_LOG_TWO_PI
from ambidex.learn.networks.actuated import canonical_kind
from ambidex.learn.off_policy.policy import EquivariantSACPolicy
from ambidex.learn.off_policy.update import Losses, refuse_non_finite
from ambidex.learn.update.fast.adam import InPlaceAdam, why_not_flat
from ambidex.learn.update.fast.mlp import FastMlp, forward
from ambidex.learn.update.fast.networks import DenseLayers
from ambidex.learn.update.fast.plain_mlp import ACTIVATIONS, Activation, Layer, dense, why_not_dense

if TYPE_CHECKING:
    from ambidex.learn.off_policy.sac import SymmetricSAC


def why_not_by_hand(model: SymmetricSAC) -> str | None:
    """Why these steps cannot serve the model, in words; None if they can."""
    policy = model.policy
    if model._has_losses:
        return "symmetry losses have no gradients by hand in SAC"
    if canonical_kind(policy) not in (SACPolicy, EquivariantSACPolicy):
        return f"the policy is a {type(policy).__name__}, not Stable-Baselines3's SACPolicy itself"
    if model.use_sde:
        return "the policy uses state-dependent exploration"
    if type(policy.actor.features_extractor) is not FlattenExtractor:
        return "the policy has a feature extractor of its own"
    optimizers = [policy.actor.optimizer, policy.critic.optimizer, model.ent_coef_optimizer]
    reasons = [why_not_flat(optimizer) for optimizer in optimizers if optimizer is not None]
    networks = [_modules_of_actor(policy.actor), *map(_modules_of, policy.critic.q_networks)]
    # Of their layers alone: a walk through all modules takes as long as a small gradient step.
    parameters = [one for network in networks for module in network for one in module.parameters()]
    learning = (policy.actor.optimizer, policy.critic.optimizer)
    if {one for optimizer in learning for one in optimizer.param_groups[0]["params"]} != set(parameters):
        reasons.append("the optimisers hold other parameters than those of the networks")
    reasons.append(why_not_dense(policy, networks, parameters))
    return next((reason for reason in reasons if reason is not None), None)


class Drawn(NamedTuple):
    """Actions of the squashed Gaussian, and what their gradient needs.

    :param inside: where the logarithm of the standard deviation was not clamped
    :param slopes: of tanh
    """

    actions: Tensor
    log_prob: Tensor
    noise: Tensor
    std: Tensor
    inside: Tensor
    slopes: Tensor


class GradientSteps:
    """The gradient steps of one call of `train`.

    :param model: one to which `why_not_by_hand` does not object
    :param rows: the size of a minibatch
    """

    def __init__(self, model: SymmetricSAC, rows: int) -> None:
        self._model = model
        self._actor = _Actor(model.actor, rows)
        self._critics = _Critics(model.critic, rows)
        self._temperature = None
        if model.ent_coef_optimizer is not None:
            self._temperature = InPlaceAdam(model.ent_coef_optimizer)

    @torch.no_grad()
    def __call__(self, sample: ReplayBufferSamples) -> Losses:
        """Temperature, critics and actor in turn; the targets of the critics follow elsewhere."""
        assert isinstance(sample.observations, Tensor) and isinstance(sample.next_observations, Tensor)
        observations = sample.observations.flatten(1).float()
        following = sample.next_observations.flatten(1).float()
        own_noise = torch.empty_like(sample.actions).normal_()
        next_noise = torch.empty_like(sample.actions).normal_()
        drawn = self._actor.draw(observations, own_noise)
        temperature, temperature_loss = self._step_temperature(drawn.log_prob)
        targets = self._targets(sample, self._actor.draw_only(following, next_noise), following, temperature)
        critic_loss = self._critics.descend(observations, sample.actions, targets)
        worth, slopes = self._critics.judge(observations, drawn.actions)
        actor_loss = float((temperature * drawn.log_prob - worth).mean())
        refuse_non_finite(actor_loss, "actor's")
        self._actor.descend(drawn, slopes, temperature)
        return Losses(actor_loss, critic_loss, temperature, temperature_loss, 0.0, 0.0)

    def _step_temperature(self, log_prob: Tensor) -> tuple[float, float | None]:
        """alpha as it was, and its loss after a step of its own."""
        model = self._model
        if self._temperature is None or model.log_ent_coef is None:
            return float(model.ent_coef_tensor), None
        assert isinstance(model.target_entropy, float)
        by_logarithm = -(log_prob + model.target_entropy).mean()
        logarithm = float(model.log_ent_coef)
        self._temperature.gradients[model.log_ent_coef].fill_(by_logarithm)
        self._temperature.step()
        return math.exp(logarithm), logarithm * float(by_logarithm)

    def _targets(
        self, sample: ReplayBufferSamples, drawn: Drawn, following: Tensor, temperature: float
    ) -> Tensor:
        """y = r + gamma (min Q-target(s', a') - alpha log pi(a' | s')), (B, 1)."""
        target = self._model.critic_target
        rows = torch.cat([following, drawn.actions], dim=1)
        values = [forward(dense(_layers(q)), _activation(q), rows) for q in target.q_networks]
        worth = torch.cat(values, dim=1).amin(dim=1) - temperature * drawn.log_prob
        discounts = self._model.gamma if sample.discounts is None else sample.discounts
        return (sample.rewards + (1 - sample.dones) * discounts * worth[:, None]).to(worth.dtype)


class _Actor:
    """Hidden layers with two heads, for the means and for the logarithms of the deviations, joined in one."""

    def __init__(self, actor: Actor, rows: int) -> None:
        self._adam = InPlaceAdam(actor.optimizer)  # type: ignore[arg-type]
        self._hidden = DenseLayers(_layers(actor.latent_pi), self._adam)
        self._heads = DenseLayers([*_layers(actor.mu), *_layers(cast(nn.Module, actor.log_std))], self._adam)
        weights, biases = zip(*self._heads.dense, strict=True)
        self._joined = torch.cat(weights), torch.cat(biases)
        self._by_joined = torch.empty_like(self._joined[0]), torch.empty_like(self._joined[1])
        self._activation = _activation(actor.latent_pi)
        self._layers = [*self._hidden.dense, self._joined]
        gradients = [*self._hidden.gradients, self._by_joined]
        self._mlp = FastMlp(self._layers, gradients, self._activation, rows)
        self._epsilon = actor.action_dist.epsilon

    def draw(self, observations: Tensor, noise: Tensor) -> Drawn:
        """Actions of which `descend` may take the gradient."""
        self._hidden.expand()
        self._heads.expand()
        for joined, parts in zip(self._joined, zip(*self._heads.dense, strict=True), strict=True):
            torch.cat(parts, out=joined)
        return self._squashed(self._mlp.forward(observations), noise)

    def draw_only(self, observations: Tensor, noise: Tensor) -> Drawn:
        """Actions of the same network as `draw` took."""
        return self._squashed(forward(self._layers, self._activation, observations), noise)

    def _squashed(self, outputs: Tensor, noise: Tensor) -> Drawn:
        means, raw = outputs.chunk(2, dim=1)
        log_std = raw.clamp(LOG_STD_MIN, LOG_STD_MAX)
        std = log_std.exp()
        actions = torch.tanh(means + std * noise)
        slopes = 1 - actions.square()
        terms = -0.5 * noise.square() - log_std - torch.log(slopes + self._epsilon)
        log_prob = terms.sum(dim=1) - HALF_LOG_TWO_PI * terms.shape[1]
        return Drawn(actions, log_prob, noise, std, log_std == raw, slopes)

    def descend(self, drawn: Drawn, by_actions: Tensor, temperature: float) -> None:
        """A step down alpha log pi - Q, the mean over the rows.

        :param by_actions: the derivatives of Q
        """
        size = len(by_actions)
        squash = 2 * temperature * drawn.actions / (drawn.slopes + self._epsilon)
        by_means = (squash - by_actions) * drawn.slopes / size
        by_log_std = (by_means * drawn.std * drawn.noise - temperature / size) * drawn.inside
        self._mlp.backward(torch.cat([by_means, by_log_std], dim=1))
        for joined, parts in zip(self._by_joined, zip(*self._heads.gradients, strict=True), strict=True):
            for gradient, part in zip(parts, joined.chunk(2), strict=True):
                gradient.copy_(part)
        self._hidden.fold()
        self._heads.fold()
        self._adam.step()


class _Critics:
    def __init__(self, critic: ContinuousCritic, rows: int) -> None:
        self._adam = InPlaceAdam(critic.optimizer)  # type: ignore[arg-type]
        self._layers = [DenseLayers(_layers(q), self._adam) for q in critic.q_networks]
        self._mlps = [
            FastMlp(layers.dense, layers.gradients, _activation(q), rows)
            for q, layers in zip(critic.q_networks, self._layers, strict=True)
        ]

    def descend(self, observations: Tensor, actions: Tensor, targets: Tensor) -> float:
        """A step down half the sum of the critics' mean squared errors; gives that loss."""
        errors = self._values(observations, actions) - targets
        loss = 0.5 * float(errors.square().mean(dim=0).sum())
        refuse_non_finite(loss, "critics'")
        for mlp, layers, error in zip(self._mlps, self._layers, errors.t(), strict=True):
            mlp.backward(error[:, None] / len(errors))
            layers.fold()
        self._adam.step()
        return loss

    def judge(self, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The least Q of each row, and its derivatives by the actions."""
        values = self._values(observations, actions)
        worth, least = values.min(dim=1)
        slopes = torch.empty_like(actions)
        ones = values.new_ones(len(values), 1)
        columns = slice(observations.shape[1], None)
        for index, mlp in enumerate(self._mlps):
            rows = (least == index).nonzero().flatten()
            slopes.index_copy_(0, rows, mlp.backward_to_inputs(ones, columns, rows))
        return worth, slopes

    def _values(self, observations: Tensor, actions: Tensor) -> Tensor:
        for layers in self._layers:
            layers.expand()
        rows = torch.cat([observations, actions], dim=1)
        return torch.cat([mlp.forward(rows) for mlp in self._mlps], dim=1)


def _modules_of_actor(actor: Actor) -> list[nn.Module]:
    parts = (actor.latent_pi, actor.mu, cast(nn.Module, actor.log_std))
    return [module for part in parts for module in _modules_of(part)]


def _modules_of(network: nn.Module) -> list[nn.Module]:
    return list(network) if isinstance(network, nn.Sequential) else [network]


def _layers(network: nn.Module) -> list[Layer]:
    return [module for module in _modules_of(network) if isinstance(module, Layer)]


def _activation(network: nn.Module) -> Activation:
    between = [module for module in _modules_of(network) if not isinstance(module, Layer)]
    return ACTIVATIONS[type(between[0])] if between else "relu"
