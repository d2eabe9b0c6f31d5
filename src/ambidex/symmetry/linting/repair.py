"""The smallest change to one table after which a set of transforms is sound again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import IDENTITY
from ambidex.symmetry.linting.algebra import (
    BODY,
    Parts,
    Sides,
    contradictions,
    hidden_contradiction,
    orders,
    orders_differ,
    telling_sides,
)
from ambidex.symmetry.linting.naming import Naming
from ambidex.symmetry.maps import TOLERANCE, IndexMap, LinearMap, signed_index

MOST_ALTERNATIVES = 4
MOST_SEARCHED = 3  # larger sets have products enough to tell what each transform should be


@dataclass(frozen=True)
class Repair:
    """Replace one side of one transform.

    :param naming: the words of the description for that side, where it has some
    """

    transform: str
    side: str
    given: LinearMap
    expected: LinearMap
    naming: Naming | None = None

    @property
    def changed(self) -> list[int]:
        """The elements that differ."""
        differs = np.abs(self.given.matrix - self.expected.matrix) > TOLERANCE
        return [int(i) for i in np.flatnonzero(differs.any(axis=1))]

    @property
    def element(self) -> int | None:
        return self.changed[0] if self.changed else None

    @property
    def instruction(self) -> str:
        where = f"in {self.transform}"
        given, expected = self.given, self.expected
        if not isinstance(given, IndexMap) or not isinstance(expected, IndexMap):
            return f"recompute {self.side} {_words(self.changed)} {where}"
        moved = [int(i) for i in np.flatnonzero(given.indices != expected.indices)]
        scaled = [int(i) for i in np.flatnonzero(~np.isclose(given.multipliers, expected.multipliers))]
        swapped = len(moved) == 2 and given.indices[moved[0]] == expected.indices[moved[1]]
        if swapped and not scaled:
            return f"swap the indices of {self.side} {_words(moved)} {where}"
        if not moved and len(scaled) == 1:
            element = scaled[0]
            if np.isclose(given.multipliers[element], -expected.multipliers[element]):
                return f"flip the multiplier of {self.side} {element} {where}"
            return f"set the multiplier of {self.side} {element} {where} to {expected.multipliers[element]:g}"
        readings = ", ".join(
            f"{i} from {signed_index(expected.multipliers[i], expected.indices[i])}" for i in self.changed
        )
        return f"{where}, read {self.side} {readings}"

    @property
    def fix(self) -> str:
        """The instruction, in the words of the description before it where it has some."""
        if self.naming is None:
            return self.instruction
        return f"{self.naming.correction(self.given.matrix, self.expected.matrix)} ({self.instruction})"

    def finding(self, reason: str) -> Finding:
        expectation = ""
        if isinstance(self.given, IndexMap) and isinstance(self.expected, IndexMap):
            given, expected = (
                ", ".join(signed_index(m.multipliers[i], m.indices[i]) for i in self.changed)
                for m in (self.given, self.expected)
            )
            expectation = f"reads {given}; expected {expected}. "
        return Finding("wrong-table", expectation + reason, self.transform, self.side, self.element, self.fix)


def find(parts: Parts, is_closed: bool) -> list[Repair]:
    """The smallest repairs of one table that leave no contradiction; several where equally small."""
    candidates = [*_from_products(parts), *_from_inverses(parts)]
    sound = _smallest([c for c in candidates if _is_sound(_with(parts, c), is_closed)])
    if not sound:
        sound = _smallest([c for c in _single_changes(parts) if _is_sound(_with(parts, c), is_closed)])
    return sound


def _from_products(parts: Parts) -> Iterator[Repair]:
    """What a transform should be where the other sides say that it is the product of two others."""
    offered = set()
    for product in contradictions(parts, is_closed=True):
        for side, names in product.claims.items():
            for name in set().union(*product.claims.values()) - names - {IDENTITY}:
                if name in (product.first, product.second) or side == BODY:
                    continue
                expected = parts[product.first][side] @ parts[product.second][side]
                if (name, side, expected.key) not in offered:
                    offered.add((name, side, expected.key))
                    yield Repair(name, side, parts[name][side], expected)


def _from_inverses(parts: Parts) -> Iterator[Repair]:
    """What a transform should be where the other sides say that it undoes another one."""
    for product in contradictions(parts, is_closed=True):
        for side, names in product.claims.items():
            elsewhere = set().union(*product.claims.values()) - names
            if IDENTITY in elsewhere and product.first != product.second and side != BODY:
                given = parts[product.first][side]
                yield Repair(product.first, side, given, parts[product.second][side].inverse())


def _single_changes(parts: Parts) -> Iterator[Repair]:
    """Every flip of one sign and every swap of two indices, in the transforms that could be to blame."""
    wrong_by_themselves = [name for name, maps in parts.items() if not _orders_agree(maps, parts)]
    if len(wrong_by_themselves) > 1 or len(parts) > MOST_SEARCHED:
        return
    for name, sides in parts.items():
        if wrong_by_themselves and name not in wrong_by_themselves:
            continue
        for side, given in sides.items():
            if isinstance(given, IndexMap) and side != BODY:
                for changed in (*_flips(given), *_swaps(given)):
                    yield Repair(name, side, given, changed)


def _flips(given: IndexMap) -> Iterator[IndexMap]:
    if isinstance(given, ChoiceMap):  # choices have no signs
        return
    for element in range(given.size):
        multipliers = given.multipliers.copy()
        multipliers[element] *= -1
        yield IndexMap(given.indices, multipliers)


def _swaps(given: IndexMap) -> Iterator[IndexMap]:
    for first in range(given.size):
        for second in range(first):
            indices = given.indices.copy()
            indices[[first, second]] = indices[[second, first]]
            if not isinstance(given, ChoiceMap):
                yield IndexMap(indices, given.multipliers)
                continue
            with suppress(ValueError):  # two decisions torn apart
                yield ChoiceMap(indices, given.sizes)


def _with(parts: Parts, repair: Repair) -> Parts:
    return {**parts, repair.transform: {**parts[repair.transform], repair.side: repair.expected}}


def _is_sound(parts: Parts, is_closed: bool) -> bool:
    if not all(_orders_agree(maps, parts) for maps in parts.values()):
        return False
    return not contradictions(parts, is_closed) and hidden_contradiction(parts) is None


def _orders_agree(maps: Sides, parts: Parts) -> bool:
    return None not in orders(maps).values() and not orders_differ(maps, telling_sides(parts))


def _smallest(repairs: list[Repair]) -> list[Repair]:
    """Those that change the fewest elements and, among these of one transform, make it return soonest.

    That a rotation returns later than a reflection says nothing about which of them is wrong.
    """
    unique = {(repair.transform, repair.side, repair.expected.key): repair for repair in repairs}.values()
    fewest = min((len(repair.changed) for repair in unique), default=0)
    small = [repair for repair in unique if len(repair.changed) == fewest]
    soonest: dict[str, int] = {}
    for repair in small:
        order = repair.expected.order or 0
        soonest[repair.transform] = min(order, soonest.get(repair.transform, order))
    return [repair for repair in small if (repair.expected.order or 0) == soonest[repair.transform]]


def _words(elements: list[int]) -> str:
    return " and ".join(map(str, elements)) if len(elements) <= 2 else ", ".join(map(str, elements))
