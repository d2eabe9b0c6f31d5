"""The gates of ASL: which samples a symmetry may touch. Pure functions, 1 lets through, 0 blocks."""

from __future__ import annotations

import torch
from torch import Tensor


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
