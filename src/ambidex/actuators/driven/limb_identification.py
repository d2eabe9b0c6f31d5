"""From the regression of each limb to what is known about its motors, and why something is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.driven.limbs import LimbViews
from ambidex.actuators.driven.loads import loaded_limb
from ambidex.actuators.driven.strengths import projected, strengths
from ambidex.actuators.response import BLOCKS
from ambidex.actuators.scales import (
    ALONE,
    COUNTERPART_LOADED,
    LARGEST_ERROR,
    LEAST_PER_FEATURE,
    LEAST_SHARE,
    LOADED,
    NO_EXPERIMENT,
    UNCERTAIN,
    Identification,
    jackknife,
    wrong_answer,
)
from ambidex.common.arrays import FloatArray
from ambidex.symmetry import SymmetryGroup

LEAST_TOLD = 1e-3  # of the impulses: the part that the experiments of the commands explain
# What the regression leaves out (friction, the motion within a step), as a standard error of the logarithm of
# a scale: so much in any case, and such a share of it. Found on robots that are known.
LEFT_OUT, SHARE_LEFT_OUT = 0.005, 0.03


def limb_identification(
    group: SymmetryGroup,
    limbs: Sequence[LimbViews],
    sums: Sequence[FloatArray],
    *,
    transitions: float,
    confidence: float,
) -> Identification:
    """From the moments of each limb, of so many transitions, to scales with their intervals."""
    size = group.action_size
    relations = ElementRelations.of(group)
    label = np.arange(size)
    for orbit in relations.orbits(np.ones(len(relations.target), dtype=bool)):
        label[orbit] = orbit[0]
    log_scale = np.zeros((BLOCKS + 1, size))
    identifiable, is_loaded = np.zeros((2, size), dtype=bool)
    reasons = [""] * size
    for limb, blocks in zip(limbs, sums, strict=True):
        members = np.unique(limb.members)
        needed = max(LEAST_PER_FEATURE * limb.terms, 2 * limb.row_size)
        if transitions < needed:
            for member in members:
                few = f"there are {transitions:.0f} transitions; {needed} are the least that can tell"
                reasons[member] = few
            continue
        problems = np.concatenate([blocks.sum(axis=0)[None], blocks.sum(axis=0) - blocks])
        squares, products, left, told = projected(limb, problems)
        if told.min() < LEAST_TOLD:
            for member in members:
                reasons[member] = NO_EXPERIMENT
            continue
        gains, response = strengths(limb, squares, products, left)
        if (loaded := loaded_limb(limb, squares, products, gains, response, LEFT_OUT)) is not None:
            is_loaded[members] = True
            for member in members:
                reasons[member] = LOADED if member in loaded else COUNTERPART_LOADED
            continue
        for orbit in np.unique(label[members]):
            own = label[members] == orbit
            shares = gains[:, own] / np.abs(gains[:, own]).max(axis=-1, keepdims=True)
            if shares.min() < LEAST_SHARE:
                for member, share in zip(members[own], shares.T, strict=True):
                    reasons[member] = wrong_answer(share)
                continue
            log_scale[:, members[own]] = -np.log(gains[:, own])
            known = jackknife(log_scale[1:, members[own]]) < LARGEST_ERROR
            identifiable[members[own]] = known & (own.sum() > 1)
            for member, sure in zip(members[own], known, strict=True):
                if own.sum() == 1:
                    reasons[member] = ALONE
                elif not sure:
                    reasons[member] = UNCERTAIN
    return Identification.estimated(
        log_scale,
        np.zeros((BLOCKS + 1, size)),
        identifiable,
        np.zeros(size, dtype=bool),
        confidence,
        group=group,
        offset_shared=np.zeros(size, dtype=bool),
        orbit=label,
        reasons=tuple(reasons),
        transitions=float(transitions),
        loaded=is_loaded,
        left_out=np.hypot(LEFT_OUT, SHARE_LEFT_OUT * log_scale[0]),
    )
