"""`MSL`, the Mirror Symmetry Loss: the squared difference of the symmetric means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor

from ambidex.learn.losses.constants import Batch, DifferentiatedConstants, Outputs, Slopes
from ambidex.learn.losses.loss import Number
from ambidex.learn.losses.partial import PartialLoss


@dataclass(frozen=True)
class MSL(PartialLoss):
    """Mirror Symmetry Loss: the squared difference of the symmetric means (eq:MSL_Lpi).

    The difference is averaged over the action elements, as the published weights assume; the paper's text
    writes its sum.

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param original: ``mu(s) - g(mu(f(s)))`` of Yu et al., right only where g is its own inverse; otherwise
        ``g(mu(s)) - mu(f(s))``, right for rotations too
    :param actuator_weights: which actuators are symmetric, see `PartialLoss`; the weights of the squares, of
        which the mean is still that over all n
    """

    policy_weight: Number = 10.0
    value_weight: Number = 0.5
    original: bool = False

    moves_gaussian_means: ClassVar[bool] = False
    has_gradients: ClassVar[bool] = True

    @classmethod
    def constants(
        cls, losses: Mapping[str, Self], batch: Batch, elements: Tensor | None = None
    ) -> MirrorConstants:
        original = {name: loss for name, loss in losses.items() if loss.original}
        return MirrorConstants(
            weights=batch.weights({name: loss for name, loss in losses.items() if not loss.original}),
            original_weights=batch.weights(original) if original else None,
            matrices=batch.log_probs.new_tensor(_matrices(batch)) if original else None,
            elements=elements,
        )


def _matrices(batch: Batch) -> list[list[list[float]]]:
    return [transform.action_map.matrix.tolist() for transform in batch.transforms]


@dataclass(frozen=True)
class MirrorConstants(DifferentiatedConstants):
    """:param original_weights: (N,) the weights of transforms that use the original form of Yu et al.; None
        where none does
    :param matrices: (N, n, n) g of each transform, for that form
    :param elements: (N, n) how much each action element counts; None where all count 1
    """

    original_weights: Tensor | None
    matrices: Tensor | None
    elements: Tensor | None

    def terms(self, outputs: Outputs) -> Tensor:
        terms = self.weights * mirror_loss(outputs.transformed, outputs.symmetric_means, self.elements)
        if self.original_weights is not None:
            # mu(s) - g(mu(f(s))), as Yu et al. wrote it.
            turned = self._turned(outputs.symmetric_means)
            difference = mirror_loss(turned, outputs.means[:, None], self.elements)
            terms = terms + self.original_weights * difference
        return terms

    def add_gradients(self, outputs: Outputs, gate: Tensor | float, slopes: Slopes) -> Tensor:
        size = len(outputs.means)
        weights = self.weights * gate
        terms = weights * mirror_loss(outputs.transformed, outputs.symmetric_means, self.elements)
        slope = mirror_slope(outputs.transformed, outputs.symmetric_means, self.elements)
        slope *= (weights / size)[..., None]
        slopes.symmetric_means.sub_(slope)
        slopes.means.add_(slopes.transformed(slope))
        if self.original_weights is not None:
            assert self.matrices is not None
            turned, means = self._turned(outputs.symmetric_means), outputs.means[:, None]
            weights = self.original_weights * gate
            terms.addcmul_(weights, mirror_loss(turned, means, self.elements))
            slope = mirror_slope(turned, means, self.elements)
            slope *= (weights / size)[..., None]
            slopes.means.sub_(slope.sum(dim=1))
            slopes.symmetric_means.add_((slope[:, :, None, :] @ self.matrices).squeeze(-2))
        return terms

    def _turned(self, symmetric_means: Tensor) -> Tensor:
        """g(mu(f(s)))."""
        assert self.matrices is not None
        return (symmetric_means[:, :, None, :] @ self.matrices.transpose(-1, -2)).squeeze(-2)


def mirror_loss(transformed: Tensor, other: Tensor, elements: Tensor | None = None) -> Tensor:
    """L_pi of MSL: the mean over the action elements of the squared difference.

    :param transformed: (..., n) g(mu(s)); for the original form g(mu(f(s)))
    :param other: (..., n) mu(f(s)); for the original form mu(s)
    :param elements: how much each square counts; None where all count 1
    """
    squares = (transformed - other).square()
    return (squares if elements is None else elements * squares).mean(dim=-1)  # eq:MSL_Lpi


def mirror_slope(transformed: Tensor, other: Tensor, elements: Tensor | None = None) -> Tensor:
    """The derivative of `mirror_loss` by ``transformed``; that by ``other`` is its negative."""
    slope = (transformed - other) * (2 / other.shape[-1])
    return slope if elements is None else elements * slope
