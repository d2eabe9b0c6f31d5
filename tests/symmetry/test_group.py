from __future__ import annotations

import pytest
from hypothesis import given, settings

from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup
from tests.symmetry.strategies import symmetries
from tests.symmetry.tables import ant, triangle


def test_two_generators_give_the_ants_seven():
    given_tables = ant()
    names = {"r90^2": "r180", "r90^3": "r270", "r90*xz": "y=x", "xz*r90": "y=-x", "r90^2*xz": "yz"}
    closed = SymmetryGroup.from_generators([given_tables["r90"], given_tables["xz"]], names=names)
    assert closed.is_closed
    assert set(closed.names) == set(given_tables.names)
    for name in closed.names:
        assert closed[name] == given_tables[name]
        assert closed[name].kind == given_tables[name].kind


def test_two_generators_give_the_triangles_five():
    given_tables = triangle()
    closed = SymmetryGroup.from_generators([given_tables["d"], given_tables["a"]])
    assert len(closed) == 5
    assert {given_tables.find(element) for element in closed} == set("abcde")


def test_products_are_named_after_the_shortest_way():
    group = SymmetryGroup.from_generators([ant()["r90"], ant()["xz"]])
    assert group.names == ("r90", "xz", "r90^2", "r90*xz", "xz*r90", "r90^3", "r90^2*xz")


@settings(max_examples=40)
@given(symmetries("a", 3, 2), symmetries("b", 3, 2))
def test_closure_is_closed_under_products_and_inverses(a, b):
    if a.is_identity and b.is_identity:
        return
    group = SymmetryGroup.from_generators([a, b])
    assert None not in group.multiplication_table().values()
    assert all(group.find(element.inverse()) for element in group)
    assert len({element.key for element in group}) == len(group)
    assert not any(element.is_identity for element in group)


def test_multiplication_table_of_the_ant():
    table = ant().multiplication_table()
    assert table["r90", "r90"] == "r180"
    assert table["xz", "xz"] == "identity"
    assert table["xz", "yz"] == "r180"
    assert None not in table.values()
    assert SymmetryGroup([ant()["r90"]]).multiplication_table()["r90", "r90"] is None


def test_given_elements_are_kept_as_they_are():
    group = SymmetryGroup([ant()["xz"], ant()["r90"]])
    assert (len(group), group.names, "xz" in group, "yz" in group) == (2, ("xz", "r90"), True, False)
    assert group.action_size == 8
    assert group.observation_size == 28
    with pytest.raises(KeyError, match="no transform 'yz'; there are xz, r90"):
        group["yz"]


def test_multipliers_that_never_return_are_refused():
    runaway = Symmetry.from_maps("rusty", IndexMap([1, 0], [1, 1]), IndexMap([1, 0], [2, 2]))
    with pytest.raises(ValueError, match=r"'rusty'.*action multipliers around 0 -> 1 -> 0 .*product 4"):
        SymmetryGroup.from_generators([runaway])


def test_a_known_imperfect_robot_closes():
    # limb 1 needs double the torque of limb 0
    mirror = Symmetry.from_maps("mirror", IndexMap([1, 0], [-1, -1]), IndexMap([1, 0], [-0.5, -2]))
    group = SymmetryGroup.from_generators([mirror])
    assert len(group) == 1
    assert mirror.inverse() == mirror


def test_too_many_elements_are_refused():
    shift = IndexMap([*range(1, 12), 0], [1] * 12)
    swap = IndexMap([1, 0, *range(2, 12)], [1] * 12)
    generators = [Symmetry.from_maps("shift", shift, shift), Symmetry.from_maps("swap", swap, swap)]
    with pytest.raises(ValueError, match="more than 1024"):
        SymmetryGroup.from_generators(generators)


def test_names_and_sizes_are_checked():
    xz, r90 = ant()["xz"], ant()["r90"]
    with pytest.raises(ValueError, match="at least one"):
        SymmetryGroup([])
    with pytest.raises(ValueError, match="two transforms are named 'xz'"):
        SymmetryGroup([xz, r90.renamed("xz")])
    with pytest.raises(ValueError, match="'a' acts on 4 observation elements, but 'xz' on 28"):
        SymmetryGroup([xz, triangle()["a"]])
    with pytest.raises(ValueError, match=r"no product is called \['r45'\]"):
        SymmetryGroup.from_generators([r90], names={"r45": "x"})


def test_repr_names_the_elements():
    assert repr(triangle()) == ("<SymmetryGroup of 5 (not closed): a, b, c, d, e; 4 observations, 3 actions>")
