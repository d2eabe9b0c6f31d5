"""The fit from transitions: all action maps from what the robot does, however little the policy knows yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.actuators.driven.limb_identification import limb_identification
from ambidex.actuators.driven.limbs import LimbViews, limb_views
from ambidex.actuators.driven.strengths import (
    limb_coefficients,
    limb_moments,
    robust_limb_moments,
)
from ambidex.actuators.identification import OFFSETS_OF_DRIVES, identification, is_driven
from ambidex.actuators.reciprocity import CrossAnswers
from ambidex.actuators.response import BLOCKS, coefficients, moments, robust_moments
from ambidex.actuators.scales import Identification
from ambidex.actuators.transitions import OrbitViews, Transitions, orbit_views
from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.moving_average import ScaleAverage, Target
from ambidex.learn.fits.pairwise import spread_penalty
from ambidex.learn.fits.protocol import Metric, Weight, check_weights
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
    are normalised, the joint limits and contacts of the description say less, and a ``drive`` of targets says
    nothing: it is refused.

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
        check_weights(self)
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
        self.orbits: list[OrbitViews] = []
        self.limbs: list[LimbViews] = []
        self.cross_answers: CrossAnswers | None = None
        if is_driven(group):
            if spec.offsets:
                raise ValueError(f"TransitionFit: {OFFSETS_OF_DRIVES}")
            self.limbs = limb_views(group)
        else:
            self.orbits = orbit_views(group, mirrored=not spec.offsets)
            self.cross_answers = CrossAnswers(group)
        self.loaded = np.zeros(group.action_size, dtype=bool)  # by the newest verdict
        self.transitions = np.zeros(())  # how many the sums rest on, those fading that were long ago
        sizes = [(len(orbit.distinct), orbit.row_size) for orbit in self.orbits]
        sizes += [(len(limb.views), limb.row_size) for limb in self.limbs]
        self.moments = [np.zeros((BLOCKS, views, size, size)) for views, size in sizes]
        size = 0 if self.cross_answers is None else self.cross_answers.row_size
        self.cross_sums = np.zeros((BLOCKS, size, size))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Models that were saved by a version that could not tell loads from weak motors are still read."""
        cross_answers = None if state["limbs"] else CrossAnswers(state["group"])
        size = 0 if cross_answers is None else cross_answers.row_size
        added = {
            "cross_answers": cross_answers,
            "cross_sums": np.zeros((BLOCKS, size, size)),
            "loaded": np.zeros(len(state["log_scale"]), dtype=bool),
        }
        self.__dict__.update(added | state)

    def watch(self, transitions: Transitions) -> None:
        """Add the transitions of a roll-out to the sums, and forget a little of what was before.

        Outliers are told from what was learned before, in the first roll-out from itself.
        """
        kept = math.exp(-len(transitions) / self.spec.memory)
        self.moments = [kept * before + self._added(transitions, k) for k, before in enumerate(self.moments)]
        if self.cross_answers is not None:
            earlier = self.cross_sums if self.cross_sums.any() else None
            self.cross_sums = kept * self.cross_sums + self.cross_answers.moments(transitions, earlier)
        self.transitions = np.asarray(kept * self.transitions + len(transitions))

    def _added(self, transitions: Transitions, number: int) -> FloatArray:
        """What the transitions add to the sums of this orbit, or of this limb."""
        before = self.moments[number].sum(axis=0)
        if self.limbs:
            limb = self.limbs[number]
            if self.transitions:
                return limb_moments(limb, transitions, limb_coefficients(limb, before))
            return robust_limb_moments(limb, transitions)
        orbit = self.orbits[number]
        if self.transitions:
            return moments(orbit, transitions, coefficients(orbit, before))
        return robust_moments(orbit, transitions)

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        """Move the estimators toward what all transitions say together; the policy has no say in it."""
        newest = self._newest()
        self.loaded = newest.loaded
        target = Target.of(newest)
        # What is heavier keeps the given map, and that is known for sure.
        known = {name: np.where(self.loaded, 0.0, value) for name, value in target._asdict().items()}
        self.move(Target(**known | {"orbit": target.orbit}))

    def _newest(self) -> Identification:
        count = float(self.transitions)
        if self.cross_answers is None:
            return limb_identification(
                self.group, self.limbs, self.moments, transitions=count, confidence=0.95
            )
        return identification(
            self.group,
            self.orbits,
            self.moments,
            self.cross_answers,
            self.cross_sums,
            transitions=count,
            offsets=self.spec.offsets,
            confidence=0.95,
            loaded_before=self.loaded,
        )

    def function_weights(self) -> FloatArray:
        target, source = self.relations.target, self.relations.source
        width = np.nan_to_num(self.half_widths[0])
        uncertainty = np.where(target == source, 0.0, width[target] + width[source])
        weigh = self.spec.function_weight
        return np.array([weigh(float(value)) for value in uncertainty]).reshape(len(self.group), -1)

    def metrics(self) -> list[Metric]:
        loaded = self._of_actuators(loaded=self.loaded)
        return [*super().metrics(), *loaded, ("transitions", "", "", float(self.transitions))]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        own = {f"moments_{k}": _upper(sums) for k, sums in enumerate(self.moments)}
        return super().state() | own | {"cross_sums": _upper(self.cross_sums), "loaded": self.loaded.copy()}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        taken = [self._taken(state, number) for number in range(len(self.moments))]
        # A version that could not tell loads from weak motors kept neither of these.
        cross_sums = state.get("cross_sums", _upper(np.zeros_like(self.cross_sums)))
        loaded = state.get("loaded", np.zeros_like(self.loaded))
        for name, given, own in (
            ("cross_sums", cross_sums, _upper(self.cross_sums)),
            ("loaded", loaded, self.loaded),
        ):
            if given.shape != own.shape:
                raise ValueError(f"the fit's state {name!r} has the shape {given.shape}, not {own.shape}")
        super().set_state(state)
        self.moments = taken
        self.cross_sums = _symmetric(cross_sums, self.cross_sums.shape[-1])
        self.loaded = loaded.astype(bool)

    @property
    def size(self) -> int:
        """The bytes of its sums, which grow with the fourth power of the number of joints in a limb."""
        return sum(sums.nbytes for sums in (*self.moments, self.cross_sums))

    def _taken(self, state: Mapping[str, npt.NDArray[Any]], number: int) -> FloatArray:
        own = self.moments[number]
        name, expected = f"moments_{number}", _upper(own).shape
        given = state.get(name, np.zeros(0))
        if given.shape == expected:
            return _symmetric(given, own.shape[-1])
        for orbit in self.orbits[number : number + 1]:
            every = orbit.every_column
            if given.shape == (BLOCKS, len(orbit.views), every * (every + 1) // 2):
                # Of a version that added up every column of every view.
                whole = _symmetric(given[:, orbit.distinct], every)
                return np.ascontiguousarray(whole[..., orbit.columns, :][..., orbit.columns])
        raise ValueError(f"the state of this fit has {name!r} of shape {expected}, which is not given")


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
