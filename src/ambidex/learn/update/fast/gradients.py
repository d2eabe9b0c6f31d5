"""The losses of a minibatch with their derivatives by what the networks put out, by hand.

Each function returns values first, then derivatives of the same leading shape; means over the minibatch and
weights are the caller's. The values come from `ambidex.learn.losses.terms` wherever that has them. A value
that is NaN has a derivative that is NaN, so that the norm of the gradient tells of it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ambidex.learn.losses import terms as losses


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


def gaussian_log_prob(actions: Tensor, means: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log pi(a), and its derivatives by the means and, for each sample, by the log-std."""
    inverse_std = torch.exp(-log_std)
    standardised = (actions - means) * inverse_std
    squares = standardised.square()
    log_prob = -0.5 * squares.sum(dim=-1) - (log_std + losses.HALF_LOG_TWO_PI).sum()
    return log_prob, standardised * inverse_std, squares - 1


def adaptive_loss(
    means: Tensor, old_means: Tensor, targets: Tensor, precisions: Tensor
) -> tuple[Tensor, Tensor]:
    """L_pi of ASL before its gates, and its derivative by mu(f(s))."""
    loss = losses.adaptive_loss(means, old_means, targets, precisions)
    return loss, (2 * loss)[..., None] * precisions * (targets - means)


def proximal_loss(
    targets: Tensor, means: Tensor, log_std: Tensor, old_log_probs: Tensor, ceilings: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """L_pi of PSL, and its derivatives by mu(f(s)) and, for each sample, by the log-std."""
    log_probs, by_means, by_log_std = gaussian_log_prob(targets, means, log_std)
    loss = losses.proximal_loss(log_probs, old_log_probs, ceilings)
    by_log_probs = torch.where(log_probs >= ceilings, 0.0, loss)[..., None]
    return loss, by_log_probs * by_means, by_log_probs * by_log_std


def mirror_loss(transformed: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """L_pi of MSL, and its derivative by ``transformed``; that by ``other`` is its negative."""
    return losses.mirror_loss(transformed, other), (transformed - other) * (2 / other.shape[-1])
