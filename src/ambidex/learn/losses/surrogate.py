"""The clipped surrogate of PPO, and its derivative by hand."""

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
