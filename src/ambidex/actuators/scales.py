"""`Scales`: what each actuator needs beside its counterparts, how surely that is known, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from ambidex.actuators.action_map import ActionMap
from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.symmetry import SymmetryGroup

LARGEST_ERROR = 0.15  # of the logarithm of a scale, or of an offset in usual commands: beyond it, unknown
CHANCE = 2.4  # standard errors, of eight blocks: one comparison in twenty
NOTEWORTHY = 0.05  # of the logarithm of a scale: what differs by less needs no explanation
LEAST_SHARE = 0.01  # of the strongest counterpart's answer: less is none
LEAST_PER_FEATURE = 10  # transitions of an actuator for each feature of its response

ALONE = "no transform relates it to another actuator"
UNCERTAIN = "its response to commands is too uncertain; more varied commands would tell"
NO_EXPERIMENT = "commands that follow from the state alone tell nothing; a little noise on them would"
NO_EXPERIMENT_OF_COUNTERPART = (
    "the commands of a counterpart follow from the state alone; a little noise on them would tell"
)

LOADED = (
    "its limb answers torques less than its counterparts do, but not as weak motors would make it: it "
    "carries a load, has more inertia or friction, its speed is misread, or it moves too unlike them to tell"
)
COUNTERPART_LOADED = (
    "a counterpart of its limb answers torques less, but not as weak motors would make it: that limb "
    "carries a load, has more inertia or friction, its speed is misread, or moves too unlike this one to tell"
)


class Interval(NamedTuple):
    """Confidence intervals, (n, 2) each: lower and upper end."""

    scale: FloatArray
    offset: FloatArray


@dataclass(frozen=True)
class Scales:
    """One scale and one offset per actuator: its command is ``a_i = o_i + s_i c_i``, c the canonical one.

    :param scale: (n,) how much more command than its counterparts; geometric mean 1 over each orbit
    :param offset: (n,) the command at which it does what its counterparts do at 0
    :param log_scale_error: (n,) standard error of the logarithm of the scale; NaN where that is not known
    :param offset_error: (n,) standard error of the offset; NaN where that is not known
    :param interval: confidence intervals of scale and offset; NaN where they are not known
    :param identifiable: (n,) whether the scale is known; otherwise it is 1, as the given symmetry says
    :param offset_identifiable: (n,) whether the offset is known; otherwise it is 0
    :param offset_shared: (n,) whether the orbit's offsets may all be moved together without any effect, so
        that only their differences are known (the smallest such offsets are given)
    :param orbit: (n,) equal numbers for actuators that were compared with each other
    :param reasons: for each actuator why something is not identifiable, or an empty text
    """

    group: SymmetryGroup
    scale: FloatArray
    offset: FloatArray
    log_scale_error: FloatArray
    offset_error: FloatArray
    interval: Interval
    identifiable: BoolArray
    offset_identifiable: BoolArray
    offset_shared: BoolArray
    orbit: IntArray
    reasons: tuple[str, ...]

    @classmethod
    def estimated(
        cls,
        log_scale: FloatArray,
        offset: FloatArray,
        identifiable: BoolArray,
        offset_identifiable: BoolArray,
        confidence: float,
        *,
        left_out: FloatArray | float = 0.0,
        **others: Any,
    ) -> Self:
        """From estimates with all data and without one block of it each, (1 + blocks, n) each.

        :param left_out: the standard error of the logarithm of a scale that is no noise, beside the noise
        :param others: the fields that do not follow from them
        """
        scale = np.where(identifiable, np.exp(log_scale[0]), 1.0)
        known_offset = np.where(offset_identifiable, offset[0], 0.0)
        log_scale_error = np.where(identifiable, np.hypot(jackknife(log_scale[1:]), left_out), np.nan)
        offset_error = np.where(offset_identifiable, jackknife(offset[1:]), np.nan)
        ends = stdtrit(len(log_scale) - 2, 0.5 + confidence / 2) * np.array([-1.0, 1.0])
        return cls(
            scale=scale,
            offset=known_offset,
            log_scale_error=log_scale_error,
            offset_error=offset_error,
            interval=Interval(
                scale=scale[:, None] * np.exp(log_scale_error[:, None] * ends),
                offset=known_offset[:, None] + offset_error[:, None] * ends,
            ),
            identifiable=identifiable,
            offset_identifiable=offset_identifiable,
            **others,
        )

    def action_map(self, name: str) -> ActionMap:
        """g of one transform: ``g(a)_i = o_i + s_i S (a_k - o_k) / s_k``."""
        return action_map(self.group, name, self.scale, self.offset)


@dataclass(frozen=True)
class Identification(Scales):
    """What each actuator needs, relative to its counterparts, as the robot's own motion tells.

    :param transitions: how many it rests on; after slow forgetting, the number that still counts
    :param loaded: (n,) whether its limb, or a counterpart of it, is heavier, which no scale of a motor
        explains: none is given
    """

    transitions: float
    loaded: BoolArray


def action_map(group: SymmetryGroup, name: str, scale: FloatArray, offset: FloatArray) -> ActionMap:
    """The action map of one transform of a robot whose actuators have these scales and offsets."""
    ideal = group[name].action_map
    multipliers = ideal.multipliers * scale / scale[ideal.indices]  # type: ignore[attr-defined]
    return ActionMap(
        indices=ideal.indices,  # type: ignore[attr-defined]
        multipliers=multipliers,
        biases=offset - multipliers * offset[ideal.indices],  # type: ignore[attr-defined]
        weights=np.ones(len(scale)),
    )


def jackknife(without_block: FloatArray) -> FloatArray:
    """Standard errors of estimates, from the estimates that lack one block of data each."""
    blocks = len(without_block)
    error: FloatArray = np.sqrt(blocks - 1) * without_block.std(axis=0)
    return error


def smallest_offsets(
    offset: FloatArray, direction: FloatArray | None, scale: FloatArray
) -> tuple[FloatArray, bool]:
    """Remove from an orbit's offsets what no relation can see, and say whether there is such a thing.

    :param offset: (..., m)
    :param direction: (m,) the canonical commands that every relation keeps; None if only zero is kept
    :param scale: (..., m)
    """
    if direction is None:
        return offset, False
    unseen = direction * scale
    share = (offset * unseen).sum(axis=-1, keepdims=True) / (unseen**2).sum(axis=-1, keepdims=True)
    return offset - share * unseen, True


def wrong_answer(shares: FloatArray) -> str:
    """What is wrong with an orbit of which one actuator answers the other way or not at all."""
    if (shares < -LEAST_SHARE).all():
        return "its joint answers its command the other way round: is its motor or encoder reversed?"
    if (shares >= LEAST_SHARE).all():
        return "a counterpart of it answers its command the other way round or hardly at all"
    return "its joint hardly answers its command"
