"""The constants of one iteration, computed once before the first minibatch: the interface of every update.

An update is a function ``update(model, prepared) -> Statistics``: `ambidex.learn.update.autograd` has the one
for any feed-forward policy, `ambidex.learn.update.fast.update` the one for plain MLPs. Both draw the same
minibatches with `draw_epoch` and compute, for a minibatch of B states and K images of each,

    L = -policy objective + ent_coef * entropy loss + vf_coef * value loss
        + sum over the K images of the mean over the B states of
          [policy_weight * L_pi + value_weight * (V(f(s)) - V_targ)^2 * gate]

T is the number of states of the batch (steps times environments, in the order of the flattened roll-out
buffer), N the number of transforms that have a loss (in the group's order), n the number of actions, o that
of observations. Every float tensor has the dtype and device of the policy; none requires a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Observations = Tensor | dict[str, Tensor]


@dataclass(frozen=True)
class MSLConstants:
    """:param weights: (N,) w_pi of each transform, 0 where its loss is another one
    :param original_weights: (N,) the same for transforms that use the original form of Yu et al.;
        None where none does
    """

    weights: Tensor
    original_weights: Tensor | None


@dataclass(frozen=True)
class PSLConstants:
    """The policy term is ``-exp(min(log pi(targets | f(s)), ceilings) - old_log_probs)``.

    Its gradient reaches the log-std too.

    :param weights: (N,) w_pi of each transform, 0 where its loss is another one
    :param targets: (T, N, n) g_j(a-bar), by the given map
    :param old_log_probs: (T, N) log pi_old(g_j(a-bar) | f_j(s)), the denominator of x
    :param ceilings: (T, N) the least of log pi_old(a | s) and log(1 + epsilon) + old_log_probs: above it
        neither minimum of the loss lets a gradient through
    """

    weights: Tensor
    targets: Tensor
    old_log_probs: Tensor
    ceilings: Tensor


@dataclass(frozen=True)
class ASLConstants:
    """The policy term is ``-gate * exp(sum_i precision_i * ((tau - a-bar')^2 - (tau - mu(f(s)))^2))``.

    ``tau = clip(g-hat(mu(s)), lower, upper)`` with the current mean and no gradient, and
    ``precision = function_weights / (2 sigma^2)`` with the current sigma and no gradient.

    :param weights: (N,) w_pi of each transform, 0 where its loss is another one
    :param function_weights: (N, n) w_G, 0 where the transform's loss is another one
    :param symmetric_means: (T, N, n) a-bar'
    :param lower: (T, N, n) a-bar' - mean shift
    :param upper: (T, N, n) a-bar' + mean shift
    """

    weights: Tensor
    function_weights: Tensor
    symmetric_means: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True)
class Gates:
    """gate = dead_zone * value gate, for every loss; both are 1 where the transform's loss is not ASL.

    The value gate opens where ``slopes * V(s) + bends * |V(s)| > V(f(s))`` or ``always``, with the current
    critic and no gradient.

    :param dead_zone: (T, N) psi, 1 or 0
    :param slopes: (N,) alpha of each transform
    :param bends: (N,) k_v - alpha of each transform
    :param always: (N,) bool, transforms without a value gate
    """

    dead_zone: Tensor
    slopes: Tensor
    bends: Tensor
    always: Tensor


@dataclass(frozen=True)
class Prepared:
    """:param names: of the N transforms
    :param samples: k, the images drawn for each state; None for all N of them
    :param observations: (T, 1 + N, o) each state s followed by its images f_j(s); by key for Dict
        observations
    :param actions: (T, n) the actions taken, as the policy's distribution takes them; (T,) if discrete
    :param old_log_probs: (T,) log pi_old(a | s)
    :param old_values: (T,) V_old(s)
    :param advantages: (T,) not yet normalised
    :param returns: (T,) V_targ
    :param clip_range: epsilon of this iteration
    :param clip_range_vf: the same for the values; None for no clipping
    :param value_weights: (N,) w_V, times N / k where images are sampled (so are all policy weights)
    :param action_matrix: (n, N n) and
    :param action_bias: (N n,) all action maps at once: ``(mu @ action_matrix + action_bias)`` viewed as
        (B, N, n) holds g-hat_j(mu) for ASL, and g_j(mu) as given for MSL and PSL
    :param gates: None if no transform's loss is ASL
    :param msl: None if no transform's loss is MSL; the same for ``psl`` and ``asl``
    :param bend: what fitted forms that are not lines make of the (B, N, n) above; None for lines
    """

    names: tuple[str, ...]
    samples: int | None
    observations: Observations
    actions: Tensor
    old_log_probs: Tensor
    old_values: Tensor
    advantages: Tensor
    returns: Tensor
    clip_range: float
    clip_range_vf: float | None
    value_weights: Tensor
    action_matrix: Tensor
    action_bias: Tensor
    gates: Gates | None
    msl: MSLConstants | None
    psl: PSLConstants | None
    asl: ASLConstants | None
    bend: Callable[[Tensor], Tensor] | None = None

    @property
    def size(self) -> int:
        """T."""
        return len(self.returns)


@dataclass
class Statistics:
    """What an update reports, averaged as Stable-Baselines3 does: over minibatches of equal weight.

    :param entropy_loss: of all minibatches, as are ``policy_loss``, ``value_loss`` and ``clip_fraction``
    :param approx_kl: of the last epoch's minibatches
    :param loss: of the last minibatch
    :param epochs: how many were begun
    :param stopped_early: whether ``target_kl`` ended the last of them
    :param symmetry_policy_loss: the weighted policy terms of all transforms, as they enter the loss
    :param symmetry_value_loss: the same for the value terms
    :param value_gate_ratio: (N,) the share of each transform's samples that the value gate blocked; 0 for
        transforms without one
    """

    entropy_loss: float
    policy_loss: float
    value_loss: float
    clip_fraction: float
    approx_kl: float
    loss: float
    epochs: int
    stopped_early: bool
    symmetry_policy_loss: float
    symmetry_value_loss: float
    value_gate_ratio: npt.NDArray[np.float64]


def draw_epoch(prepared: Prepared) -> tuple[Tensor, Tensor | None]:
    """The order of the T states in this epoch, and which images each takes along; call it once per epoch.

    The order is Stable-Baselines3's: ``numpy.random.permutation``. The images are k distinct transforms for
    each place of that order, uniformly drawn from the same generator: (T, k), None for all.
    """
    device = prepared.returns.device
    order = torch.from_numpy(np.random.permutation(prepared.size)).to(device)  # noqa: NPY002
    if prepared.samples is None:
        return order, None
    keys = np.random.random((prepared.size, len(prepared.names)))  # noqa: NPY002
    return order, torch.from_numpy(np.argsort(keys, axis=1)[:, : prepared.samples].copy()).to(device)


class NonFiniteLoss(FloatingPointError):
    """A term of the loss is NaN or infinite; raised before the optimiser spreads it to the parameters."""
