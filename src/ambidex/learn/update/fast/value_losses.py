"""The losses of the values with their derivatives, by hand."""

from __future__ import annotations

import torch
from torch import Tensor


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
