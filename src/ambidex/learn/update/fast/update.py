"""The update for plain MLP policies on the CPU: `ambidex.learn.update.autograd` without autograd.

The same minibatches, terms, log and errors as the update by autograd, and the same parameters up to rounding.
What differs is where the time goes: the constants of an epoch are gathered once, the networks' passes are
written out as matrix products into standing buffers, all gradients lie in one flat buffer, and images that
the gates or PSL's trust region shut out are left out of the products to which they would add zeros.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ambidex.learn.losses import gaussian
from ambidex.learn.losses.constants import Outputs, Slopes
from ambidex.learn.losses.surrogate import clipped_surrogate
from ambidex.learn.update.autograd import refuse_non_finite
from ambidex.learn.update.fast.adam import FlatAdam, flattened, why_not_flat
from ambidex.learn.update.fast.epoch import EpochPart, epoch
from ambidex.learn.update.fast.log import FastLog, SampleTerms
from ambidex.learn.update.fast.mlp import FastMlp, worth_choosing
from ambidex.learn.update.fast.networks import DenseLayers, DenseLogStd
from ambidex.learn.update.fast.plain_mlp import PlainMlp
from ambidex.learn.update.fast.rollout import why_not_rollout
from ambidex.learn.update.iteration import Iteration, NonFiniteLoss, Statistics

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


def supports(model: SymmetricPPO) -> str | None:
    """Why the fast update and roll-out cannot serve this model, in words; None if they can."""
    for kind in model.kinds_of_loss:
        if not kind.has_gradients:
            return f"{kind.__name__} has no gradients by hand"
    return why_not_rollout(model) or why_not_flat(model.policy.optimizer)


@torch.no_grad()
def update(model: SymmetricPPO, iteration: Iteration) -> Statistics:
    """All epochs of one iteration; see `ambidex.learn.update.iteration` for what it computes."""
    log = FastLog(iteration, model.ent_coef, model.vf_coef)
    with flattened(model.policy.optimizer) as adam:  # type: ignore[arg-type]
        networks = Networks(model, iteration, adam)
        for _ in range(model.n_epochs):
            for part in epoch(iteration, model):
                terms = networks.gradients(part)
                log.add(terms, part.drawn)
                norm = adam.gradient_norm()
                if not math.isfinite(norm):
                    if not torch.isfinite(networks.loss(terms)):
                        refuse_non_finite(terms.means(), part.drawn, iteration)
                    raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")
                if model.target_kl is not None and terms.approx_kl() > 1.5 * model.target_kl:
                    log.end_epoch()
                    return log.statistics(stopped=True)
                adam.step(norm, model.max_grad_norm)
            log.end_epoch()
    return log.statistics(stopped=False)


class Networks:
    """Actor and critic on the flat buffer: from the constants of a minibatch to all gradients."""

    def __init__(self, model: SymmetricPPO, iteration: Iteration, adam: FlatAdam) -> None:
        policy = PlainMlp.of(model.policy)
        penalty = getattr(model.policy, "relax_penalty", 0.0)
        self._layers = [DenseLayers(layers, adam, penalty) for layers in (policy.actor, policy.critic)]
        images = len(iteration.names) if iteration.samples is None else iteration.samples
        rows = min(model.batch_size, iteration.size) * (1 + images)
        self._iteration = iteration
        self._actor, self._critic = (
            FastMlp(layers.dense, layers.gradients, policy.activation, rows) for layers in self._layers
        )
        self._tied_log_std = DenseLogStd(policy.log_std, adam)
        self._log_std, self._log_std_gradient = self._tied_log_std.dense, self._tied_log_std.gradient
        self._ent_coef, self._vf_coef = model.ent_coef, model.vf_coef

    def gradients(self, part: EpochPart) -> SampleTerms:
        """Write the gradient of the loss into the flat buffer, and return the loss in its terms."""
        for layers in self._layers:
            layers.expand()
        self._tied_log_std.expand()
        terms = self._dense_gradients(part)
        for layers in self._layers:
            layers.fold()
        self._tied_log_std.fold()
        return terms

    def _dense_gradients(self, part: EpochPart) -> SampleTerms:
        size = len(part.observations)
        rows = part.observations.flatten(0, 1)

        values = self._critic.forward(rows).view(size, -1)
        squares, by_values = value_losses(
            values, part.returns, part.old_values, self._iteration.clip_range_vf
        )
        shares = (part.value_shares / size).expand_as(values)
        gate: Tensor | float = 1.0
        opened = let_through = None
        if part.gates is not None:
            all_opened = part.gates.opened(values[:, :1], values)
            gates = part.gates.dead_zone * all_opened
            gate, opened = gates[:, 1:], all_opened[:, 1:]
            shares = shares * gates
            let_through = worth_choosing(gates.flatten())
        self._critic.backward(by_values.mul_(shares).view(-1, 1), nonzero=let_through)

        means = self._means(part, rows, let_through)
        by_means = torch.zeros_like(means)
        log_prob, slope, slope_of_log_std = gaussian.log_prob_gradients(
            part.actions, means[:, 0], self._log_std
        )
        log_ratio = log_prob - part.old_log_probs
        surrogate, by_log_prob = clipped_surrogate(log_ratio, part.advantages, self._iteration.clip_range)
        by_log_prob = (by_log_prob / size)[:, None]
        torch.mul(by_log_prob, slope, out=by_means[:, 0])
        torch.sum(by_log_prob * slope_of_log_std, dim=0, out=self._log_std_gradient)
        self._log_std_gradient.sub_(self._ent_coef)
        symmetry_policy = self._symmetry_policy(part, means, gate, by_means)
        delta = by_means.flatten(0, 1)
        is_flat = let_through is None and any(loss.is_often_flat for loss in part.losses)
        nonzero = worth_choosing(delta.any(dim=1)) if is_flat else None
        self._actor.backward(delta, nonzero=nonzero)

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

    def _means(self, part: EpochPart, rows: Tensor, let_through: Tensor | None) -> Tensor:
        """mu of s and its images, (B, 1 + K, n); of an image that is shut out the resting means.

        :param rows: (B (1 + K), o) s and its images
        :param let_through: those of them that the gates let through; None for all
        """
        size = len(part.observations)
        resting = next((m for loss in part.losses if (m := loss.resting_means()) is not None), None)
        if let_through is None or resting is None:
            outputs = self._actor.forward(rows)
            return outputs.view(size, -1, outputs.shape[1])
        outputs = self._actor.forward(rows, let_through)
        means = functional.pad(resting, (0, 0, 1, 0))
        means.flatten(0, 1).index_copy_(0, let_through, outputs)
        return means

    def _symmetry_policy(
        self, part: EpochPart, outputs: Tensor, gate: Tensor | float, by_outputs: Tensor
    ) -> Tensor:
        """The weighted policy terms of the images (B, K); their gradients are added where they belong.

        :param outputs: (B, 1 + K, n) the means of s and its images
        :param gate: (B, K), or 1
        :param by_outputs: (B, 1 + K, n) the gradient by these means
        """
        means, images = outputs[:, 0], outputs[:, 1:]
        terms = means.new_zeros(images.shape[:2])
        if not part.losses:
            return terms
        said = Outputs(
            means=means,
            symmetric_means=images,
            transformed=part.drawn.images_of(self._iteration.transformed(means)),
            log_std=self._log_std,
            advantages=part.advantages,
        )
        slopes = Slopes(
            means=by_outputs[:, 0],
            symmetric_means=by_outputs[:, 1:],
            log_std=self._log_std_gradient,
            transformed=partial(
                by_all_maps, images=part.drawn.images, action_matrix=self._iteration.action_matrix
            ),
        )
        for loss in part.losses:
            terms += loss.add_gradients(said, gate, slopes)
        return terms


def value_losses(
    values: Tensor, returns: Tensor, old_values: Tensor, clip_range: float | None
) -> tuple[Tensor, Tensor]:
    """The squared errors of V(s) and of V(f(s)) before gates, and their derivatives by these values.

    :param values: (B, 1 + K)
    :param returns: (B,) V_targ of s, which is that of its images too
    :param old_values: (B,)
    :param clip_range: how far PPO's prediction of V(s) may move from ``old_values``; None for no limit
    """
    errors = values - returns[:, None]  # eq:MSL_LV, eq:ASL_v_loss
    slopes = 2 * errors
    if clip_range is not None:
        moved = values[:, 0] - old_values
        errors[:, 0] = old_values + torch.clamp(moved, -clip_range, clip_range) - returns
        slopes[:, 0] = torch.where(moved.abs() > clip_range, 0.0, 2 * errors[:, 0])
    return errors.square(), slopes


def by_all_maps(slopes: Tensor, images: Tensor | None, action_matrix: Tensor) -> Tensor:
    """The gradient by mu(s), (B, n), from that by g_j(mu(s)), (B, K, n)."""
    if images is not None:
        size, _, actions = slopes.shape
        everywhere = slopes.new_zeros(size, action_matrix.shape[1] // actions, actions)
        slopes = everywhere.scatter_(1, images[..., None].expand_as(slopes), slopes)
    return slopes.flatten(1) @ action_matrix.t()
