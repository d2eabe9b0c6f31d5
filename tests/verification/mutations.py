"""Tables that are wrong on purpose."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ambidex.symmetry import IndexMap, Symmetry


def flipped(table: IndexMap, element: int) -> IndexMap:
    multipliers = table.multipliers.copy()
    multipliers[element] *= -1
    return IndexMap(table.indices, multipliers)


def swapped(table: IndexMap, first: int, second: int) -> IndexMap:
    indices = table.indices.copy()
    indices[[first, second]] = indices[[second, first]]
    return IndexMap(indices, table.multipliers)


def all_mutations(table: IndexMap) -> list[IndexMap]:
    """Every single wrong sign, and every two indices in each other's place."""
    signs = [flipped(table, element) for element in range(table.size)]
    return signs + [swapped(table, *pair) for pair in combinations(range(table.size), 2)]


def with_observation(symmetry: Symmetry, table: IndexMap) -> Symmetry:
    return Symmetry.from_maps(symmetry.name, table, symmetry.action_map, isometry=symmetry.isometry)


def with_action(symmetry: Symmetry, table: IndexMap) -> Symmetry:
    return Symmetry.from_maps(symmetry.name, symmetry.observation_map, table, isometry=symmetry.isometry)


def changed_elements(given: IndexMap, other: IndexMap) -> set[int]:
    differs = (given.indices != other.indices) | (given.multipliers != other.multipliers)
    return set(np.flatnonzero(differs).tolist())
