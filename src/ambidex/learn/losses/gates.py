"""The gates of ASL: which samples a symmetry may touch; 1 lets through, 0 blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ambidex.learn.losses.constants import Chosen


@dataclass(frozen=True)
class Gates(Chosen):
    """gate = dead_zone * value gate, for the policy and the value term; 1 for transforms without gates.

    The value gate opens where ``slopes * V(s) + bends * |V(s)| > V(f(s))`` or ``always``, with the current
    critic and no gradient.

    :param slopes: (N,) alpha of each transform
    :param bends: (N,) k_v - alpha of each transform
    :param always: (N,) bool, transforms without a value gate
    :param dead_zone: (T, N) psi, 1 or 0
    """

    slopes: Tensor
    bends: Tensor
    always: Tensor
    dead_zone: Tensor

    per_sample: ClassVar[tuple[str, ...]] = ("dead_zone",)

    def opened(self, values: Tensor, symmetric_values: Tensor) -> Tensor:
        """Whether the value gate is open, (B, K).

        :param values: (B, 1) V(s), detached
        :param symmetric_values: (B, K) V(f(s)), detached
        """
        return value_gate(values, symmetric_values, self.slopes, self.bends).logical_or_(self.always)


def joined(gates: Sequence[Gates]) -> Gates | None:
    """The gates of several kinds of loss, each of which leaves open what is not its own; None for none."""
    if not gates:
        return None
    first, *others = gates
    for other in others:
        first = Gates(
            torch.where(first.always, other.slopes, first.slopes),
            torch.where(first.always, other.bends, first.bends),
            first.always & other.always,
            first.dead_zone * other.dead_zone,
        )
    return first


def mean_absolute_deviation(observations: Tensor) -> Tensor:
    """MAD of each observation element over a window of states; exactly 0 for one that never changes.

    :param observations: (window, o)
    """
    deviation = (observations - observations.mean(dim=0)).abs().mean(dim=0)
    # The rounded mean of a constant is rarely that constant.
    return torch.where(observations.amax(dim=0) > observations.amin(dim=0), deviation, 0.0)


def neutral_distance(observations: Tensor, symmetric_observations: Tensor, deviation: Tensor) -> Tensor:
    """The mean over the elements of delta: how far a state is from its image, in deviations.

    An element that never changes (MAD 0) says nothing and does not count.

    :param observations: (T, 1, o) s
    :param symmetric_observations: (T, N, o) f_j(s)
    :param deviation: (o,) MAD
    """
    counts = deviation > 0
    distance = (observations - symmetric_observations).abs()
    relative = torch.where(counts, distance / torch.where(counts, deviation, 1.0), 0.0)
    return relative.sum(dim=-1) / counts.sum().clamp(min=1)


def dead_zone_gate(neutral_distances: Tensor, dead_zone: Tensor) -> Tensor:
    """psi: blocks states that are near their own image.

    :param neutral_distances: (T, N), see `neutral_distance`
    :param dead_zone: (N,) k_d of each transform
    """
    return (neutral_distances > dead_zone).to(neutral_distances.dtype)


def value_gate_coefficients(value_gate: Tensor) -> tuple[Tensor, Tensor]:
    """alpha and k_v - alpha, which make v a function without a branch.

    :param value_gate: k_v
    """
    alpha = (value_gate.square() + 1) / (2 * value_gate)
    return alpha, value_gate - alpha


def value_gate(values: Tensor, symmetric_values: Tensor, slopes: Tensor, bends: Tensor) -> Tensor:
    """phi as bool: blocks states whose image is worth considerably more; equality blocks.

    :param values: (B, 1) V(s), detached
    :param symmetric_values: (B, N) V(f_j(s)), detached
    :param slopes: (N,) alpha
    :param bends: (N,) k_v - alpha
    """
    thresholds = slopes * values + bends * values.abs()  # eq:value_gate_vt
    return thresholds > symmetric_values  # eq:value_gate
