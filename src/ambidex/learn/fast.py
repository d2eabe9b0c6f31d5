"""The update for plain MLP policies on the CPU: `ambidex.learn.generic` without autograd.

The same minibatches, terms, log and errors as the generic update, and the same parameters up to rounding.
What differs is where the time goes: the constants of an epoch are gathered once, the networks' passes are
written out as matrix products into standing buffers, and all gradients lie in one flat buffer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from torch import Tensor

from ambidex.learn import fast_losses, losses
from ambidex.learn.fast_log import FastLog, SampleTerms
from ambidex.learn.fast_mlp import FastMlp
from ambidex.learn.flat_adam import FlatAdam, flattened, why_not_flat
from ambidex.learn.gates import value_gate
from ambidex.learn.generic import Minibatch, refuse_non_finite
from ambidex.learn.plain_mlp import PlainMlp, why_not_plain
from ambidex.learn.prepared import NonFiniteLoss, Prepared, Statistics, draw_epoch

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


def supports(model: SymmetricPPO) -> str | None:
    """Why the fast update and roll-out cannot serve this model, in words; None if they can."""
    if type(model.rollout_buffer) is not RolloutBuffer:
        return f"the roll-out buffer is a {type(model.rollout_buffer).__name__}, not a RolloutBuffer"
    return why_not_plain(model.policy) or why_not_flat(model.policy.optimizer)


@torch.no_grad()
def update(model: SymmetricPPO, prepared: Prepared) -> Statistics:
    """All epochs of one iteration; see `ambidex.learn.prepared` for what it computes."""
    log = FastLog(prepared, model.ent_coef, model.vf_coef)
    with flattened(model.policy.optimizer) as adam:  # type: ignore[arg-type]
        networks = Networks(model, prepared, adam)
        for _ in range(model.n_epochs):
            for part in epoch(prepared, model.batch_size, model.normalize_advantage):
                terms = networks.gradients(part)
                log.add(terms, part.drawn)
                norm = adam.gradient_norm()
                if not math.isfinite(norm):
                    if not torch.isfinite(networks.loss(terms)):
                        refuse_non_finite(terms.means(), part.drawn, prepared)
                    raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")
                if model.target_kl is not None and terms.approx_kl() > 1.5 * model.target_kl:
                    log.end_epoch()
                    return log.statistics(stopped=True)
                adam.step(norm, model.max_grad_norm)
            log.end_epoch()
    return log.statistics(stopped=False)


@dataclass(frozen=True)
class Part:
    """A minibatch of an epoch whose constants lie in the order of that epoch.

    :param constants: of the epoch: of its T states in order, with the K images that each takes along
    :param span: the B states of this minibatch
    :param drawn: which states and images these are
    """

    constants: Prepared
    span: slice
    drawn: Minibatch

    def samples(self, constants: Tensor) -> Tensor:
        """(T, ...) as (B, ...)."""
        return constants[self.span]

    def transforms(self, constants: Tensor) -> Tensor:
        """(N, ...), or (T, K, ...) where images are drawn, in a form that multiplies with (B, K, ...)."""
        return constants if self.drawn.images is None else constants[self.span]


def epoch(prepared: Prepared, size: int, normalize_advantage: bool) -> Iterator[Part]:
    """The minibatches of one epoch, from constants that are gathered once."""
    order, images = draw_epoch(prepared)
    constants = in_order(prepared, Minibatch(order, images))
    if normalize_advantage:
        constants = replace(constants, advantages=normalized(constants.advantages, size))
    for start in range(0, prepared.size, size):
        span = slice(start, start + size)
        yield Part(constants, span, Minibatch(order[span], None if images is None else images[span]))


def normalized(advantages: Tensor, size: int) -> Tensor:
    """The advantages of each minibatch normalised on their own; a single state's is left as it is."""
    whole = len(advantages) // size
    full, rest = advantages[: whole * size].view(whole, size), advantages[None, whole * size :]
    return torch.cat(
        [
            part.flatten()
            if part.shape[1] == 1
            else ((part - part.mean(dim=1, keepdim=True)) / (part.std(dim=1, keepdim=True) + 1e-8)).flatten()
            for part in (full, rest)
            if part.numel()
        ]
    )


def in_order(prepared: Prepared, drawn: Minibatch) -> Prepared:
    """The constants of the drawn states and images: (T, ...) in their order, (T, N, ...) as (T, K, ...)."""
    samples, transforms = drawn.samples, drawn.transforms
    gates, msl, psl, asl = prepared.gates, prepared.msl, prepared.psl, prepared.asl
    observations = drawn.observations(prepared.observations)
    assert isinstance(observations, Tensor)
    return replace(
        prepared,
        observations=observations.flatten(2),
        actions=prepared.actions[drawn.rows],
        old_log_probs=prepared.old_log_probs[drawn.rows],
        old_values=prepared.old_values[drawn.rows],
        advantages=prepared.advantages[drawn.rows],
        returns=prepared.returns[drawn.rows],
        value_weights=transforms(prepared.value_weights),
        gates=gates
        and replace(
            gates,
            dead_zone=samples(gates.dead_zone),
            slopes=transforms(gates.slopes),
            bends=transforms(gates.bends),
            always=transforms(gates.always),
        ),
        msl=msl
        and replace(
            msl,
            weights=transforms(msl.weights),
            original_weights=None if msl.original_weights is None else transforms(msl.original_weights),
        ),
        psl=psl
        and replace(
            psl,
            weights=transforms(psl.weights),
            targets=samples(psl.targets),
            old_log_probs=samples(psl.old_log_probs),
            ceilings=samples(psl.ceilings),
        ),
        asl=asl
        and replace(
            asl,
            weights=transforms(asl.weights),
            function_weights=transforms(asl.function_weights),
            symmetric_means=samples(asl.symmetric_means),
            lower=samples(asl.lower),
            upper=samples(asl.upper),
        ),
    )


class Networks:
    """Actor and critic on the flat buffer: from the constants of a minibatch to all gradients."""

    def __init__(self, model: SymmetricPPO, prepared: Prepared, adam: FlatAdam) -> None:
        policy = PlainMlp.of(model.policy)
        parameters, gradients = adam.parameters, adam.gradients
        by_part = {parameters[original]: gradient for original, gradient in gradients.items()}
        actor = [(parameters[weight], parameters[bias]) for weight, bias in policy.actor]
        critic = [(parameters[weight], parameters[bias]) for weight, bias in policy.critic]
        images = len(prepared.names) if prepared.samples is None else prepared.samples
        rows = min(model.batch_size, prepared.size) * (1 + images)
        self._actor = FastMlp(actor, by_part, policy.activation, rows)
        self._critic = FastMlp(critic, by_part, policy.activation, rows)
        self._log_std = parameters[policy.log_std]
        self._log_std_gradient = gradients[policy.log_std]
        self._ent_coef, self._vf_coef = model.ent_coef, model.vf_coef

    def gradients(self, part: Part) -> SampleTerms:
        """Write the gradient of the loss into the flat buffer, and return the loss in its terms."""
        constants = part.constants
        assert isinstance(constants.observations, Tensor)
        observations = part.samples(constants.observations)
        size, rows_each, _ = observations.shape
        rows = observations.flatten(0, 1)

        values = self._critic.forward(rows).view(size, rows_each)
        squares, by_values = fast_losses.value_losses(
            values,
            part.samples(constants.returns),
            part.samples(constants.old_values),
            constants.clip_range_vf,
        )
        gate, opened = symmetry_gate(part, values) if constants.names else (values[:, 1:], values[:, 1:])
        shares = torch.full_like(values, self._vf_coef / size)
        if constants.names:
            weights = part.transforms(constants.value_weights) * gate
            torch.div(weights, size, out=shares[:, 1:])
        self._critic.backward(by_values.mul_(shares).view(-1, 1))

        means = self._actor.forward(rows).view(size, rows_each, -1)
        by_means = torch.zeros_like(means)
        log_prob, slope, slope_of_log_std = fast_losses.gaussian_log_prob(
            part.samples(constants.actions), means[:, 0], self._log_std
        )
        log_ratio = log_prob - part.samples(constants.old_log_probs)
        surrogate, by_log_prob = fast_losses.clipped_surrogate(
            log_ratio, part.samples(constants.advantages), constants.clip_range
        )
        by_log_prob = (by_log_prob / size)[:, None]
        torch.mul(by_log_prob, slope, out=by_means[:, 0])
        torch.sum(by_log_prob * slope_of_log_std, dim=0, out=self._log_std_gradient)
        self._log_std_gradient.sub_(self._ent_coef)
        symmetry_policy = self._symmetry_policy(part, means, gate, by_means) if constants.names else gate
        self._actor.backward(by_means.view(len(rows), -1))

        return SampleTerms(
            policy=surrogate,
            values=squares,
            value_shares=shares,
            symmetry_policy=symmetry_policy,
            opened=opened,
            log_ratio=log_ratio,
            log_std=self._log_std.clone(),
        )

    def loss(self, terms: SampleTerms) -> Tensor:
        return terms.means().total(self._ent_coef, self._vf_coef)

    def _symmetry_policy(self, part: Part, outputs: Tensor, gate: Tensor, by_outputs: Tensor) -> Tensor:
        """The weighted policy terms of the images (B, K); their gradients are added where they belong.

        :param outputs: (B, 1 + K, n) the means of s and its images
        :param gate: (B, K)
        :param by_outputs: (B, 1 + K, n) the gradient by these means
        """
        constants = part.constants
        means, images = outputs[:, 0], outputs[:, 1:]
        by_means, by_images = by_outputs[:, 0], by_outputs[:, 1:]
        size, actions = means.shape
        terms = torch.zeros_like(gate)
        transformed = torch.addmm(constants.action_bias, means, constants.action_matrix)
        transformed = transformed.view(size, -1, actions)
        if constants.bend is not None:
            transformed = constants.bend(transformed)
        transformed = part.drawn.images_of(transformed)

        if (asl := constants.asl) is not None:
            targets = losses.adaptive_target(transformed, part.samples(asl.lower), part.samples(asl.upper))
            precisions = part.transforms(asl.function_weights) / (2 * torch.exp(2 * self._log_std))
            loss, slope = fast_losses.adaptive_loss(
                images, part.samples(asl.symmetric_means), targets, precisions
            )
            weights = part.transforms(asl.weights) * gate
            terms += weights * loss
            by_images += (weights / size)[..., None] * slope
        if (psl := constants.psl) is not None:
            loss, slope, slope_of_log_std = fast_losses.proximal_loss(
                part.samples(psl.targets),
                images,
                self._log_std,
                part.samples(psl.old_log_probs),
                part.samples(psl.ceilings),
            )
            weights = part.transforms(psl.weights) * gate
            terms += weights * loss
            shares = (weights / size)[..., None]
            by_images += shares * slope
            self._log_std_gradient += (shares * slope_of_log_std).sum(dim=(0, 1))
        if (msl := constants.msl) is not None:
            loss, slope = fast_losses.mirror_loss(transformed, images)
            weights = part.transforms(msl.weights) * gate
            terms += weights * loss
            slope *= (weights / size)[..., None]
            by_images -= slope
            by_means += by_all_maps(slope, part.drawn.images, constants.action_matrix)
            if msl.original_weights is not None:
                matrices = part.drawn.transforms(by_transform(constants.action_matrix))
                turned = (images[:, :, None, :] @ matrices).squeeze(-2)
                loss, slope = fast_losses.mirror_loss(turned, means[:, None])
                weights = part.transforms(msl.original_weights) * gate
                terms += weights * loss
                slope *= (weights / size)[..., None]
                by_means -= slope.sum(dim=1)
                by_images += (slope[:, :, None, :] @ matrices.transpose(-1, -2)).squeeze(-2)
        return terms


def by_all_maps(slopes: Tensor, images: Tensor | None, action_matrix: Tensor) -> Tensor:
    """The gradient by mu(s), (B, n), from that by g_j(mu(s)), (B, K, n)."""
    if images is not None:
        size, _, actions = slopes.shape
        everywhere = slopes.new_zeros(size, action_matrix.shape[1] // actions, actions)
        slopes = everywhere.scatter_(1, images[..., None].expand_as(slopes), slopes)
    return slopes.flatten(1) @ action_matrix.t()


def by_transform(action_matrix: Tensor) -> Tensor:
    """(n, N n) as (N, n, n): ``mu @ matrix`` is g_j(mu) without its bias."""
    actions = len(action_matrix)
    return action_matrix.view(actions, -1, actions).transpose(0, 1)


def symmetry_gate(part: Part, values: Tensor) -> tuple[Tensor, Tensor]:
    """gate = psi phi of each image (B, K), and whether the value gate let it through; 1 without ASL.

    :param values: (B, 1 + K) V(s) and V(f(s))
    """
    images = values[:, 1:]
    gates = part.constants.gates
    if gates is None:
        return torch.ones_like(images), torch.ones_like(images, dtype=torch.bool)
    slopes, bends = part.transforms(gates.slopes), part.transforms(gates.bends)
    opened = value_gate(values[:, :1], images, slopes, bends).logical_or_(part.transforms(gates.always))
    return part.samples(gates.dead_zone) * opened, opened
