"""Policies whose network speaks canonical commands c, while the robot gets ``a = o + s c``.

What is learned and compared by symmetry losses is c, in which the robot is as symmetric as its description
says; what each motor really needs is left to the last step before the robot. So the scales never enter an
update, and the standard deviation of a is s times that of c. A roll-out buffer holds c too; a replay, which
outlives its scales, what the robot got.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from torch import Tensor

from ambidex.common.arrays import FloatArray


class Actuated(BasePolicy):
    """Stable-Baselines3 asks a policy that squashes its output to bring actions to the range of the
    environment, in roll-outs and in `predict`: there the commands are made.

    Its scales and offsets are part of its state, as parameters are. They are those of the network's outputs,
    which are canonical commands, or such in units of their range where tanh squashes them.
    """

    canonical_kind: ClassVar[type[BasePolicy]]
    """The policy without the last step."""

    actuator_scale: Tensor
    actuator_offset: Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert isinstance(self.action_space, spaces.Box)
        size = int(np.prod(self.action_space.shape))
        self.register_buffer("actuator_scale", torch.ones(size, device=self.device))
        self.register_buffer("actuator_offset", torch.zeros(size, device=self.device))

    @property
    def squash_output(self) -> bool:
        return True

    def unscale_action(self, scaled_action: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From canonical commands, ``(..., n)``, to what the robot gets, clipped to its range."""
        return self.commands()(scaled_action)

    def commands(self) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
        """`unscale_action` with the scales as they are now, for a roll-out, in which they do not change."""
        space = self.action_space
        assert isinstance(space, spaces.Box)
        scale, offset = self.actuator_scale.numpy(force=True), self.actuator_offset.numpy(force=True)
        return partial(_commands, scale=scale.copy(), offset=offset.copy(), low=space.low, high=space.high)

    def scale_action(self, action: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From commands, ``(..., n)``, to canonical ones."""
        scale, offset = self.actuator_scale.numpy(force=True), self.actuator_offset.numpy(force=True)
        return np.asarray((action - offset) / scale)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the policy that it is made of, since the class itself has no name in any module."""
        return _blank, (self.canonical_kind,), self.__dict__

    @torch.no_grad()
    def set_actuators(self, scale: FloatArray, offset: FloatArray) -> None:
        """Not between a roll-out and its update, so that every ratio begins at 1."""
        self.actuator_scale.copy_(torch.from_numpy(scale))
        self.actuator_offset.copy_(torch.from_numpy(offset))


def _commands(
    canonical: npt.NDArray[Any],
    scale: npt.NDArray[Any],
    offset: npt.NDArray[Any],
    low: npt.NDArray[Any],
    high: npt.NDArray[Any],
) -> npt.NDArray[Any]:
    return within(offset + scale * canonical, low, high)


def within(actions: npt.NDArray[Any], low: npt.NDArray[Any], high: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As the environment gets them; a box of whole numbers gets what was drawn, rounded by nobody."""
    clipped: npt.NDArray[Any] = np.minimum(np.maximum(actions, low), high)
    return clipped.astype(low.dtype, copy=False) if low.dtype.kind == "f" else clipped


@cache
def actuated(kind: type[BasePolicy]) -> type[Actuated]:
    """A policy of this kind with actuators behind it."""
    return type(f"Actuated{kind.__name__}", (Actuated, kind), {"canonical_kind": kind})


def _blank(kind: type[BasePolicy]) -> Actuated:
    own = actuated(kind)
    return own.__new__(own)


def canonical_kind(policy: Any) -> type:
    """The kind of a policy, whatever stands behind it."""
    return policy.canonical_kind if isinstance(policy, Actuated) else type(policy)


def commanded(policy: ActorCriticPolicy, canonical: FloatArray) -> FloatArray:
    """What the robot gets for these outputs of a policy's network, before it is clipped."""
    if not isinstance(policy, Actuated):
        return canonical
    scale, offset = policy.actuator_scale.double(), policy.actuator_offset.double()
    return np.asarray(offset.numpy(force=True) + scale.numpy(force=True) * canonical)


def commanded_deviation(policy: ActorCriticPolicy) -> FloatArray:
    """(n,) the standard deviation of what the robot gets, before it is clipped."""
    deviation = policy.log_std.exp().double()
    if isinstance(policy, Actuated):
        deviation = policy.actuator_scale.double() * deviation
    return np.asarray(deviation.numpy(force=True))
