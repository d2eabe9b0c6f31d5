"""Pairs, singles and cycles against the paper's counts and brute force."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest

from ambidex.learn.fits.relations import Relations, simple_cycles
from ambidex.symmetry import IndexMap, MatrixMap, Symmetry, SymmetryGroup


def test_triangle(triangle: SymmetryGroup) -> None:
    relations = Relations.of(triangle)
    assert relations.pairs == ((0, 1), (0, 2), (1, 2))
    assert relations.singles == (0, 1, 2)
    assert relations.cycles == ((0, 1, 2),)


def test_ant(ant: SymmetryGroup) -> None:
    relations = Relations.of(ant)
    assert relations.pairs == (
        (0, 2), (0, 4), (0, 6), (1, 3), (1, 5), (1, 7),
        (2, 4), (2, 6), (3, 5), (3, 7), (4, 6), (5, 7),
    )  # fmt: skip
    assert relations.singles == (0, 2, 4, 6)
    assert len(relations.cycles) == 14
    assert sorted(map(len, relations.cycles)) == [3] * 8 + [4] * 6


def test_where_the_triangle_uses_its_relations(triangle: SymmetryGroup) -> None:
    """fig:sym_example_pairs: g_a flips limb 0 and swaps 1 and 2; g_d reads 2 into 0, 0 into 1, 1 into 2."""
    relations = Relations.of(triangle)
    a, d = triangle.names.index("a"), triangle.names.index("d")
    assert relations.pair[a].tolist() == [-1, 2, 2]
    assert relations.forward[a].tolist() == [False, False, True]
    assert relations.single[a].tolist() == [0, -1, -1]
    assert relations.pair[d].tolist() == [1, 0, 2]
    assert relations.forward[d].tolist() == [False, True, True]
    assert relations.single[d].tolist() == [-1, -1, -1]


def test_an_element_read_unchanged_is_no_single() -> None:
    group = SymmetryGroup(
        [
            Symmetry("m", obs_indices=[0], obs_multipliers=[-1], act_indices=[0, 1], act_multipliers=[1, -1]),
            Symmetry("n", obs_indices=[0], obs_multipliers=[-1], act_indices=[0, 1], act_multipliers=[-2, 1]),
        ]
    )
    relations = Relations.of(group)
    assert relations.singles == (1,)
    assert relations.pairs == ()
    assert relations.single.tolist() == [[-1, 0], [-1, -1]]


def test_known_ratios_keep_their_singles_in_spite_of_rounding(triangle: SymmetryGroup) -> None:
    scales = np.array([2.09, 1.17, 0.6])
    rusty = []
    for name in ("d", "a"):
        given = triangle[name]
        table = given.action_map
        assert isinstance(table, IndexMap)
        known = IndexMap(table.indices, table.multipliers * scales / scales[table.indices])
        rusty.append(Symmetry.from_maps(name, given.observation_map, known))
    assert Relations.of(SymmetryGroup.from_generators(rusty)).singles == (0, 1, 2)


def test_a_matrix_is_refused() -> None:
    turn = Symmetry.from_maps("turn", MatrixMap(np.eye(1)), MatrixMap([[0.6, 0.8], [-0.8, 0.6]]))
    with pytest.raises(ValueError, match="'turn' mixes actions"):
        Relations.of(SymmetryGroup([turn]))


def brute_force_cycles(pairs: set[tuple[int, int]]) -> set[frozenset[tuple[int, int]]]:
    """Cycles as sets of edges, by trying every order of every subset."""
    elements = sorted({element for pair in pairs for element in pair})
    found = set()
    for length in range(3, len(elements) + 1):
        for order in permutations(elements, length):
            edges = [tuple(sorted(edge)) for edge in zip(order, (*order[1:], order[0]), strict=True)]
            if all(edge in pairs for edge in edges):
                found.add(frozenset(edges))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_cycles_of_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = {pair for pair in combinations(range(6), 2) if rng.random() < 0.6}
    cycles = simple_cycles(sorted(pairs), most=10_000)
    as_edges = [
        frozenset(tuple(sorted(edge)) for edge in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        for cycle in cycles
    ]
    assert len(as_edges) == len(set(as_edges))
    assert set(as_edges) == brute_force_cycles(pairs)


def complete_graph_cycles(size: int, longest: int) -> int:
    return sum(comb(size, length) * factorial(length - 1) // 2 for length in range(3, longest + 1))


def test_many_cycles_end_with_the_last_complete_length() -> None:
    pairs = list(combinations(range(8), 2))
    assert len(simple_cycles(pairs, most=8018)) == complete_graph_cycles(8, 8) == 8018
    assert len(simple_cycles(pairs, most=1000)) == complete_graph_cycles(8, 5)
    assert len(simple_cycles(pairs, most=10)) == complete_graph_cycles(8, 3)


def test_a_long_ring_is_found() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    assert simple_cycles(ring, most=10) == [(0, 1, 2, 3, 4)]
