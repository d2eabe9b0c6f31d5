"""The scales behind an actuated policy: known, or fitted to transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ambidex.actuators.action_map import ActionMap
from ambidex.actuators.scales import Scales, action_map
from ambidex.common.arrays import FloatArray, below
from ambidex.learn.fits.moving_average import ScaleAverage
from ambidex.learn.fits.protocol import Fit, Metric, WatchesTransitions
from ambidex.learn.losses.constants import Batch
from ambidex.symmetry import IndexMap, SymmetryGroup

ActuatorChoice = Fit | Scales | None


class KnownActuators:
    """Scales that were measured before and stay as they are.

    :param scales: of each actuator
    :param group: the symmetries
    """

    def __init__(self, scales: Scales, group: SymmetryGroup) -> None:
        if len(scales.scale) != group.action_size:
            raise ValueError(
                f"actuators: the calibration has {len(scales.scale)} actuators, the transforms act on "
                f"{group.action_size}"
            )
        self._scale, self._offset = scales.scale, scales.offset
        self._group = group

    def watch(self, batch: Batch) -> None:
        """Nothing is learned."""

    @property
    def scale(self) -> FloatArray:
        return self._scale

    @property
    def offset(self) -> FloatArray:
        return self._offset

    def action_maps(self) -> dict[str, ActionMap]:
        return {name: action_map(self._group, name, self.scale, self.offset) for name in self._group.names}

    def metrics(self) -> list[Metric]:
        return []

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Nothing is kept."""


class FittedActuators:
    """Scales that follow the robot.

    :param fit: one that sees transitions
    :param group: the symmetries
    """

    def __init__(self, fit: Fit, group: SymmetryGroup) -> None:
        state = fit.start(group)
        if not isinstance(state, WatchesTransitions) or not isinstance(state, ScaleAverage):
            raise ValueError(
                f"actuators: {type(fit).__name__} reads the scales from the policy's own means, which are "
                "canonical here, so it would only read back what was put in; use TransitionFit()"
            )
        self._state = state

    def watch(self, batch: Batch) -> None:
        """Learn from a finished roll-out, with the policy as it was then, or from new transitions."""
        if len(batch.transitions):
            self._state.watch(batch.transitions)
        self._state.update(np.zeros((0, 0)), {})

    @property
    def scale(self) -> FloatArray:
        return np.exp(self._state.log_scale)

    @property
    def offset(self) -> FloatArray:
        return self._state.offset

    def action_maps(self) -> dict[str, ActionMap]:
        return self._state.action_maps()

    def metrics(self) -> list[Metric]:
        return self._state.metrics()

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {f"actuators/{name}": array for name, array in self._state.state().items()}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._state.set_state(below("actuators/", state))


def start(choice: ActuatorChoice, group: SymmetryGroup | None) -> KnownActuators | FittedActuators | None:
    """What a model's ``actuators=`` means for its robot."""
    if choice is None:
        return None
    if group is None:
        raise ValueError("actuators are compared by symmetries; pass symmetries=")
    for symmetry in group:
        if not isinstance(symmetry.action_map, IndexMap):
            raise ValueError(
                f"actuators: transform {symmetry.name!r} mixes actions by a matrix, which no scale adapts"
            )
    if isinstance(choice, Scales):
        return KnownActuators(choice, group)
    if isinstance(choice, type) or not isinstance(choice, Fit):
        raise ValueError(f"actuators is TransitionFit(), a calibration or None; got {choice!r}")
    return FittedActuators(choice, group)


def refuse_space(space: spaces.Space[Any]) -> None:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise ValueError(f"actuators: the actions are {space}; a scale is for a Box of one dimension")
