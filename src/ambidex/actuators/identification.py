"""`identify`: one scale and one offset per actuator, from what the robot does, whatever the policy.

An exploring policy makes a small randomised experiment at every step, and the symmetry says which experiments
should have had the same outcome (eq:homTran2): seen in the place of its counterpart (see `views`), an
actuator's command should change the speed of its joint as the counterpart's does,

    v' - v = F(s) + R(s, p_i S a_i),

with R common to the orbit and p_i = 1/s_i the actuator's own. R says how a joint answers a torque in this
posture and contact, so that legs that stand and legs that swing are compared at like; it differs between the
two directions and has higher powers of the torque too, since a joint that meets its limit and a leg on the
ground answer less than their share. F may differ from actuator to actuator; only to find offsets it is taken
to be common, too. All are linear in features; `response` has the regression.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ambidex.actuators.canonical import ElementRelations, OrbitProblem
from ambidex.actuators.driven.limb_identification import limb_identification
from ambidex.actuators.driven.limbs import limb_views
from ambidex.actuators.driven.strengths import robust_limb_moments
from ambidex.actuators.reciprocity import CrossAnswers
from ambidex.actuators.response import BLOCKS, answers, intercepts, robust_moments, without_controls
from ambidex.actuators.scales import (
    ALONE,
    COUNTERPART_LOADED,
    LARGEST_ERROR,
    LEAST_PER_FEATURE,
    LEAST_SHARE,
    LOADED,
    NO_EXPERIMENT,
    NO_EXPERIMENT_OF_COUNTERPART,
    UNCERTAIN,
    Identification,
    jackknife,
    smallest_offsets,
    wrong_answer,
)
from ambidex.actuators.transitions import OrbitViews, Transitions, orbit_views
from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.common.regression import expected_from
from ambidex.symmetry import SymmetryGroup

OFFSETS_OF_DRIVES = (
    "offsets cannot be told under a described drive: its controller reads the same encoder that is observed, "
    "so a reading that is off shows in the forces of weight and ground only; leave offsets out"
)
LEAST_NOVELTY = 1e-4  # of a command's mean square: the part that does not follow from the state


def identify(
    group: SymmetryGroup,
    observations: npt.ArrayLike,
    actions: npt.ArrayLike,
    next_observations: npt.ArrayLike,
    *,
    means: npt.ArrayLike | None = None,
    offsets: bool = False,
    confidence: float = 0.95,
) -> Identification:
    """Estimate the scale and offset of every actuator from transitions (s, a, s').

    The commands must vary beyond what follows from the state: noise of an exploring policy, a person's jerks,
    a shaker. No policy is needed. Where the description says what the motors make of a command (``drive:``),
    a scale is the inverse of a motor's strength; see `strengths`.

    :param group: the ideal symmetries, described by names: which observation is the speed of which joint
    :param observations: (T, o) in the order in which they were visited
    :param actions: (T, n) as the robot got them, clipped to the action box
    :param next_observations: (T, o), none of them from after a reset
    :param means: (T, n) what each action was to be expected from its state, if that is known (see
        `expected_after_clipping`); otherwise it is estimated, which is less sure where the policy is far from
        smooth: what the estimate misses counts as an experiment
    :param offsets: whether actuators may have offsets, read from what is left when all else is explained
    :param confidence: of the intervals, which take the correlation of consecutive states into account
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence}")
    driven = is_driven(group)
    if driven and offsets:
        raise ValueError(OFFSETS_OF_DRIVES)
    transitions = _checked(group, observations, actions, next_observations, means)
    if driven:
        limbs = limb_views(group)
        limb_sums = [robust_limb_moments(limb, transitions) for limb in limbs]
        return limb_identification(
            group, limbs, limb_sums, transitions=len(transitions), confidence=confidence
        )
    orbits = orbit_views(group, mirrored=not offsets)
    sums = [robust_moments(orbit, transitions) for orbit in orbits]
    cross_answers = CrossAnswers(group)
    return identification(
        group,
        orbits,
        sums,
        cross_answers,
        cross_answers.moments(transitions),
        transitions=len(transitions),
        offsets=offsets,
        confidence=confidence,
    )


def is_driven(group: SymmetryGroup) -> bool:
    """Whether the description says what its motors make of a command."""
    return group.layout is not None and group.layout.drive is not None


def takes_targets(group: SymmetryGroup) -> bool:
    """Whether its commands are positions or speeds that a controller is to reach."""
    layout = group.layout
    return layout is not None and layout.drive is not None and layout.drive.action != "torque"


def expected_after_clipping(
    means: FloatArray, deviation: FloatArray, low: npt.ArrayLike, high: npt.ArrayLike
) -> FloatArray:
    """The mean of a Gaussian action that is clipped to the action box: (T, n)."""
    below, above = ((np.asarray(end, dtype=np.float64) - means) / deviation for end in (low, high))
    inside = means * (ndtr(above) - ndtr(below)) + deviation * (_density(below) - _density(above))
    ends = [
        np.where(np.isfinite(end), end, 0.0) * share
        for end, share in ((low, ndtr(below)), (high, ndtr(-above)))
    ]
    expected: FloatArray = inside + ends[0] + ends[1]
    return expected


def _density(standardised: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * np.square(standardised)) / np.sqrt(2 * np.pi)
    return density


def identification(
    group: SymmetryGroup,
    orbits: Sequence[OrbitViews],
    sums: Sequence[FloatArray],
    cross_answers: CrossAnswers,
    cross_sums: FloatArray,
    *,
    transitions: float,
    offsets: bool,
    confidence: float,
    loaded_before: BoolArray | None = None,
) -> Identification:
    """From the moments of each orbit, of so many transitions, to scales and offsets with their intervals.

    :param cross_answers: which tells loads from weak motors, by
    :param cross_sums: its moments
    :param loaded_before: (n,) what to go on from where these cannot tell; None is: no load
    """
    size = group.action_size
    relations = ElementRelations.of(group)
    log_scale, offset = np.zeros((2, BLOCKS + 1, size))
    identifiable, offset_identifiable, offset_shared = np.zeros((3, size), dtype=bool)
    label = np.arange(size)
    reasons = [""] * size
    for orbit, blocks in zip(orbits, sums, strict=True):
        members = orbit.members
        label[members] = members[0]
        problems = np.concatenate([blocks.sum(axis=0)[None], blocks.sum(axis=0) - blocks])
        rest, _ = without_controls(orbit, problems)
        if missing := _missing(orbit, problems[0], rest[0], transitions):
            for member, reason in zip(members, missing, strict=True):
                reasons[member] = reason
            continue
        gains, _ = answers(orbit, rest)
        if (shares := gains / np.abs(gains).max(axis=-1, keepdims=True)).min() < LEAST_SHARE:
            for member, own in zip(members, shares.T, strict=True):
                reasons[member] = wrong_answer(own)
            continue
        log_scale[:, members] = -np.log(gains)
        everything = np.ones(len(relations.target), dtype=bool)
        problem = OrbitProblem(relations, members, everything)
        scale_known = jackknife(log_scale[1:, members]) < LARGEST_ERROR
        identifiable[members] = scale_known & (len(members) > 1)
        if offsets:
            found = intercepts(orbit, problems, *answers(orbit, rest, alike=True))
            offset[:, members], offset_shared[members] = smallest_offsets(
                found, problem.shift_direction, 1 / gains
            )
            alone = len(members) == 1 and problem.shift_direction is not None
            command = len(blocks[0, 0]) - len(orbit.terms) - 1  # the column of the command itself
            usual = np.sqrt(blocks[..., command, command].sum() / blocks[..., 0, 0].sum())
            offset_known = jackknife(offset[1:, members]) < LARGEST_ERROR * usual
            offset_identifiable[members] = scale_known & offset_known & (not alone)
        for member, known in zip(members, scale_known, strict=True):
            if len(members) == 1:
                reasons[member] = ALONE
            elif not known:
                reasons[member] = UNCERTAIN
    before = np.zeros(size, dtype=bool) if loaded_before is None else loaded_before
    loaded = cross_answers.loaded(cross_sums, log_scale, before)
    identifiable &= ~loaded
    offset_identifiable &= ~loaded
    heavier = cross_answers.heavier(log_scale)
    for member in np.flatnonzero(loaded):
        if reasons[member] in ("", UNCERTAIN):
            reasons[member] = LOADED if heavier[member] else COUNTERPART_LOADED
    return Identification.estimated(
        log_scale,
        offset,
        identifiable,
        offset_identifiable,
        confidence,
        group=group,
        offset_shared=offset_shared,
        orbit=label,
        reasons=tuple(reasons),
        transitions=float(transitions),
        loaded=loaded,
    )


def _missing(orbit: OrbitViews, sums: FloatArray, rest: FloatArray, transitions: float) -> list[str]:
    """What the data of an orbit lack, a reason for each of its actuators; none if they can tell."""
    needed = max(LEAST_PER_FEATURE * len(orbit.every_term), 2 * orbit.every_column)
    if transitions < needed:
        few = f"there are {transitions:.0f} transitions; {needed} are the least that can tell"
        return [few] * len(orbit.members)
    if not sums[:, -1, -1].any():
        still = "the speed of its joint never changes; are the next observations those after the step?"
        return [still] * len(orbit.members)
    experiments = _has_experiments(orbit, sums, rest)
    if experiments.all():
        return []
    return [NO_EXPERIMENT_OF_COUNTERPART if has_own else NO_EXPERIMENT for has_own in experiments]


def _has_experiments(orbit: OrbitViews, sums: FloatArray, rest: FloatArray) -> BoolArray:
    """Of which members of an orbit the commands are more than what follows from the state."""
    command = sums.shape[-1] - len(orbit.terms) - 1  # the column of the command itself
    whole = orbit.of_members(sums)[:, command, command]
    known: BoolArray = rest[:, 0, 0] > LEAST_NOVELTY * whole
    return known


def _checked(
    group: SymmetryGroup,
    observations: npt.ArrayLike,
    actions: npt.ArrayLike,
    next_observations: npt.ArrayLike,
    means: npt.ArrayLike | None,
) -> Transitions:
    """Arrays of finite numbers whose shapes fit the group and each other."""
    given = {
        "observations": (observations, group.observation_size),
        "actions": (actions, group.action_size),
        "next_observations": (next_observations, group.observation_size),
    } | ({} if means is None else {"means": (means, group.action_size)})
    arrays: dict[str, FloatArray] = {}
    for name, (values, size) in given.items():
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != size:
            raise ValueError(f"{name}: expected a row of {size} per transition, got shape {array.shape}")
        if arrays and len(array) != len(arrays["observations"]):
            raise ValueError(
                f"{name} has {len(array)} rows, but there are {len(arrays['observations'])} observations"
            )
        if not np.isfinite(array).all():
            row, element = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(f"{name}: row {row}, element {element} is {array[row, element]}")
        arrays[name] = array
    if not len(arrays["observations"]):
        raise ValueError("there are no transitions")
    arrays.setdefault("means", expected_from(arrays["observations"], arrays["actions"]))
    return Transitions(**arrays)
