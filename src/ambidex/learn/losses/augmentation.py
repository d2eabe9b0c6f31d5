"""`Augmentation`: PPO's own losses on the images, as if the robot had lived through them too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, get_args

import torch
from torch import Tensor

from ambidex.learn.losses import gaussian
from ambidex.learn.losses.constants import Batch, DifferentiatedConstants, Outputs, Slopes
from ambidex.learn.losses.loss import Number
from ambidex.learn.losses.partial import PartialLoss, sampled_log_probs
from ambidex.learn.losses.surrogate import clipped_surrogate

Denominator = Literal["sample", "image"]


@dataclass(frozen=True)
class Augmentation(PartialLoss):
    """Data augmentation: PPO's clipped surrogate for g(a) in f(s), with the advantage of a in s.

    With ``policy_weight=1`` and ``value_weight`` equal to PPO's ``vf_coef`` every image weighs as much as its
    sample: policy and value loss are 1 + N times their mean over the samples and all N images. Adam does not
    notice such a factor, but ``max_grad_norm`` and ``ent_coef`` are then 1 + N times smaller beside them
    than where the mean is taken (rsl_rl, cusrl, holosoma). ``clip_range_vf`` clips V(s) only.

    :param policy_weight: w_pi, of the surrogate of each image beside that of the sample, which has 1
    :param value_weight: w_V, of the squared error of each image beside that of the sample, which has
        ``vf_coef``; the default is Stable-Baselines3's default of that
    :param denominator: of the ratio. ``"sample"``: pi_old(a | s), the probability with which a was drawn, so
        that an image which the policy would hardly choose weighs little; ``"image"``: pi_old(g(a) | f(s)),
        so that every ratio begins at 1
    :param actuator_weights: which actuators are symmetric, see `PartialLoss`. The ratio of an image is then
        that of the joint probability of these actuators alone, in numerator and denominator
    """

    policy_weight: Number = 1.0
    value_weight: Number = 0.5
    denominator: Denominator = "sample"

    has_gradients: ClassVar[bool] = True
    needs_own_rollout: ClassVar[str | None] = (
        "it is PPO's surrogate on the images; the same for a replay buffer is "
        "replay_buffer_class=SymmetricReplayBuffer"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator not in get_args(Denominator):
            raise ValueError(f"Augmentation: denominator is 'sample' or 'image'; got {self.denominator!r}")

    @classmethod
    def constants(
        cls, losses: Mapping[str, Self], batch: Batch, elements: Tensor | None = None
    ) -> AugmentationConstants:
        targets = torch.stack([transform.action(batch.actions) for transform in batch.transforms], dim=1)
        old_log_probs = sampled_log_probs(batch, elements).expand(targets.shape[:2])
        denominators = [losses[name].denominator if name in losses else None for name in batch.names]
        if "image" in denominators:
            assert batch.log_std is not None
            of_images = gaussian.log_prob(targets, batch.means[:, 1:], batch.log_std, elements)
            old_log_probs = torch.where(_are(denominators, "image", batch), of_images, old_log_probs)
        # A ratio of 0 for transforms with another loss: 0 times one that overflows would be NaN.
        old_log_probs = old_log_probs.masked_fill(_are(denominators, None, batch), math.inf)
        return AugmentationConstants(
            batch.weights(losses), targets, old_log_probs, elements, batch.clip_range
        )


def _are(denominators: list[Denominator | None], which: Denominator | None, batch: Batch) -> Tensor:
    return torch.tensor([own == which for own in denominators], device=batch.log_probs.device)


@dataclass(frozen=True)
class AugmentationConstants(DifferentiatedConstants):
    """The policy term is ``-min(x A, clip(x, 1 - epsilon, 1 + epsilon) A)`` with
    ``x = exp(log pi(targets | f(s)) - old_log_probs)``. Its gradient reaches the log-std too.

    :param targets: (T, N, n) g_j(a), by the given map
    :param old_log_probs: (T, N) the logarithm of the denominator
    :param elements: (N, n) how much each action element counts; None where all count 1
    :param clip_range: epsilon
    """

    targets: Tensor
    old_log_probs: Tensor
    elements: Tensor | None
    clip_range: float

    per_sample: ClassVar[tuple[str, ...]] = ("targets", "old_log_probs")
    is_often_flat: ClassVar[bool] = True

    def terms(self, outputs: Outputs) -> Tensor:
        log_probs = gaussian.log_prob(
            self.targets, outputs.symmetric_means, outputs.gaussian_log_std, self.elements
        )
        loss, _ = self._surrogate(log_probs, outputs)
        return self.weights * loss

    def add_gradients(self, outputs: Outputs, gate: Tensor | float, slopes: Slopes) -> Tensor:
        log_probs, by_means, by_log_std = gaussian.log_prob_gradients(
            self.targets, outputs.symmetric_means, outputs.gaussian_log_std, self.elements
        )
        loss, by_log_probs = self._surrogate(log_probs, outputs)
        weights = self.weights * gate
        shares = (weights * by_log_probs / len(outputs.means))[..., None]
        slopes.symmetric_means.addcmul_(shares, by_means)
        slopes.log_std.add_((shares * by_log_std).sum(dim=(0, 1)))
        return weights * loss

    def _surrogate(self, log_probs: Tensor, outputs: Outputs) -> tuple[Tensor, Tensor]:
        return clipped_surrogate(log_probs - self.old_log_probs, outputs.advantages[:, None], self.clip_range)
