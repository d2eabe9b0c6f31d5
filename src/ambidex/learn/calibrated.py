"""The calibrated fit: all action maps from one scale and one offset per actuator (see `calibrate`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.learn.action_maps import ActionMap
from ambidex.learn.calibrate import Calibration, action_map, calibrate
from ambidex.learn.canonical import Noise, Relations
from ambidex.learn.pairwise import Weight, spread_penalty
from ambidex.learn.protocol import FloatArray, Metric
from ambidex.symmetry import SymmetryGroup

Bound = float | tuple[float, ...]


def uncertainty_penalty(half_width: float) -> float:
    """At most 0.2, falling with the half-width of the confidence interval.

    The paper's 0.05 averages out the noise of single fits; a calibration has less, and an average that lags
    behind the policy holds the policy back.
    """
    return 0.2 * 0.01 / (0.01 + half_width**4)


@dataclass(frozen=True)
class CalibratedFit:
    """Fits a scale and an offset per actuator, from which every action map follows.

    The maps compose as the symmetries do at every moment, so there are no cycles to penalise: an update
    counts less where its own confidence interval is wide, and not at all where the policy does not identify
    it.

    :param offsets: whether actuators may have offsets; without them the maps are ``y = m x``
    :param update_weight: from the half-width of the 95 percent interval (of the logarithm of a scale, or of
        an offset) to the weight of an update
    :param function_weight: H_G, from the spread of the last calibrations to how far a map is trusted
    :param window: k_I, how many calibrations that spread looks at, the newest included
    :param noise: see `calibrate`
    :param bounds: lower and upper end of the action box, beyond which means do not count; None for no box
    :param huber: see `calibrate`
    :param largest_scale: an update that would bring a scale above this, or below its inverse, is skipped and
        counted
    """

    offsets: bool = True
    update_weight: Weight = uncertainty_penalty
    function_weight: Weight = spread_penalty
    window: int = 5
    noise: Noise = "any"
    bounds: tuple[Bound, Bound] | None = None
    huber: float | None = None
    largest_scale: float = 20.0

    def __post_init__(self) -> None:
        for name in ("update_weight", "function_weight"):
            if not callable(getattr(self, name)):
                raise ValueError(
                    f"CalibratedFit: {name} is a function of one number; got {getattr(self, name)!r}"
                )
        if isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 1:
            raise ValueError(f"CalibratedFit: window is a number of targets, at least 1; got {self.window!r}")
        if self.noise not in ("any", "proportional"):
            raise ValueError(f"CalibratedFit: noise is 'any' or 'proportional'; got {self.noise!r}")
        if not self.largest_scale > 1:
            raise ValueError(f"CalibratedFit: largest_scale is above 1; got {self.largest_scale!r}")

    def start(self, group: SymmetryGroup) -> CalibratedState:
        return CalibratedState(self, group)


class CalibratedState:
    """The moving averages of log scale and offset, and the last calibrations."""

    def __init__(self, spec: CalibratedFit, group: SymmetryGroup) -> None:
        self.spec = spec
        self.group = group
        self.relations = Relations.of(group)
        size = group.action_size
        self.log_scale = np.zeros(size)
        self.offset = np.zeros(size)
        self.skipped = np.zeros(size, dtype=np.int64)
        self.targets = np.zeros((0, 2, size))  # log scale and offset of the last calibrations, NaN if unknown
        self.half_widths = np.full((2, size), np.nan)  # of the newest, NaN if unknown
        self.agreement = np.zeros((len(group), size))

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        spec = self.spec
        newest = calibrate(
            self.group,
            means,
            symmetric_means,
            offsets=spec.offsets,
            noise=spec.noise,
            bounds=spec.bounds,
            huber=spec.huber,
        )
        target, self.half_widths = self._target(newest)
        self.targets = np.concatenate([self.targets, target[None]])[-spec.window :]
        self.agreement = np.stack([newest.agreement[name] for name in self.group.names])
        weights = self.update_weights()
        moved = self.log_scale + weights[0] * np.nan_to_num(target[0] - self.log_scale)
        sound = np.abs(moved) <= np.log(spec.largest_scale)
        self.log_scale = np.where(sound, moved, self.log_scale)
        self.skipped += ~sound
        self.offset = self.offset + weights[1] * np.nan_to_num(target[1] - self.offset)

    def _target(self, newest: Calibration) -> tuple[FloatArray, FloatArray]:
        """Log scale and offset as calibrated, and their half-widths: (2, n) each, NaN where unknown."""
        known = np.stack([newest.identifiable, newest.offset_identifiable])
        log_scale = np.log(newest.scale)
        for label in np.unique(newest.orbit[newest.identifiable]):
            # Only ratios are measured: the common factor stays where the average has it.
            members = newest.orbit == label
            log_scale[members] += self.log_scale[members].mean()
        values = np.stack([log_scale, newest.offset])
        half_widths = np.stack(
            [np.log(newest.interval.scale[:, 1] / newest.scale), newest.interval.offset[:, 1] - newest.offset]
        )
        return np.where(known, values, np.nan), np.where(known, half_widths, np.nan)

    def update_weights(self) -> FloatArray:
        """w_U of each scale and each offset, 0 where the newest calibration does not know it: (2, n)."""
        weigh = self.spec.update_weight
        return np.array(
            [[0.0 if np.isnan(width) else weigh(float(width)) for width in row] for row in self.half_widths]
        )

    def action_maps(self) -> dict[str, ActionMap]:
        scale = np.exp(self.log_scale)
        weights = self.function_weights()
        return {
            name: replace(action_map(self.group, name, scale, self.offset), weights=weights[j])
            for j, name in enumerate(self.group.names)
        }

    def function_weights(self) -> FloatArray:
        """w_G of each element of each transform, 1 where nothing was fitted: (transforms, n)."""
        i, k = self.relations.target, self.relations.source
        log_scale, offset = self.targets[:, 0], self.targets[:, 1]
        log_slopes = log_scale[:, i] - log_scale[:, k]
        slopes = self.relations.multiplier * np.exp(np.nan_to_num(log_slopes))
        spread = _finite_spread(log_slopes) + _finite_spread(
            offset[:, i] - slopes * offset[:, k], relative=True
        )
        weigh = self.spec.function_weight
        return np.array([weigh(float(value)) for value in spread]).reshape(len(self.group), -1)

    def metrics(self) -> list[Metric]:
        actuators = [str(i) for i in range(self.group.action_size)]
        weights = self.update_weights()
        rows: list[tuple[str, npt.NDArray[Any]]] = [
            ("scale", np.exp(self.log_scale)),
            ("offset", self.offset),
            ("scale_half_width", self.half_widths[0]),
            ("offset_half_width", self.half_widths[1]),
            ("scale_update_weight", weights[0]),
            ("offset_update_weight", weights[1]),
            ("skipped_updates", self.skipped),
        ]
        if len(self.targets):
            rows += [("target_scale", np.exp(self.targets[-1, 0])), ("target_offset", self.targets[-1, 1])]
        metrics: list[Metric] = [
            (metric, "", element, float(value))
            for metric, values in rows
            for element, value in zip(actuators, values, strict=True)
            if np.isfinite(value)
        ]
        metrics += self._pair_targets()
        for name, estimator, agreement in zip(
            self.group.names, self.action_maps().values(), self.agreement, strict=True
        ):
            for metric, values in (
                ("map_m", estimator.multipliers),
                ("map_b", estimator.biases),
                ("function_weight", estimator.weights),
                ("agreement", agreement),
            ):
                metrics += [(metric, name, str(i), float(value)) for i, value in enumerate(values)]
        return metrics

    def _pair_targets(self) -> list[Metric]:
        """m of each pair q -> u as the newest calibration has it, named as the pairwise fit names it."""
        if not len(self.targets):
            return []
        log_scale = self.targets[-1, 0]
        ends = np.sort(np.stack([self.relations.target, self.relations.source], axis=1), axis=1)
        pairs = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
        return [
            ("target_m", "", f"{q}->{u}", float(np.exp(log_scale[u] - log_scale[q])))
            for q, u in pairs
            if np.isfinite(log_scale[u] - log_scale[q])
        ]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name).copy() for name in _STATE}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in _STATE:
            if name not in state:
                raise ValueError(f"the state of a CalibratedFit has {name!r}, but {sorted(state)} were given")
            expected, found = getattr(self, name).shape, np.shape(state[name])
            if found != expected and (name != "targets" or found[1:] != expected[1:]):
                raise ValueError(
                    f"the fit's state {name!r} has the shape {found}, this group needs {expected}"
                )
        for name in _STATE:
            setattr(self, name, np.array(state[name]))


_STATE = ("log_scale", "offset", "skipped", "targets", "half_widths", "agreement")


def _finite_spread(targets: FloatArray, relative: bool = False) -> FloatArray:
    """The standard deviation of each column's finite targets, by choice over their mean; 0 where none is."""
    known = np.isfinite(targets)
    count = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, targets, 0.0)
    mean = values.sum(axis=0) / count
    deviation = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / count)
    spread: FloatArray = deviation / (np.abs(mean) + 0.1) if relative else deviation  # eq:func_weight
    return spread
