"""The log-probability of a diagonal Gaussian, and its derivatives by hand."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def log_prob(actions: Tensor, means: Tensor, log_std: Tensor, elements: Tensor | None = None) -> Tensor:
    """log pi(a | mu, sigma).

    :param elements: how much the logarithm of each action element counts; None where all count 1
    """
    standardised = (actions - means) * torch.exp(-log_std)
    each = 0.5 * standardised.square() + log_std + HALF_LOG_TWO_PI
    return -(each if elements is None else elements * each).sum(dim=-1)


def approx_kl(log_ratio: Tensor) -> Tensor:
    """KL(pi_old || pi) of each sample, by log(pi / pi_old) alone."""
    return torch.expm1(log_ratio) - log_ratio  # http://joschu.net/blog/kl-approx.html


def log_prob_gradients(
    actions: Tensor, means: Tensor, log_std: Tensor, elements: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """log pi(a), and its derivatives by the means and, for each sample, by the log-std.

    :param elements: see `log_prob`
    """
    inverse_std = torch.exp(-log_std)
    standardised = (actions - means) * inverse_std
    squares = standardised.square()
    if elements is None:
        value = -0.5 * squares.sum(dim=-1) - (log_std + HALF_LOG_TWO_PI).sum()
        return value, standardised * inverse_std, squares - 1
    value = -(elements * (0.5 * squares + log_std + HALF_LOG_TWO_PI)).sum(dim=-1)
    return value, elements * standardised * inverse_std, elements * (squares - 1)
