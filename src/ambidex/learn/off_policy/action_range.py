"""Actions as Stable-Baselines3's off-policy algorithms hold them: each element scaled to [-1, 1].

A description speaks of the actions of the environment. Where the ranges of two actuators differ, or are not
centred on 0, its maps are other ones in scaled actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.policies import BasePolicy

from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.learn.networks.actuated import Actuated

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ActionRange:
    """``a = centre + half * b`` with the scaled action b.

    :param centre: (n,) of each element's range
    :param half: (n,) half of its width
    """

    centre: FloatArray
    half: FloatArray

    @classmethod
    def of(cls, space: spaces.Space[Any]) -> ActionRange:
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise ValueError(f"the actions are {space}; a Box of one dimension has ranges")
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        for element in np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low < high))):
            raise ValueError(
                f"action {element}: its range is [{low[element]:g}, {high[element]:g}], which cannot be "
                "scaled to [-1, 1]; give it a lower and a higher end"
            )
        return cls((low + high) / 2, (high - low) / 2)

    @classmethod
    def of_policy(cls, policy: BasePolicy) -> ActionRange:
        """From what a policy that squashes says to what the robot gets, the actuators behind it included."""
        if not isinstance(policy, Actuated):
            return cls.of(policy.action_space)
        centre, half = policy.actuator_offset.double(), policy.actuator_scale.double()
        return cls(centre.numpy(force=True), half.numpy(force=True))

    def scaled(self, matrix: FloatArray, bias: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """What ``a -> matrix a + bias`` is in scaled actions: again a matrix and a bias."""
        shift = (matrix @ self.centre + bias - self.centre) / self.half
        shift[np.abs(shift) < ROUNDING] = 0.0
        return matrix * (self.half[None, :] / self.half[:, None]), shift

    def is_exact(self, matrix: FloatArray, bias: FloatArray | float = 0.0) -> BoolArray:
        """(n,) which elements of the map are one scaled element or its negative, and nothing else: these it
        treats alike before and behind an odd function of each element, such as tanh."""
        linear, shift = self.scaled(matrix, bias)
        alone = (np.abs(linear) > ROUNDING).sum(axis=1) == 1
        of_size_one = np.abs(np.abs(linear).sum(axis=1) - 1) < ROUNDING
        exact: BoolArray = alone & of_size_one & (shift == 0)
        return exact
