"""The clipped surrogate of PPO, and its derivative by hand."""

from __future__ import annotations

import torch
from torch import Tensor


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, clip_range: float) -> tuple[Tensor, Tensor]:
    """-L^C of PPO, and its derivative by log pi(a | s).

    Where rounding makes the two products equal although the ratio lies beyond the range, which happens when
    that is hardly wider than the rounding, autograd gives each of the two half of the slope, of which the
    clipped one lets nothing through; so does this.

    :param log_ratio: (B,) log pi(a | s) - log pi_old(a | s)
    :param advantages: (B,)
    :param clip_range: epsilon
    """
    ratio = torch.exp(log_ratio)  # eq:ppo_ratio
    unclipped = advantages * ratio
    kept = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    clipped = advantages * kept
    loss = -torch.minimum(unclipped, clipped)  # eq:lclip
    half = (unclipped == clipped) & (ratio != kept)
    return loss, torch.where(unclipped > clipped, 0.0, torch.where(half, 0.5 * loss, loss))
