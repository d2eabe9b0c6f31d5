"""The moving average of a scale and an offset per actuator, from which every action map follows.

What two fits share that differ in where a scale comes from: `CalibratedFit` reads it from what the policy
does, `TransitionFit` from what the robot does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ambidex.actuators.action_map import ActionMap
from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.scales import Scales, action_map
from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.fits.protocol import Metric, Weight
from ambidex.symmetry import SymmetryGroup


def uncertainty_penalty(half_width: float) -> float:
    """At most 0.2, falling with the half-width of the confidence interval.

    The paper's 0.05 averages out the noise of single fits; an estimate with an interval has less, and an
    average that lags behind holds the policy back.
    """
    return 0.2 * 0.01 / (0.01 + half_width**4)


class ScaleFit(Protocol):
    """What the average needs to know of a fit's hyperparameters."""

    @property
    def update_weight(self) -> Weight: ...

    @property
    def largest_scale(self) -> float: ...


class Target(NamedTuple):
    """What one iteration found, (n,) each, NaN where it is not known.

    :param log_scale: of actuators that were compared with each other, up to a common summand
    :param log_scale_half_width: of its 95 percent interval
    :param orbit: equal numbers for actuators that were compared with each other
    """

    log_scale: FloatArray
    offset: FloatArray
    log_scale_half_width: FloatArray
    offset_half_width: FloatArray
    orbit: IntArray

    @classmethod
    def of(cls, found: Scales) -> Target:
        known, offset_known = found.identifiable, found.offset_identifiable
        return cls(
            np.where(known, np.log(found.scale), np.nan),
            np.where(offset_known, found.offset, np.nan),
            np.where(known, np.log(found.interval.scale[:, 1] / found.scale), np.nan),
            np.where(offset_known, found.interval.offset[:, 1] - found.offset, np.nan),
            found.orbit,
        )


class ScaleAverage(ABC):
    """The averages of log scale and offset; a subclass says what they move toward, and how far it is trusted.

    :param spec: the fit's hyperparameters
    :param group: the ideal symmetries
    """

    arrays: tuple[str, ...] = ("log_scale", "offset", "skipped", "target", "half_widths")

    def __init__(self, spec: ScaleFit, group: SymmetryGroup) -> None:
        self.group = group
        self.relations = ElementRelations.of(group)
        size = group.action_size
        self.log_scale = np.zeros(size)
        self.offset = np.zeros(size)
        self.skipped = np.zeros(size, dtype=np.int64)
        self.target = np.full((2, size), np.nan)  # the newest log scale and offset, NaN if unknown
        self.half_widths = np.full((2, size), np.nan)
        self._update_weight = spec.update_weight
        self._largest_scale = spec.largest_scale

    def move(self, newest: Target) -> None:
        """Move the averages toward what is known, the less the wider its interval."""
        self.target = np.stack([newest.log_scale, newest.offset])
        for label in np.unique(newest.orbit[np.isfinite(newest.log_scale)]):
            # Only ratios are measured: the common factor stays where the average has it.
            known = (newest.orbit == label) & np.isfinite(newest.log_scale)
            self.target[0, known] += self.log_scale[known].mean() - newest.log_scale[known].mean()
        self.half_widths = np.stack([newest.log_scale_half_width, newest.offset_half_width])
        weights = self.update_weights()
        moved = self.log_scale + weights[0] * np.nan_to_num(self.target[0] - self.log_scale)
        sound = np.abs(moved) <= np.log(self._largest_scale)
        self.log_scale = np.where(sound, moved, self.log_scale)
        self.skipped += ~sound
        self.offset = self.offset + weights[1] * np.nan_to_num(self.target[1] - self.offset)

    def update_weights(self) -> FloatArray:
        """w_U of each scale and each offset, 0 where the newest target does not know it: (2, n)."""
        weigh = self._update_weight
        return np.array(
            [[0.0 if np.isnan(width) else weigh(float(width)) for width in row] for row in self.half_widths]
        )

    @abstractmethod
    def function_weights(self) -> FloatArray:
        """w_G of each element of each transform, 1 where nothing was fitted: (transforms, n)."""

    def action_maps(self) -> dict[str, ActionMap]:
        scale = np.exp(self.log_scale)
        weights = self.function_weights()
        return {
            name: replace(action_map(self.group, name, scale, self.offset), weights=weights[j])
            for j, name in enumerate(self.group.names)
        }

    def metrics(self) -> list[Metric]:
        weights = self.update_weights()
        metrics = self._of_actuators(
            scale=np.exp(self.log_scale),
            offset=self.offset,
            scale_half_width=self.half_widths[0],
            offset_half_width=self.half_widths[1],
            scale_update_weight=weights[0],
            offset_update_weight=weights[1],
            skipped_updates=self.skipped,
            target_scale=np.exp(self.target[0]),
            target_offset=self.target[1],
        )
        metrics += self._pair_targets()
        for name, estimator in self.action_maps().items():
            for metric, values in (
                ("map_m", estimator.multipliers),
                ("map_b", estimator.biases),
                ("function_weight", estimator.weights),
            ):
                metrics += [(metric, name, str(i), float(value)) for i, value in enumerate(values)]
        return metrics

    @staticmethod
    def _of_actuators(**rows: npt.NDArray[Any]) -> list[Metric]:
        """What is known of each actuator, row by row."""
        return [
            (metric, "", str(element), float(value))
            for metric, values in rows.items()
            for element, value in enumerate(values)
            if np.isfinite(value)
        ]

    def _pair_targets(self) -> list[Metric]:
        """m of each pair q -> u as the newest target has it, named as the pairwise fit names it."""
        log_scale = self.target[0]
        ends = np.sort(np.stack([self.relations.target, self.relations.source], axis=1), axis=1)
        pairs = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
        return [
            ("target_m", "", f"{q}->{u}", float(np.exp(log_scale[u] - log_scale[q])))
            for q, u in pairs
            if np.isfinite(log_scale[u] - log_scale[q])
        ]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name).copy() for name in self.arrays}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in self.arrays:
            if name not in state:
                raise ValueError(f"the state of this fit has {name!r}, but {sorted(state)} were given")
            expected, found = getattr(self, name).shape, np.shape(state[name])
            if found != expected and not self._may_have(name, found):
                raise ValueError(
                    f"the fit's state {name!r} has the shape {found}, this group needs {expected}"
                )
        for name in self.arrays:
            setattr(self, name, np.array(state[name]))

    def _may_have(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether an array of the state may have this shape although it has another one at the start."""
        return False
