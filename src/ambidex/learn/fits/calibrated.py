"""The calibrated fit: all action maps from one scale and one offset per actuator (see `calibrate`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from ambidex.actuators.calibration import LEAST_STATES, action_box, calibrate
from ambidex.actuators.canonical import Noise
from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.moving_average import ScaleAverage, Target, uncertainty_penalty
from ambidex.learn.fits.pairwise import spread_penalty
from ambidex.learn.fits.protocol import Metric, Weight, check_weights, check_window
from ambidex.symmetry import SymmetryGroup

Bound = float | tuple[float, ...]


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
    :param bounds: lower and upper end of the action box, beyond which means do not count; None for those of
        the action space in training, and for none elsewhere
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
        check_weights(self)
        check_window(self)
        if self.noise not in ("any", "proportional"):
            raise ValueError(f"CalibratedFit: noise is 'any' or 'proportional'; got {self.noise!r}")
        if self.huber is not None and not self.huber > 0:
            raise ValueError(
                f"CalibratedFit: huber is a positive number of deviations or None; got {self.huber!r}"
            )
        if not self.largest_scale > 1:
            raise ValueError(f"CalibratedFit: largest_scale is above 1; got {self.largest_scale!r}")

    def within(self, space: spaces.Space[Any]) -> CalibratedFit:
        """The same with the bounds of this action space, unless it has bounds of its own."""
        if self.bounds is not None or not isinstance(space, spaces.Box):
            return self
        low = np.where(space.low < space.high, space.low, -np.inf)  # an action that is fixed has no ends
        high = np.where(space.low < space.high, space.high, np.inf)
        return replace(self, bounds=(tuple(low.tolist()), tuple(high.tolist())))

    def start(self, group: SymmetryGroup) -> CalibratedState:
        if self.bounds is not None:
            action_box(self.bounds, group.action_size)
        return CalibratedState(self, group)


class CalibratedState(ScaleAverage):
    """The moving averages of log scale and offset, and the last calibrations."""

    arrays = (*ScaleAverage.arrays, "history", "agreement")

    def __init__(self, spec: CalibratedFit, group: SymmetryGroup) -> None:
        super().__init__(spec, group)
        self.spec = spec
        self.history = np.zeros((0, 2, group.action_size))  # the last targets
        self.agreement = np.zeros((len(group), group.action_size))

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        if len(means) < LEAST_STATES:
            return
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
        self.move(Target.of(newest))
        self.history = np.concatenate([self.history, self.target[None]])[-spec.window :]
        self.agreement = np.stack([newest.agreement[name] for name in self.group.names])

    def function_weights(self) -> FloatArray:
        """w_G of each element of each transform, 1 where nothing was fitted: (transforms, n)."""
        i, k = self.relations.target, self.relations.source
        log_scale, offset = self.history[:, 0], self.history[:, 1]
        log_slopes = log_scale[:, i] - log_scale[:, k]
        slopes = self.relations.multiplier * np.exp(np.nan_to_num(log_slopes))
        spread = _finite_spread(log_slopes) + _finite_spread(
            offset[:, i] - slopes * offset[:, k], relative=True
        )
        weigh = self.spec.function_weight
        return np.array([weigh(float(value)) for value in spread]).reshape(len(self.group), -1)

    def metrics(self) -> list[Metric]:
        return super().metrics() + [
            ("agreement", name, str(i), float(value))
            for name, values in zip(self.group.names, self.agreement, strict=True)
            for i, value in enumerate(values)
        ]

    def _may_have(self, name: str, shape: tuple[int, ...]) -> bool:
        return name == "history" and shape[1:] == self.history.shape[1:]


def _finite_spread(targets: FloatArray, relative: bool = False) -> FloatArray:
    """The standard deviation of each column's finite targets, by choice over their mean; 0 where none is."""
    known = np.isfinite(targets)
    count = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, targets, 0.0)
    mean = values.sum(axis=0) / count
    deviation = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / count)
    spread: FloatArray = deviation / (np.abs(mean) + 0.1) if relative else deviation  # eq:func_weight
    return spread
