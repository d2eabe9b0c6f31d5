"""The update for plain MLP policies on the CPU: `ambidex.learn.update.autograd` without autograd.

The same minibatches, terms, log and errors as the generic update, and the same parameters up to rounding.
What differs is where the time goes: the constants of an epoch are gathered once, the networks' passes are
written out as matrix products into standing buffers, all gradients lie in one flat buffer, and images that
the gates or PSL's trust region shut out are left out of the products to which they would add zeros.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from torch import Tensor
from torch.nn import functional

from ambidex.learn.losses import terms as losses
from ambidex.learn.losses.gates import value_gate
from ambidex.learn.update.autograd import refuse_non_finite
from ambidex.learn.update.fast import gradients as fast_losses
from ambidex.learn.update.fast.adam import FlatAdam, flattened, why_not_flat
from ambidex.learn.update.fast.epoch import Part, epoch
from ambidex.learn.update.fast.log import FastLog, SampleTerms
from ambidex.learn.update.fast.mlp import FastMlp, worth_choosing
from ambidex.learn.update.fast.plain_mlp import PlainMlp, why_not_plain
from ambidex.learn.update.iteration import NonFiniteLoss, Prepared, Statistics

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


def supports(model: SymmetricPPO) -> str | None:
    """Why the fast update and roll-out cannot serve this model, in words; None if they can."""
    if type(model.rollout_buffer) is not RolloutBuffer:
        return f"the roll-out buffer is a {type(model.rollout_buffer).__name__}, not a RolloutBuffer"
    return why_not_plain(model.policy) or why_not_flat(model.policy.optimizer)


@torch.no_grad()
def update(model: SymmetricPPO, prepared: Prepared) -> Statistics:
    """All epochs of one iteration; see `ambidex.learn.update.iteration` for what it computes."""
    log = FastLog(prepared, model.ent_coef, model.vf_coef)
    with flattened(model.policy.optimizer) as adam:  # type: ignore[arg-type]
        networks = Networks(model, prepared, adam)
        for _ in range(model.n_epochs):
            for part in epoch(prepared, model):
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
        size = len(observations)
        rows = observations.flatten(0, 1)

        values = self._critic.forward(rows).view(size, -1)
        squares, by_values = fast_losses.value_losses(
            values,
            part.samples(constants.returns),
            part.samples(constants.old_values),
            constants.clip_range_vf,
        )
        shares = (part.transforms(constants.value_weights) / size).expand_as(values)
        gate: Tensor | float = 1.0
        opened = let_through = None
        if constants.gates is not None:
            gates, opened = symmetry_gates(part, values)
            gate = gates[:, 1:]
            shares = shares * gates
            let_through = worth_choosing(gates.flatten())
        self._critic.backward(by_values.mul_(shares).view(-1, 1), nonzero=let_through)

        means = self._means(part, rows, let_through)
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
        symmetry_policy = self._symmetry_policy(part, means, gate, by_means)
        delta = by_means.flatten(0, 1)
        within_ceilings = None
        if constants.psl is not None and let_through is None:
            within_ceilings = worth_choosing(delta.any(dim=1))
        self._actor.backward(delta, nonzero=within_ceilings)

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

    def _means(self, part: Part, rows: Tensor, let_through: Tensor | None) -> Tensor:
        """mu of s and its images, (B, 1 + K, n); of an image that is shut out a-bar', whose ratio is 1.

        :param rows: (B (1 + K), o) s and its images
        :param let_through: those of them that the gates let through; None for all
        """
        outputs = self._actor.forward(rows, let_through)
        size = len(part.drawn.rows)
        if let_through is None:
            return outputs.view(size, -1, outputs.shape[1])
        assert part.constants.asl is not None
        before = part.samples(part.constants.asl.symmetric_means)
        means = functional.pad(before, (0, 0, 1, 0))
        means.flatten(0, 1).index_copy_(0, let_through, outputs)
        return means

    def _symmetry_policy(
        self, part: Part, outputs: Tensor, gate: Tensor | float, by_outputs: Tensor
    ) -> Tensor:
        """The weighted policy terms of the images (B, K); their gradients are added where they belong.

        :param outputs: (B, 1 + K, n) the means of s and its images
        :param gate: (B, K), or 1
        :param by_outputs: (B, 1 + K, n) the gradient by these means
        """
        constants = part.constants
        means, images = outputs[:, 0], outputs[:, 1:]
        by_means, by_images = by_outputs[:, 0], by_outputs[:, 1:]
        size, actions = means.shape
        terms = means.new_zeros(images.shape[:2])
        if not constants.names:
            return terms
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
            terms.addcmul_(weights, loss)
            by_images.addcmul_((weights / size)[..., None], slope)
        if (psl := constants.psl) is not None:
            loss, slope, slope_of_log_std = fast_losses.proximal_loss(
                part.samples(psl.targets),
                images,
                self._log_std,
                part.samples(psl.old_log_probs),
                part.samples(psl.ceilings),
            )
            weights = part.transforms(psl.weights) * gate
            terms.addcmul_(weights, loss)
            shares = (weights / size)[..., None]
            by_images.addcmul_(shares, slope)
            self._log_std_gradient += (shares * slope_of_log_std).sum(dim=(0, 1))
        if (msl := constants.msl) is not None:
            loss, slope = fast_losses.mirror_loss(transformed, images)
            weights = part.transforms(msl.weights) * gate
            terms.addcmul_(weights, loss)
            slope *= (weights / size)[..., None]
            by_images -= slope
            by_means += by_all_maps(slope, part.drawn.images, constants.action_matrix)
            if msl.original_weights is not None:
                matrices = part.drawn.transforms(by_transform(constants.action_matrix))
                turned = (images[:, :, None, :] @ matrices).squeeze(-2)
                loss, slope = fast_losses.mirror_loss(turned, means[:, None])
                weights = part.transforms(msl.original_weights) * gate
                terms.addcmul_(weights, loss)
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


def symmetry_gates(part: Part, values: Tensor) -> tuple[Tensor, Tensor]:
    """psi phi of s, which is 1, and of its images (B, 1 + K); whether the value gate opened for these (B, K).

    :param values: (B, 1 + K) V(s) and V(f(s))
    """
    gates = part.constants.gates
    assert gates is not None
    slopes, bends = part.transforms(gates.slopes), part.transforms(gates.bends)
    opened = value_gate(values[:, :1], values, slopes, bends).logical_or_(part.transforms(gates.always))
    return part.samples(gates.dead_zone) * opened, opened[:, 1:]
