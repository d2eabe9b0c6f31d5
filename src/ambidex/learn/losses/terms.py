"""The symmetry losses as pure functions of tensors, one value per sample and transform.

Shapes are (..., n) for actions and (...) for the rest; whatever the caller detached stays without gradient.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def gaussian_log_prob(actions: Tensor, means: Tensor, log_std: Tensor) -> Tensor:
    """log pi(a | mu, sigma) of a diagonal Gaussian."""
    standardised = (actions - means) * torch.exp(-log_std)
    return -(0.5 * standardised.square() + log_std + HALF_LOG_TWO_PI).sum(dim=-1)


def mirror_loss(transformed: Tensor, other: Tensor) -> Tensor:
    """L_pi of MSL: the mean over the action elements of the squared difference.

    :param transformed: g(mu(s)); for the original form g(mu(f(s)))
    :param other: mu(f(s)); for the original form mu(s)
    """
    return (transformed - other).square().mean(dim=-1)  # eq:MSL_Lpi


def proximal_ceiling(sampled_log_probs: Tensor, old_log_probs: Tensor, clip_range: float) -> Tensor:
    """The log-probability above which neither minimum of PSL lets a gradient through.

    :param sampled_log_probs: log pi_old(a | s)
    :param old_log_probs: log pi_old(g(a-bar) | f(s))
    :param clip_range: epsilon
    """
    return torch.minimum(sampled_log_probs, old_log_probs + math.log1p(clip_range))


def proximal_loss(log_probs: Tensor, old_log_probs: Tensor, ceilings: Tensor) -> Tensor:
    """L_pi of PSL: ``-min(x, 1 + epsilon)``, both minima taken before the exponential so that none overflows.

    :param log_probs: log pi(g(a-bar) | f(s)), the only argument with a gradient
    :param old_log_probs: the same before the update
    :param ceilings: see `proximal_ceiling`
    """
    return -torch.exp(torch.minimum(log_probs, ceilings) - old_log_probs)  # eq:psl_pi_loss, eq:sym_ratio


def mean_shift(sigma: Tensor, max_shift: Tensor, clip_range: float) -> Tensor:
    """Delta mu: how far the mean of a symmetric state may move in one iteration.

    :param sigma: (n,) at the start of the update
    :param max_shift: (N, 1) k_s of each transform
    :param clip_range: epsilon
    """
    # xi = (1 + epsilon)^(1/n) - 1                                                            eq:xi
    log_one_plus_xi = math.log1p(clip_range) / sigma.shape[-1]
    return max_shift * sigma * math.sqrt(2 * log_one_plus_xi)  # eq:ASL_impl_delta_mu


def adaptive_target(transformed: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """tau: the symmetric action, no farther than the mean shift from where the update began.

    :param transformed: g-hat(mu_last(s)), detached
    :param lower: a-bar' - Delta mu
    :param upper: a-bar' + Delta mu
    """
    return torch.clamp(transformed, lower, upper)  # eq:ASL_impl_t


def adaptive_loss(means: Tensor, old_means: Tensor, targets: Tensor, precisions: Tensor) -> Tensor:
    """L_pi of ASL before its gates: minus the fixed-sigma ratio toward the target.

    :param means: mu(f(s)), the only argument with a gradient
    :param old_means: a-bar'
    :param targets: tau
    :param precisions: w_G / (2 sigma^2)
    """
    exponents = precisions * ((targets - old_means).square() - (targets - means).square())
    return -torch.exp(exponents.sum(dim=-1))  # eq:ASL_impl_r_with_func_w


def value_loss(symmetric_values: Tensor, returns: Tensor) -> Tensor:
    """L_V of all three losses before gates: the images learn the same value target."""
    return (symmetric_values - returns).square()  # eq:MSL_LV, eq:ASL_v_loss
