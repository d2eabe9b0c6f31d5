"""`PSL`, the Proximal Symmetry Loss: a ratio toward the symmetric action within PPO's trust region."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from ambidex.learn.losses import gaussian
from ambidex.learn.losses.constants import Batch, DifferentiatedConstants, Outputs, Slopes
from ambidex.learn.losses.loss import Number
from ambidex.learn.losses.partial import PartialLoss, sampled_log_probs


@dataclass(frozen=True)
class PSL(PartialLoss):
    """Proximal Symmetry Loss: a ratio toward the symmetric action within PPO's trust region (eq:sym_ratio).

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param actuator_weights: which actuators are symmetric, see `PartialLoss`. All three probabilities of the
        ratio are then those of these actuators alone
    """

    policy_weight: Number = 0.008
    value_weight: Number = 0.5

    has_gradients: ClassVar[bool] = True
    needs_own_rollout: ClassVar[str | None] = (
        "its ratio compares the policy with the one that made the roll-out, within PPO's trust region: a "
        "replay buffer holds actions of many policies, and SAC has no such region; use MSL or ASL"
    )

    @classmethod
    def constants(
        cls, losses: Mapping[str, Self], batch: Batch, elements: Tensor | None = None
    ) -> ProximalConstants:
        assert batch.log_std is not None
        targets = torch.stack([transform.action(batch.means[:, 0]) for transform in batch.transforms], dim=1)
        old_log_probs = gaussian.log_prob(targets, batch.means[:, 1:], batch.log_std, elements)
        sampled = sampled_log_probs(batch, elements)
        ceilings = proximal_ceiling(sampled, old_log_probs, batch.clip_range)
        return ProximalConstants(batch.weights(losses), targets, old_log_probs, ceilings, elements)


@dataclass(frozen=True)
class ProximalConstants(DifferentiatedConstants):
    """The policy term is ``-exp(min(log pi(targets | f(s)), ceilings) - old_log_probs)``.

    Its gradient reaches the log-std too.

    :param targets: (T, N, n) g_j(a-bar), by the given map
    :param old_log_probs: (T, N) log pi_old(g_j(a-bar) | f_j(s)), the denominator of x
    :param ceilings: (T, N) the least of log pi_old(a | s) and log(1 + epsilon) + old_log_probs: above it
        neither minimum of the loss lets a gradient through
    :param elements: (N, n) how much each action element counts; None where all count 1
    """

    targets: Tensor
    old_log_probs: Tensor
    ceilings: Tensor
    elements: Tensor | None

    per_sample: ClassVar[tuple[str, ...]] = ("targets", "old_log_probs", "ceilings")
    is_often_flat: ClassVar[bool] = True

    def terms(self, outputs: Outputs) -> Tensor:
        log_probs = gaussian.log_prob(
            self.targets, outputs.symmetric_means, outputs.gaussian_log_std, self.elements
        )
        return self.weights * proximal_loss(log_probs, self.old_log_probs, self.ceilings)

    def add_gradients(self, outputs: Outputs, gate: Tensor | float, slopes: Slopes) -> Tensor:
        log_probs, by_means, by_log_std = gaussian.log_prob_gradients(
            self.targets, outputs.symmetric_means, outputs.gaussian_log_std, self.elements
        )
        loss = proximal_loss(log_probs, self.old_log_probs, self.ceilings)
        # at the ceiling itself the minimum lets half of the slope through, as autograd has it
        shares_of_slope = (log_probs < self.ceilings).to(loss) + 0.5 * (log_probs == self.ceilings)
        by_log_probs = (shares_of_slope * loss)[..., None]
        weights = self.weights * gate
        shares = (weights / len(outputs.means))[..., None]
        slopes.symmetric_means.addcmul_(shares, by_log_probs * by_means)
        slopes.log_std.add_((shares * (by_log_probs * by_log_std)).sum(dim=(0, 1)))
        return weights * loss


def proximal_ceiling(sampled_log_probs: Tensor, old_log_probs: Tensor, clip_range: float) -> Tensor:
    """The log-probability above which neither minimum of PSL lets a gradient through.

    :param sampled_log_probs: log pi_old(a | s)
    :param old_log_probs: log pi_old(g(a-bar) | f(s))
    :param clip_range: epsilon
    """
    return torch.minimum(sampled_log_probs, old_log_probs + math.log1p(clip_range))


def proximal_loss(log_probs: Tensor, old_log_probs: Tensor, ceilings: Tensor) -> Tensor:
    """L_pi of PSL: ``-min(x, 1 + epsilon)``, both minima taken before the exponential so that none overflows.

    :param log_probs: log pi(g(a-bar) | f(s)), the only argument with a gradient
    :param old_log_probs: the same before the update
    :param ceilings: see `proximal_ceiling`
    """
    return -torch.exp(torch.minimum(log_probs, ceilings) - old_log_probs)  # eq:psl_pi_loss, eq:sym_ratio
