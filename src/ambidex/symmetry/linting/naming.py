"""What a wrong table comes to in the words of a description: which of its statements is not so.

A wrong statement about one quantity, joint or limb shows in several entries of a table. The statements that
a description can get wrong are tried one after the other; those that explain the entries are to be corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.common.words import listed
from ambidex.symmetry.layout.body import Motion
from ambidex.symmetry.layout.fields import Block
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.layout.quantities import (
    Clock,
    Contact,
    JointValue,
    Quantity,
    Quaternion,
    Scalar,
    Vector,
)
from ambidex.symmetry.maps import TOLERANCE

MOST_NAMED = 4


@dataclass(frozen=True)
class Statement:
    """What is not as the description says, and the table that would follow if it were corrected."""

    words: str
    table: FloatArray


@dataclass(frozen=True)
class Naming:
    """The words of a description for one side of one transform.

    :param blocks: of that side, in their order; none for discrete choices
    :param names: of its elements
    :param isometry: of the transform, where it is known
    """

    blocks: Sequence[Block]
    names: Sequence[str]
    isometry: FloatArray | None

    @classmethod
    def of(cls, layout: Layout, side: str, isometry: FloatArray | None) -> Naming:
        """For ``observation``, ``observation[key]`` or ``action``."""
        blocks = layout.blocks_by_side.get(side, [])
        names = layout.action_names if side == "action" else [n for b in blocks for n in b.element_names]
        return cls(blocks, list(names), isometry)

    def correction(self, given: FloatArray, expected: FloatArray) -> str:
        """What the description should say, if one table is given and another one is right."""
        table, said = given, []
        while _differing(table, expected).any():
            better = [
                one for one in self._statements(table, expected) if _improves(one.table, table, expected)
            ]
            if not better:
                wrong = np.flatnonzero(_differing(given, expected)).tolist()
                return f"read {self._readings(expected, wrong)}"
            best = min(better, key=lambda one: int(_differing(one.table, expected).sum()))
            said.append(best.words)
            table = best.table
        return listed(said)

    def _readings(self, table: FloatArray, elements: Sequence[int]) -> str:
        """``spin.x from -spin.x and spin.z from -spin.z``."""
        shown = [f"{self.names[i]} from {self._source(table[i])}" for i in elements[:MOST_NAMED]]
        more = len(elements) - MOST_NAMED
        return listed([*shown, f"{more} more"] if more > 0 else shown)

    def _source(self, row: FloatArray) -> str:
        terms = []
        for index in np.flatnonzero(np.abs(row) > TOLERANCE).tolist():
            size = "" if abs(abs(row[index]) - 1) < TOLERANCE else f"{abs(row[index]):.3g} "
            terms.append(f"{'-' if row[index] < 0 else ''}{size}{self.names[index]}")
        return " + ".join(terms).replace("+ -", "- ")

    def _statements(self, table: FloatArray, expected: FloatArray) -> Iterator[Statement]:
        if not self.blocks:
            return
        wrong = np.flatnonzero(_differing(table, expected)).tolist()
        yield from self._other_quantities(table, wrong)
        yield from self._axes(table, wrong)
        yield from self._order(table, wrong)

    def _other_quantities(self, table: FloatArray, wrong: list[int]) -> Iterator[Statement]:
        """A field is of another kind, or its components come in another order."""
        motion = Motion("", self.isometry, phase="half")
        fields = dict.fromkeys(_field(self.blocks[self._block_of(i)]) for i in wrong)
        for field in fields:
            name = field[0]
            places = [(start, block) for start, block in self._placed if _field(block) == field]
            for quantity, words in _kinds(name, places[0][1].quantity):
                changed = table.copy()
                for start, block in places:
                    rows = slice(start, start + block.size)
                    # Which block it is read from, the table is taken to be right about.
                    source = int(np.abs(table[start]).argmax())
                    first, _ = self._placed[self._block_of(source)]
                    if isinstance(quantity, JointValue):
                        changed[rows] = np.abs(table[rows])
                        continue
                    if self.isometry is None and isinstance(quantity, Vector | Quaternion):
                        break
                    try:
                        matrix = quantity.matrix(motion, name, None)
                    except ValueError:
                        break
                    changed[rows] = 0
                    changed[rows, first : first + block.size] = matrix
                else:
                    yield Statement(words, changed)

    def _axes(self, table: FloatArray, wrong: list[int]) -> Iterator[Statement]:
        """A joint turns the other way about its axis, or its axis lies otherwise."""
        owners = dict.fromkeys(self._owner(i) for i in wrong if self._is_signed(i))
        for owner in owners:
            own = [i for i in range(len(table)) if self._owner(i) == owner and self._is_signed(i)]
            partners = dict.fromkeys(self._owner(int(np.abs(table[i]).argmax())) for i in own)
            changed = table.copy()
            if list(partners) == [owner]:
                changed[own] *= -1
                does = "keeps" if changed[own].sum() > 0 else "changes"
                yield Statement(f"{owner} has another axis, so that its value {does} its sign", changed)
                continue
            changed[own] *= -1
            changed[:, own] *= -1
            others = [str(one) for one in partners if one is not None]
            words = f"{owner} turns the other way: turn its axis around, or that of {listed(others)}"
            yield Statement(words, changed)

    def _order(self, table: FloatArray, wrong: list[int]) -> Iterator[Statement]:
        """Two elements, joints or limbs stand in each other's place."""
        size = len(table)
        for first, second in combinations(wrong, 2):
            yield self._exchanged(table, [(first, second)], (self.names[first], self.names[second]))
        owned: dict[str, list[int]] = {}
        for element in range(size):
            owner = self._owner(element)
            for part in {owner, owner.partition(".")[0] or owner} if owner else ():
                owned.setdefault(part, []).append(element)
        touched = [part for part, elements in owned.items() if set(elements) & set(wrong)]
        for one, other in combinations(touched, 2):
            if len(owned[one]) == len(owned[other]) > 1:
                yield self._exchanged(table, list(zip(owned[one], owned[other], strict=True)), (one, other))

    def _exchanged(
        self, table: FloatArray, pairs: list[tuple[int, int]], names: tuple[str, str]
    ) -> Statement:
        order = np.arange(len(table))
        for first, second in pairs:
            order[first], order[second] = second, first
        return Statement(f"swap {names[0]} and {names[1]}", table[order][:, order])

    @property
    def _placed(self) -> list[tuple[int, Block]]:
        starts = np.cumsum([0, *(block.size for block in self.blocks)])
        return list(zip(starts.tolist(), self.blocks, strict=False))

    def _block_of(self, element: int) -> int:
        return int(np.searchsorted([start for start, _ in self._placed], element, side="right")) - 1

    def _owner(self, element: int) -> str | None:
        return self.blocks[self._block_of(element)].owner

    def _is_signed(self, element: int) -> bool:
        quantity = self.blocks[self._block_of(element)].quantity
        return isinstance(quantity, JointValue) and not quantity.unsigned


def _field(block: Block) -> tuple[str, Quantity, bool]:
    """What the blocks of one field have in common."""
    return block.name, block.quantity, block.owner is None


def _kinds(name: str, quantity: Quantity) -> Iterator[tuple[Quantity, str]]:
    """What a field could be, what it is said to be first, and how one says so."""
    if isinstance(quantity, Vector):
        for axes in permutations(quantity.axes):
            order = "" if axes == quantity.axes else f" in the order {', '.join(axes)}"
            for pseudo in (quantity.pseudo, not quantity.pseudo):
                kind = "pseudovector" if pseudo else "vector"
                yield replace(quantity, axes=axes, pseudo=pseudo), f"{name} is a {kind}{order}"
    elif isinstance(quantity, Quaternion):
        for order in (quantity.order, "xyzw" if quantity.order == "wxyz" else "wxyz"):
            yield Quaternion(order), f"{name} is a quaternion in the order {order}"
    elif isinstance(quantity, Clock):
        yield quantity, f"the clock {name} is half a period later (phase: half)"
    elif isinstance(quantity, JointValue) and not quantity.unsigned:
        yield replace(quantity, unsigned=True), f"{name} has no sign (unsigned: true)"
    elif isinstance(quantity, Scalar):
        yield quantity, f"{name} is a {'contact' if isinstance(quantity, Contact) else 'scalar'}"
        if isinstance(quantity, Contact) or quantity.count > 3:
            return
        for axes in permutations("xyz", quantity.count):
            yield Vector(axes), f"{name} is a vector of {', '.join(axes)}"
            yield Vector(axes, pseudo=True), f"{name} is a pseudovector of {', '.join(axes)}"


def _differing(table: FloatArray, expected: FloatArray) -> BoolArray:
    return np.asarray((np.abs(table - expected) > TOLERANCE).any(axis=1))


def _improves(changed: FloatArray, table: FloatArray, expected: FloatArray) -> bool:
    """Whether entries become right, and none wrong."""
    before, after = _differing(table, expected), _differing(changed, expected)
    return bool((after <= before).all() and after.sum() < before.sum())
