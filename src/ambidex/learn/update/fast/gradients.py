"""PPO's own losses with their derivatives by what the networks put out, by hand.

Each function returns values first, then derivatives of the same leading shape; means over the minibatch and
weights are the caller's. A value that is NaN has a derivative that is NaN, so that the norm of the gradient
tells of it.
"""

from __future__ import annotations

import torch
from torch import Tensor


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, clip_range: float) -> tuple[Tensor, Tensor]:
    """-L^C of PPO, and its derivative by log pi(a | s).

    :param log_ratio: (B,) log pi(a | s) - log pi_old(a | s)
    :param advantages: (B,)
    :param clip_range: epsilon
    """
    ratio = torch.exp(log_ratio)  # eq:ppo_ratio
    unclipped = advantages * ratio
    clipped = advantages * torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    loss = -torch.minimum(unclipped, clipped)  # eq:lclip
    return loss, torch.where(unclipped > clipped, 0.0, loss)


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
