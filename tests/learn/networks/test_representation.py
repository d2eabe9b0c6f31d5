"""The group as arrays: matrices that do what the maps do, and a table that both sides follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambidex.learn.networks.representation import Representation
from ambidex.symmetry import Symmetry, SymmetryGroup, load
from tests.learn.networks.groups import GROUPS, by_key, five_legs, index


@pytest.mark.parametrize("name", GROUPS)
def test_products_follow_the_table_on_both_sides(name: str) -> None:
    group = Representation.of(GROUPS[name]())
    for h in range(len(group)):
        for k in range(0, len(group), max(1, len(group) // 10)):
            product = group.table[h, k]
            for matrices in (group.observation, group.action):
                assert np.allclose(matrices[h] @ matrices[k], matrices[product], atol=1e-9)
        assert group.table[h, group.inverses[h]] == 0
        assert group.table[group.inverses[h], h] == 0


@pytest.mark.parametrize("name", ["ant", "triangle", "skewed", "two choices"])
def test_matrices_do_what_the_transforms_do(name: str) -> None:
    described = GROUPS[name]()
    group = Representation.of(described)
    assert group.names == ("identity", *described.names)
    observation = np.random.default_rng(1).normal(size=group.observation.shape[-1])
    action = np.random.default_rng(2).normal(size=group.action.shape[-1])
    assert np.array_equal(group.observation[0], np.eye(len(observation)))
    for transform, f, g in zip(described, group.observation[1:], group.action[1:], strict=True):
        assert np.allclose(f @ observation, transform.observation(observation))
        assert np.allclose(g @ action, transform.action(action))


def test_the_keys_of_a_dict_follow_each_other_in_the_given_order() -> None:
    mirror = np.diag([1.0, -1, -1]), np.array([[0.0, 1], [1, 0]])
    zeros = np.zeros((3, 2))
    body_first = np.block([[mirror[0], zeros], [zeros.T, mirror[1]]])
    legs_first = np.block([[mirror[1], zeros.T], [zeros, mirror[0]]])
    assert np.array_equal(Representation.of(by_key()).observation[1], body_first)
    assert np.array_equal(Representation.of(by_key(), ["legs", "body"]).observation[1], legs_first)
    with pytest.raises(ValueError, match=r"keys \['arms', 'legs'\], the group describes \['body', 'legs'\]"):
        Representation.of(by_key(), ["legs", "arms"])


def test_elements_that_only_the_actions_tell_apart_are_two() -> None:
    """A quarter turn of which the observations see a half only: four elements, two different f."""
    quarter = Symmetry.from_maps("r90", index([0], [-1]), index([1, 0], [-1, 1]))
    group = Representation.of(SymmetryGroup.from_generators([quarter]))
    assert group.table.tolist() == [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    assert group.inverses.tolist() == [0, 3, 2, 1]


def test_a_set_that_is_not_closed_is_refused_with_what_is_missing() -> None:
    ant = load("ant")
    with pytest.raises(ValueError) as refusal:
        Representation.of(SymmetryGroup([ant["r90"], ant["xz"]]))
    message = str(refusal.value)
    assert message.startswith("r90 @ r90, r90 @ xz, xz @ r90 are not in the group")
    assert message.endswith("use SymmetryGroup.from_generators([r90, xz])")


def test_many_missing_products_are_counted() -> None:
    elements = list(five_legs())[:50]
    with pytest.raises(ValueError, match=r" and \d+ more products are not in the group"):
        Representation.of(SymmetryGroup(elements))


def test_the_same_transform_under_two_names_is_one_element() -> None:
    mirror = load("walker2d-v5")
    element = next(iter(mirror))
    twice = SymmetryGroup([element, element.renamed("again")])
    assert Representation.of(twice).names == ("identity", element.name)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.permutations(range(3)), min_size=1, max_size=2), st.permutations([1.0, -1, -1]))
def test_any_group_has_the_table_of_its_transforms(orders: list[list[int]], signs: list[float]) -> None:
    generators = [
        Symmetry.from_maps(f"g{number}", index(list(order), signs), index(list(order)))
        for number, order in enumerate(orders)
    ]
    if all(generator.is_identity for generator in generators):
        return
    described = SymmetryGroup.from_generators(generators)
    group = Representation.of(described)
    slow = described.multiplication_table()
    for h, first in enumerate(group.names[1:], start=1):
        for k, second in enumerate(group.names[1:], start=1):
            assert group.names[group.table[h, k]] == slow[first, second]
