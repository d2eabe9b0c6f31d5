from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings

from ambidex.symmetry import ChoiceMap, DictMap, IndexMap, Symmetry, SymmetryGroup, lint_file, save
from ambidex.symmetry.findings import table_findings
from ambidex.symmetry.isometry import named
from ambidex.symmetry.linting.lint import lint
from tests.symmetry.strategies import symmetries
from tests.symmetry.tables import ANT, ant, ant_tables, triangle

SIZES = {"obs": 28, "act": 8}
SIDES = {"obs": "observation", "act": "action"}


def flipped(name: str, side: str, element: int) -> SymmetryGroup:
    tables = ant_tables(name)
    tables[f"{side}_multipliers"][element] *= -1
    return ant(**{name: tables})


def swapped(name: str, side: str, element: int) -> SymmetryGroup:
    tables = ant_tables(name)
    indices = list(tables[f"{side}_indices"])
    indices[element], indices[element + 1] = indices[element + 1], indices[element]
    return ant(**{name: {**tables, f"{side}_indices": indices}})


@pytest.mark.parametrize("group", [ant(), triangle(), SymmetryGroup([ant()["xz"]])])
def test_true_tables_have_no_findings(group):
    assert lint(group) == []


@pytest.mark.parametrize("name", ANT)
@pytest.mark.parametrize("side", SIZES)
def test_every_single_sign_flip_of_the_ant_is_found_and_repaired(name, side):
    for element in range(SIZES[side]):
        (finding,) = lint(flipped(name, side, element))
        assert (finding.transform, finding.side, finding.element) == (name, SIDES[side], element)
        assert finding.fix == f"flip the multiplier of {SIDES[side]} {element} in {name}"


@pytest.mark.parametrize("name", ANT)
@pytest.mark.parametrize("side", SIZES)
def test_every_swap_of_neighbouring_indices_is_found_and_repaired(name, side):
    for element in range(SIZES[side] - 1):
        (finding,) = lint(swapped(name, side, element))
        assert (finding.transform, finding.side) == (name, SIDES[side])
        assert finding.fix == f"swap the indices of {SIDES[side]} {element} and {element + 1} in {name}"


def test_the_published_table_gets_exactly_one_fix():
    # The authors distribute rotation 90 with - for observation 7; 19 of the 64 products fail to close.
    (finding,) = lint(flipped("r90", "obs", 7))
    assert finding.fix == "flip the multiplier of observation 7 in r90"
    assert "one of 19 contradictions" in finding.message


def test_a_lone_reflection_that_does_not_undo_itself():
    tables = ant_tables("xz")
    tables["act_multipliers"][0] = 1
    (finding,) = lint(SymmetryGroup([Symmetry("xz", **tables)]))
    assert finding.transform == "xz"
    assert "flip the multiplier of action 0 in xz" in finding.fix
    assert "flip the multiplier of action 6 in xz" in finding.fix


def test_generators_alone_show_a_contradiction():
    tables = ant_tables("xz")
    tables["obs_multipliers"][1] = 1
    (finding,) = lint(SymmetryGroup([Symmetry("xz", **tables), ant()["r90"]]))
    assert "flip the multiplier of observation 1 in xz" in finding.fix


@pytest.mark.parametrize("element", [1, 2, 3, 4, 6, 7])
def test_two_transforms_that_contradict_each_other_are_blamed_alike(element):
    # Either sign of the pair, in either transform, could be the wrong one.
    pair = (element - 1) // 2 * 2 + 1 if element < 5 else 6
    (finding,) = lint(SymmetryGroup([flipped("r90", "obs", element)["r90"], ant()["xz"]]))
    assert finding.fix.split(" or ") == [
        f"flip the multiplier of observation {either} in {name}"
        for name in ("r90", "xz")
        for either in (pair, pair + 1)
    ]
    assert finding.transform is None


def test_a_long_list_of_repairs_is_cut_but_counted():
    # Two wrong indices of a lone quarter turn can be repaired in many ways.
    (finding,) = lint(SymmetryGroup([swapped("r90", "obs", 8)["r90"]]))
    assert finding.fix.count("flip the multiplier") == 4
    assert finding.fix.endswith("or make one of 4 more changes that are as small")


def test_identity_and_duplicates_are_reported():
    identity = Symmetry.from_maps("nothing", IndexMap.identity(28), IndexMap.identity(8))
    findings = lint(SymmetryGroup([*ant(), ant()["xz"].renamed("again"), identity]))
    assert {(f.code, f.transform) for f in findings} == {("identity", "nothing"), ("duplicate", "again")}


def test_a_set_that_claims_to_be_a_group_is_held_to_it():
    rotation = [ant()["r90"]]
    assert lint(SymmetryGroup(rotation)) == []
    (finding,) = lint(SymmetryGroup(rotation, is_closed=True))
    assert finding.code == "not-closed"


def test_a_map_without_order_is_reported():
    endless = Symmetry.from_maps("m", IndexMap([1, 0], [1, 1]), IndexMap([1, 0], [2, 2]))
    assert any(f.code == "no-order" and f.side == "action" for f in lint(SymmetryGroup([endless])))


def test_a_known_imperfection_is_no_finding():
    rusty = Symmetry.from_maps("m", IndexMap([1, 0], [-1, -1]), IndexMap([1, 0], [-0.5, -2]))
    assert lint(SymmetryGroup([rusty])) == []


def test_a_wrong_joint_map_contradicts_the_body():
    # Both sides follow the same wrong sign, so only the body can tell.
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    wrong = IndexMap([1, 2, 3, 0], [1, 1, 1, -1])
    group = SymmetryGroup([Symmetry.from_maps("r90", wrong, wrong, isometry=quarter)])
    assert any("body after 4" in finding.message for finding in lint(group))


@settings(max_examples=50)
@given(symmetries("a", 3, 3), symmetries("b", 3, 3))
def test_a_generated_group_whose_sides_agree_is_clean(a, b):
    same = [Symmetry.from_maps(s.name, s.action_map, s.action_map) for s in (a, b) if not s.is_identity]
    if any(s.action_map.is_identity for s in same) or not same:
        return
    assert lint(SymmetryGroup.from_generators(same)) == []


def test_dict_observations_are_checked_key_by_key():
    swap = IndexMap([1, 0], [1, 1])
    broken = IndexMap([1, 0], [1, -1])
    group = SymmetryGroup([Symmetry.from_maps("m", DictMap({"legs": broken}), swap)])
    (finding,) = lint(group)
    assert finding.side == "observation[legs]"


LEGS = IndexMap([3, 0, 1, 2], [1, 1, 1, 1])  # four legs, each read from the one before
HALF = IndexMap([1, 0], [1, 1])


def turn(observation, action, isometry=None) -> list:
    name = None if isometry is None else named(isometry)
    return lint(SymmetryGroup([Symmetry.from_maps("turn", observation, action, isometry=name)]))


def test_one_key_of_a_dict_may_return_before_the_others():
    # A quarter turn swaps xx and yy of a tensor: its order there is 2, not 4.
    inertia = IndexMap([1, 0, 2], [1, 1, 1])
    for isometry in (None, "r90"):
        assert turn(DictMap({"legs": LEGS, "inertia": inertia}), LEGS, isometry) == []
        late = DictMap({"legs": LEGS, "inertia": IndexMap([1, 2, 0], [1, 1, 1])})
        (finding,) = turn(late, LEGS, isometry)
        assert "the observation[inertia] after 3" in finding.message


def test_choices_may_return_before_the_observation_and_have_no_signs_to_flip():
    for isometry in (None, "r90"):
        assert turn(LEGS, ChoiceMap([1, 0, 2], [3]), isometry) == []
        (finding,) = turn(LEGS, ChoiceMap([1, 2, 0, 3], [4]), isometry)
        assert "the action after 3" in finding.message
        assert "flip" not in (finding.fix or "")


def test_an_action_that_returns_too_soon_is_found_where_that_can_be_told():
    assert "the action after 2" in turn(LEGS, HALF)[0].message  # from the observation alone
    assert turn(LEGS, HALF, "r90") == []  # two groups of legs, driven in turns
    half_turn = Symmetry.from_maps("half", LEGS @ LEGS, HALF, isometry=named("r180"))
    quarter = Symmetry.from_maps("quarter", LEGS, HALF, isometry=named("r90"))
    (finding,) = lint(SymmetryGroup([quarter, half_turn]))
    assert "'half' on the observation, but 'identity' on the action" in finding.message


def test_the_generators_of_a_file_are_checked_before_their_products(tmp_path):
    wrong = SymmetryGroup([flipped("r90", "obs", 7)["r90"], ant()["xz"]])
    file = tmp_path / "ant.yaml"
    save(wrong, file)
    (as_transforms,) = lint_file(file)
    file.write_text(file.read_text().replace("transforms:", "generators:"))
    (as_generators,) = lint_file(file)
    assert as_generators == as_transforms
    assert "flip the multiplier of observation 7 in r90" in as_generators.fix
    save(SymmetryGroup([ant()["r90"], ant()["xz"]]), file)
    file.write_text(file.read_text().replace("transforms:", "generators:") + "group: true\n")
    assert lint_file(file) == []


def test_a_generator_without_order_is_a_finding_and_no_error(tmp_path):
    file = tmp_path / "endless.yaml"
    save(SymmetryGroup([Symmetry.from_maps("m", IndexMap([1, 0], [1, 1]), IndexMap([1, 0], [2, 2]))]), file)
    file.write_text(file.read_text().replace("transforms:", "generators:"))
    assert "no-order" in {finding.code for finding in lint_file(file)}


class Bounded(gymnasium.Env):
    observation_space = spaces.Box(np.array([-1, 0, -2]), np.array([1, 3, 2]), dtype=np.float64)
    action_space = spaces.Box(-1, 1, (1,))


def test_bounds_that_a_transform_does_not_keep():
    def mirror(multipliers, actions=1):
        side = IndexMap([0, 1, 2], multipliers)
        return SymmetryGroup([Symmetry.from_maps("m", side, IndexMap(range(actions), [-1] * actions))])

    assert lint(mirror([-1, 1, -1]), Bounded()) == []
    (finding,) = lint(mirror([-1, -1, 1]), Bounded())
    assert (finding.code, finding.side, finding.element) == ("bounds", "observation", 1)
    assert "[-3, -0]" in finding.message or "[-3, 0]" in finding.message
    (finding,) = lint(mirror([-1, 1, 1], actions=2), Bounded())
    assert finding.code == "size"
    assert finding.message == "acts on 2 elements, the space of Bounded has 1."
    assert str(finding.fix).startswith("look for a field too many or missing, or give the environment")


@pytest.mark.parametrize(
    ("indices", "multipliers", "code", "fix"),
    [
        ([0, 1, 1], [1, 1, 1], "not-a-permutation", "set the index of element 1 or of element 2 to 2"),
        ([0, 1, 3], [1, 1, 1], "index-out-of-range", "use an index from 0 to 2"),
        ([0, 1, 2], [1, 1, 0], "bad-multiplier", "use 1 or -1, or the known ratio of an imperfect actuator"),
        ([0, 1, 2], [1, 1], "size", "give each element one index and one multiplier"),
    ],
)
def test_one_table_on_its_own(indices, multipliers, code, fix):
    (finding,) = table_findings("xz", "action", indices, multipliers)
    assert (finding.code, finding.transform, finding.side, finding.fix) == (code, "xz", "action", fix)
    assert finding.as_dict()["code"] == code
