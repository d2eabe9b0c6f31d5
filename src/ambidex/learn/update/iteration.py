"""The constants of one iteration, computed once before the first minibatch: the interface of every update.

An update of PPO is a function ``update(model, iteration) -> Statistics``: `ambidex.learn.update.autograd` has
the one for any feed-forward policy, `ambidex.learn.update.fast.update` the one for plain MLPs. Both draw the
same minibatches with `draw_epoch` and compute, for a minibatch of B states and K images of each,

    L = -policy objective + ent_coef * entropy loss + vf_coef * value loss
        + sum over the K images of the mean over the B states of
          [policy_weight * L_pi + value_weight * (V(f(s)) - V_targ)^2] * gate

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

from ambidex.learn.losses.constants import Constants, Observations
from ambidex.learn.losses.gates import Gates
from ambidex.learn.losses.loss import SymmetryLoss


@dataclass(frozen=True, kw_only=True)
class SymmetryConstants:
    """What the symmetry adds to the loss of any actor-critic.

    :param names: of the N transforms
    :param samples: k, the images drawn for each state; None for all N of them
    :param observations: (T, 1 + N, o) each state s followed by its images f_j(s); by key for Dict
        observations
    :param returns: (T,) V_targ
    :param value_weights: (N,) w_V, times N / k where images are sampled (so are all policy weights)
    :param action_matrix: (n, N n) and
    :param action_bias: (N n,) all action maps at once: ``(mu @ action_matrix + action_bias)`` viewed as
        (B, N, n) holds g_j(mu), or g-hat_j(mu) where it is fitted
    :param bend: what fitted forms that are not lines make of the (B, N, n) above; None for lines
    :param gates: of all losses; None if there are none
    :param losses: the constants of each kind of loss
    """

    names: tuple[str, ...]
    samples: int | None
    observations: Observations
    returns: Tensor
    value_weights: Tensor
    action_matrix: Tensor
    action_bias: Tensor
    bend: Callable[[Tensor], Tensor] | None
    gates: Gates | None
    losses: dict[type[SymmetryLoss], Constants]

    @property
    def size(self) -> int:
        """T."""
        return len(self.returns)

    def transformed(self, means: Tensor) -> Tensor:
        """g-hat_j of (B, n), for all transforms: (B, N, n)."""
        images = torch.addmm(self.action_bias, means, self.action_matrix).view(len(means), -1, means.shape[1])
        return images if self.bend is None else self.bend(images)


@dataclass(frozen=True, kw_only=True)
class Iteration(SymmetryConstants):
    """The same with what PPO itself needs.

    :param actions: (T, n) the actions taken, as the policy's distribution takes them; (T,) if discrete
    :param old_log_probs: (T,) log pi_old(a | s)
    :param old_values: (T,) V_old(s)
    :param advantages: (T,) not yet normalised
    :param clip_range: epsilon of this iteration
    :param clip_range_vf: the same for the values; None for no clipping
    """

    actions: Tensor
    old_log_probs: Tensor
    old_values: Tensor
    advantages: Tensor
    clip_range: float
    clip_range_vf: float | None


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


class NonFiniteLoss(FloatingPointError):
    """A term of the loss is NaN or infinite; raised before the optimiser spreads it to the parameters."""
