"""The log-probability of a diagonal Gaussian, and its derivatives by hand."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def log_prob(actions: Tensor, means: Tensor, log_std: Tensor) -> Tensor:
    """log pi(a | mu, sigma)."""
    standardised = (actions - means) * torch.exp(-log_std)
    return -(0.5 * standardised.square() + log_std + HALF_LOG_TWO_PI).sum(dim=-1)


def log_prob_gradients(actions: Tensor, means: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log pi(a), and its derivatives by the means and, for each sample, by the log-std."""
    inverse_std = torch.exp(-log_std)
    standardised = (actions - means) * inverse_std
    squares = standardised.square()
    value = -0.5 * squares.sum(dim=-1) - (log_std + HALF_LOG_TWO_PI).sum()
    return value, standardised * inverse_std, squares - 1
