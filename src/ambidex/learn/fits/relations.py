"""Which actuators a group relates: pairs, singles and cycles, read from its action tables.

Every element i of every transform j reads one actuator, ``indices[j, i]``. Seen over all transforms these
readings repeat a few independent relations, which are all that a fit has to learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.symmetry import IndexMap, SymmetryGroup
from ambidex.symmetry.maps import TOLERANCE

MOST_CYCLES = 1000

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Relations:
    """The independent relations of a group, and where its N transforms of n actions use them.

    :param pairs: (q, u) with q < u: some transform reads one of them into the other
    :param singles: elements that some transform turns into their own negative
    :param cycles: closed paths through at least three elements along pairs, each once, from its smallest
        element toward the smaller of that element's two neighbours (see `simple_cycles`)
    :param indices: (N, n) what each element reads
    :param multipliers: (N, n) what it is multiplied by, as given
    :param pair: (N, n) which pair the element uses, -1 if none
    :param forward: (N, n) whether it uses the pair in the direction q -> u
    :param single: (N, n) which single it uses, -1 if none
    """

    pairs: tuple[Pair, ...]
    singles: tuple[int, ...]
    cycles: tuple[tuple[int, ...], ...]
    indices: IntArray
    multipliers: FloatArray
    pair: IntArray
    forward: BoolArray
    single: IntArray

    @classmethod
    def of(cls, group: SymmetryGroup) -> Relations:
        tables = []
        for symmetry in group:
            if not isinstance(symmetry.action_map, IndexMap):
                raise ValueError(f"transform {symmetry.name!r} mixes actions by a matrix; it has no pairs")
            tables.append(symmetry.action_map)
        indices = np.stack([table.indices for table in tables])
        multipliers = np.stack([table.multipliers for table in tables])
        elements = np.broadcast_to(np.arange(group.action_size), indices.shape)
        lower, upper = np.minimum(indices, elements), np.maximum(indices, elements)
        negated = (indices == elements) & np.isclose(multipliers, -1, rtol=0, atol=TOLERANCE)

        pairs = sorted({(int(q), int(u)) for q, u in zip(lower.flat, upper.flat, strict=True) if q != u})
        singles = sorted({int(i) for i in elements[negated]})
        pair_number = {pair: number for number, pair in enumerate(pairs)}
        pair = np.array(
            [
                [pair_number.get((int(q), int(u)), -1) for q, u in zip(*rows, strict=True)]
                for rows in zip(lower, upper, strict=True)
            ]
        )
        single = np.where(negated, np.searchsorted(singles, elements), -1) if singles else -np.ones_like(pair)
        return cls(
            pairs=tuple(pairs),
            singles=tuple(singles),
            cycles=tuple(simple_cycles(pairs, MOST_CYCLES)),
            indices=indices,
            multipliers=multipliers,
            pair=pair,
            forward=indices < elements,
            single=single,
        )

    def cycle_steps(self) -> list[list[tuple[int, bool]]]:
        """Each cycle as the pairs on its path, and whether the path walks each from q to u."""
        numbers = {pair: number for number, pair in enumerate(self.pairs)}
        return [
            [
                (numbers[min(start, end), max(start, end)], start < end)
                for start, end in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
            ]
            for cycle in self.cycles
        ]


def simple_cycles(pairs: Sequence[Pair], most: int) -> list[tuple[int, ...]]:
    """All closed paths along pairs that visit no element twice, in order of length.

    Their number grows like a factorial (a complete graph of 10 elements has over 500,000), and the long ones
    say nothing that the short ones do not. Where there are more than ``most``, the cycles end with the last
    length that is complete within it; triangles are always there.
    """
    neighbours: dict[int, list[int]] = {}
    for q, u in pairs:
        neighbours.setdefault(q, []).append(u)
        neighbours.setdefault(u, []).append(q)
    cycles: list[tuple[int, ...]] = []
    for length in range(3, len(neighbours) + 1):
        room = most - len(cycles)
        found = []
        for cycle in _cycles_of_length(neighbours, length):
            found.append(cycle)
            if len(found) > room and length > 3:
                return cycles
        cycles += found
    return cycles


def _cycles_of_length(neighbours: dict[int, list[int]], length: int) -> Iterator[tuple[int, ...]]:
    def extend(path: list[int]) -> Iterator[tuple[int, ...]]:
        if len(path) == length:
            # each cycle once: from its smallest element, in one of the two directions
            if path[0] in neighbours[path[-1]] and path[1] < path[-1]:
                yield tuple(path)
            return
        for element in sorted(neighbours[path[-1]]):
            if element > path[0] and element not in path:
                yield from extend([*path, element])

    for start in sorted(neighbours):
        yield from extend([start])
