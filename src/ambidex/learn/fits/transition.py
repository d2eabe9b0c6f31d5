"""The fit from transitions: all action maps from what the robot does, however little the policy knows yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.actuators.identification import identification
from ambidex.actuators.response import BLOCKS, coefficients, moments, robust_moments
from ambidex.actuators.transitions import Transitions, orbit_views
from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.moving_average import ScaleAverage, Target
from ambidex.learn.fits.pairwise import spread_penalty
from ambidex.learn.fits.protocol import Metric, Weight
from ambidex.symmetry import SymmetryGroup


def certainty(half_width: float) -> float:
    """At most 1, falling with the half-width of the confidence interval.

    The estimate rests on all transitions so far, so it needs no further averaging.
    """
    return 0.01 / (0.01 + half_width**4)


@dataclass(frozen=True)
class TransitionFit:
    """Fits a scale (and an offset) per actuator to the transitions of the roll-outs; see `identify`.

    It needs a description by names, which says which observation is the speed of the joint that an action
    drives. An actuator that the transitions do not identify yet keeps the given map. With observations that
    are normalised, the joint limits and contacts of the description say less, and the rest works as well.

    :param offsets: whether actuators may have offsets. They are read from what is left when everything else
        is explained, so contacts that the regression does not describe show up as offsets: leave them out
        for robots that walk
    :param update_weight: from the half-width of the 95 percent interval (of the logarithm of a scale, or of
        an offset) to the weight of an update
    :param function_weight: H_G, from the uncertainty of a map's multiplier to how far the map is trusted
    :param memory: after this many transitions, what was seen before counts by a factor e less: longer is more
        exact, shorter follows wear sooner
    :param largest_scale: an update that would bring a scale above this, or below its inverse, is skipped and
        counted
    """

    offsets: bool = False
    update_weight: Weight = certainty
    function_weight: Weight = spread_penalty
    memory: float = 500_000
    largest_scale: float = 20.0

    def __post_init__(self) -> None:
        for name in ("update_weight", "function_weight"):
            if not callable(getattr(self, name)):
                raise ValueError(
                    f"TransitionFit: {name} is a function of one number; got {getattr(self, name)!r}"
                )
        if not self.memory > 0:
            raise ValueError(
                f"TransitionFit: memory is a positive number of transitions; got {self.memory!r}"
            )
        if not self.largest_scale > 1:
            raise ValueError(f"TransitionFit: largest_scale is above 1; got {self.largest_scale!r}")

    def start(self, group: SymmetryGroup) -> TransitionState:
        return TransitionState(self, group)


class TransitionState(ScaleAverage):
    """The moving averages of log scale and offset, and the sums that all transitions so far add up to."""

    arrays = (*ScaleAverage.arrays, "transitions")

    def __init__(self, spec: TransitionFit, group: SymmetryGroup) -> None:
        super().__init__(spec, group)
        self.spec = spec
        self.orbits = orbit_views(group)
        self.transitions = np.zeros(())  # how many the sums rest on, those fading that were long ago
        self.moments = [
            np.zeros((BLOCKS, len(orbit.views), orbit.row_size, orbit.row_size)) for orbit in self.orbits
        ]

    def watch(self, transitions: Transitions) -> None:
        """Add the transitions of a roll-out to the sums, and forget a little of what was before.

        Outliers are told from what was learned before, in the first roll-out from itself.
        """
        kept = math.exp(-len(transitions) / self.spec.memory)
        self.moments = [
            kept * before + moments(orbit, transitions, coefficients(orbit, before.sum(axis=0)))
            if self.transitions
            else robust_moments(orbit, transitions)
            for orbit, before in zip(self.orbits, self.moments, strict=True)
        ]
        self.transitions = np.asarray(kept * self.transitions + len(transitions))

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        """Move the estimators toward what all transitions say together; the policy has no say in it."""
        newest = identification(
            self.group,
            self.orbits,
            self.moments,
            transitions=float(self.transitions),
            offsets=self.spec.offsets,
            confidence=0.95,
        )
        self.move(Target.of(newest))

    def function_weights(self) -> FloatArray:
        target, source = self.relations.target, self.relations.source
        width = np.nan_to_num(self.half_widths[0])
        uncertainty = np.where(target == source, 0.0, width[target] + width[source])
        weigh = self.spec.function_weight
        return np.array([weigh(float(value)) for value in uncertainty]).reshape(len(self.group), -1)

    def metrics(self) -> list[Metric]:
        return [*super().metrics(), ("transitions", "", "", float(self.transitions))]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return super().state() | {f"moments_{k}": _upper(sums) for k, sums in enumerate(self.moments)}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        names = [f"moments_{number}" for number in range(len(self.moments))]
        for name, own in zip(names, self.moments, strict=True):
            expected = _upper(own).shape
            if name not in state or state[name].shape != expected:
                raise ValueError(
                    f"the state of this fit has {name!r} of shape {expected}, which is not given"
                )
        super().set_state(state)
        self.moments = [
            _symmetric(state[name], orbit.row_size) for name, orbit in zip(names, self.orbits, strict=True)
        ]


def _upper(matrices: FloatArray) -> FloatArray:
    """The upper triangles of symmetric matrices: (..., d, d) to (..., d (d + 1) / 2)."""
    row, column = np.triu_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[..., row, column])


def _symmetric(upper: FloatArray, size: int) -> FloatArray:
    """The symmetric matrices of these upper triangles."""
    row, column = np.triu_indices(size)
    matrices = np.empty((*upper.shape[:-1], size, size))
    matrices[..., row, column] = upper
    matrices[..., column, row] = upper
    return matrices
