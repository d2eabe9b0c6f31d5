"""The noise of a Gaussian policy: one standard deviation for each orbit of actuators, and its floor."""

from __future__ import annotations

import math

import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.networks.representation import Representation


class TiedLogStd(nn.Module):
    """The logarithm of the standard deviation of each action, from one parameter per orbit.

    Actuators that an element of the group carries into each other, or mixes, are one orbit. A known ratio of
    two of them (a multiplier other than 1 and -1) is the ratio of their standard deviations too.

    :param group: the group
    :param start: where each parameter starts
    """

    def __init__(self, group: Representation, start: float = 0.0) -> None:
        super().__init__()
        orbit, offset = noise_of_orbits(group.action)
        self.tied = nn.Parameter(torch.full((int(orbit.max()) + 1,), float(start)))
        self.register_buffer("orbit", torch.from_numpy(orbit), persistent=False)
        self.register_buffer("offset", torch.from_numpy(offset).to(self.tied.dtype), persistent=False)
        self.orbit: Tensor
        self.offset: Tensor

    def expand(self, tied: Tensor | None = None) -> Tensor:
        """(actions,) the logarithms.

        :param tied: values to take in the place of the parameter
        """
        return (self.tied if tied is None else tied)[self.orbit] + self.offset

    @torch.no_grad()
    def fold(self, gradient: Tensor) -> Tensor:
        """The gradient by the parameter from that by what `expand` gives."""
        return torch.zeros_like(self.tied).index_add_(0, self.orbit, gradient)


def noise_of_orbits(matrices: FloatArray) -> tuple[IntArray, FloatArray]:
    """(actions,) the orbit of each, and how much its log-std differs from the mean of its orbit.

    :param matrices: (n, actions, actions) how the group acts on actions
    """
    # A covariance that the group leaves as it is: rho D rho^T = D.
    covariance = np.einsum("hij,hkj->ik", matrices, matrices) / len(matrices)
    variance = np.diag(covariance)
    mixed = np.argwhere(np.abs(covariance - np.diag(variance)) > 1e-6 * variance.max())
    if len(mixed):
        first, second = mixed[0]
        raise ValueError(
            f"the group mixes the actions {first} and {second} by matrices that are not orthogonal, so that "
            "no independent noise of the actions is symmetric; describe these actions in other units or axes"
        )
    together = np.asarray((np.abs(matrices) > 1e-9).any(axis=0))
    while (further := np.asarray(together @ together)).sum() > together.sum():
        together = further
    orbit = np.unique(together.argmax(axis=1), return_inverse=True)[1].astype(np.int64)
    log_std = np.log(variance) / 2
    mean = np.bincount(orbit, log_std) / np.bincount(orbit)
    offset = log_std - mean[orbit]
    return orbit, np.where(np.abs(offset) < 1e-12, 0.0, offset)


@torch.no_grad()
def raise_noise(policy: ActorCriticPolicy, least: float) -> None:
    """Bring every standard deviation that is below ``least`` up to it; that of an orbit is its mean."""
    tied: TiedLogStd | None = getattr(policy, "tied_log_std", None)
    log_std = policy.log_std if tied is None else tied.tied
    log_std.clamp_(min=math.log(least))
