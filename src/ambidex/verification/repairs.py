"""Which entry of a table is wrong: found by trying what would have been right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.symmetry import ChoiceMap, IndexMap, LinearMap
from ambidex.verification.scores import PLACED_THRESHOLD, Part, likeness

SUBSTANTIAL = 0.65
"""What a repair leaves of the score.

The best single change leaves 0.70 or more of it where a robot is perturbed and its table right, up to motors
that differ by a factor of five (scenarios A3.1, A3.2); the right change of a wrong table leaves 0.0 to 0.2 of
it where the robot is sound.
"""

NOTICEABLE = 0.9  # what each of a repair's several changes leaves
MOST_CHANGES = 8
SCREENED = 5  # candidates that pass a first look


class Readings(NamedTuple):
    """An observation table with its better entries.

    :param is_taken: which elements another one explains far better, but another entry reads that one
    """

    part: Part
    is_taken: BoolArray


def better_readings(part: Part, before: FloatArray, after: FloatArray, spread: FloatArray) -> Readings:
    """The observation table with each entry replaced that another entry explains far better.

    Every element is held against every other, with either sign, on observations of states (``before``) and of
    their images (``after``); nothing has to be simulated again.
    """
    given = part.map
    if not isinstance(given, IndexMap):
        return Readings(part, np.zeros(given.size, np.bool_))
    x, y = before[:, part.elements], after[:, part.elements]
    own = likeness(given(x), y, spread[part.elements])
    indices, multipliers = given.indices.copy(), given.multipliers.copy()
    proposed: dict[int, float] = {}  # how well the better entry of an element fits
    for element in np.flatnonzero(own > PLACED_THRESHOLD).tolist():
        own_spread = np.full(given.size, spread[part.elements][element])
        by_sign = [likeness(sign * x, y[:, [element]], own_spread) for sign in (1.0, -1.0)]
        fits = np.stack(by_sign)
        # The entry's own index first: a wrong sign is likelier than a wrong sign and a wrong index.
        fits[:, given.indices[element]] -= PLACED_THRESHOLD / 4
        row, source = np.unravel_index(np.argmin(fits), fits.shape)
        if fits[row, source] < SUBSTANTIAL * own[element]:
            indices[element], multipliers[element] = source, (1.0, -1.0)[row]
            proposed[element] = float(fits[row, source])
    is_taken = np.zeros(given.size, np.bool_)
    # Each element is read once. The entries as given are; so, taken back one by one, the others come to be.
    while clashing := [e for e in proposed if np.count_nonzero(indices == indices[e]) > 1]:
        worst = max(clashing, key=lambda element: proposed[element])
        del proposed[worst]
        indices[worst], multipliers[worst] = given.indices[worst], given.multipliers[worst]
        is_taken[worst] = True
    return Readings(replace(part, map=IndexMap(indices, multipliers)), is_taken)


def single_changes(given: LinearMap) -> Iterator[LinearMap]:
    """Every flip of one sign, swap of two indices and swap of two whole entries."""
    if not isinstance(given, IndexMap):
        return
    for element in range(given.size):
        if not isinstance(given, ChoiceMap):
            multipliers = given.multipliers.copy()
            multipliers[element] *= -1
            yield IndexMap(given.indices, multipliers)
    for first in range(given.size):
        for second in range(first):
            order = np.arange(given.size)
            order[[first, second]] = second, first
            if isinstance(given, ChoiceMap):
                with suppress(ValueError):  # it would tear a decision's choices apart
                    yield ChoiceMap(given.indices[order], given.sizes)
                continue
            yield IndexMap(given.indices[order], given.multipliers)
            if given.multipliers[first] != given.multipliers[second]:
                yield IndexMap(given.indices[order], given.multipliers[order])


def better_table(
    given: LinearMap,
    screen: Callable[[LinearMap], float],
    measure: Callable[[LinearMap], float],
    *,
    tolerable: float,
) -> LinearMap:
    """The table after a few single changes that together improve it substantially; itself where none do.

    :param screen: a quick score of a table, on a few states
    :param measure: its score on all states
    :param tolerable: the score of a table that needs no change
    """
    at_first = score = measure(given)
    best = given
    for _ in range(MOST_CHANGES):
        if score <= tolerable:
            break
        candidates = sorted(single_changes(best), key=screen)[:SCREENED]
        measured = [(measure(candidate), number) for number, candidate in enumerate(candidates)]
        if not measured or min(measured)[0] > NOTICEABLE * score:
            break
        score, number = min(measured)
        best = candidates[number]
    return best if score < SUBSTANTIAL * at_first else given
