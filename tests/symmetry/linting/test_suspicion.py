from __future__ import annotations

import numpy as np
import pytest

from ambidex.symmetry import IndexMap, Layout, Symmetry, SymmetryGroup, lint, load

LAYOUT = {
    "limbs": {
        "left": {"at": [0, 1], "joints": {"hip": "y", "knee": "y"}},
        "right": {"at": [0, -1], "joints": {"hip": "y", "knee": "y"}},
    },
    "observations": [{"height": "scalar"}, {"joints": {"joint": ["position", "velocity"]}}],
    "actions": [{"torque": "joint"}],
}
NO_JOINTS_FLIP = [1] * 4  # a turn about y is the same turn in the xz mirror
OBSERVATIONS = [0, 5, 6, 7, 8, 1, 2, 3, 4]  # height, then position and velocity of each joint
ACTIONS = [2, 3, 0, 1]


def mirror(obs_indices=OBSERVATIONS, obs_multipliers=(1,) * 9, act_indices=ACTIONS, isometry=None):
    symmetry = Symmetry(
        "xz",
        obs_indices=list(obs_indices),
        obs_multipliers=list(obs_multipliers),
        act_indices=act_indices,
        act_multipliers=NO_JOINTS_FLIP,
        isometry=isometry,
    )
    return SymmetryGroup([symmetry], layout=Layout(LAYOUT))


@pytest.mark.parametrize("name", ["ant", "triangle"])
def test_the_catalog_is_clean(name):
    assert lint(load(name)) == []


@pytest.mark.parametrize("isometry", [None, np.diag([1.0, -1, 1])])
def test_tables_that_follow_the_layout_are_clean(isometry):
    assert lint(mirror(isometry=isometry)) == []


@pytest.mark.parametrize("size", [8, 10])
def test_tables_of_another_size_than_the_layout(size):
    (finding,) = lint(mirror(obs_indices=range(size), obs_multipliers=[-1] * size))
    assert (finding.code, finding.side) == ("size", "observation")
    assert f"acts on {size} elements, the layout has 9" in finding.message


def test_a_scalar_that_flips():
    (finding,) = lint(mirror(obs_multipliers=(-1, *[1] * 8)))
    assert (finding.code, finding.side, finding.element) == ("scalar-flips", "observation", 0)


def test_a_position_read_from_a_velocity():
    swapped = [0, 6, 5, 7, 8, 2, 1, 3, 4]  # the hips' positions and velocities change places
    findings = lint(mirror(obs_indices=swapped))
    assert {f.element for f in findings if f.code == "another-quantity"} == {1, 2, 5, 6}


def test_a_hip_read_from_a_knee():
    crossed = IndexMap([3, 2, 1, 0], [1] * 4)
    observations = [0, 7, 8, 5, 6, 3, 4, 1, 2]
    findings = lint(mirror(obs_indices=observations, act_indices=list(crossed.indices)))
    assert {f.element for f in findings if f.code == "another-joint" and f.side == "action"} == {0, 1, 2, 3}


def test_joints_that_do_not_follow_their_actuators():
    # Both hips flip as observations, which is an involution like any other; as actions they do not.
    findings = lint(mirror(obs_multipliers=[1, -1, 1, 1, 1, -1, 1, 1, 1]))
    assert {(f.code, f.element) for f in findings} == {("joint-unlike-actuator", i) for i in (1, 5)}


def test_an_isometry_tells_exactly_which_element_is_wrong():
    # The same wrong sign in observations and actions is sound as algebra; the layout contradicts it.
    flips = [1, -1, -1, 1, 1, -1, -1, 1, 1]
    symmetry = replace_actions(mirror(obs_multipliers=flips, isometry=np.diag([1.0, -1, 1])), [-1, 1, -1, 1])
    findings = lint(symmetry)
    assert {f.side for f in findings} == {"observation", "action"}
    assert any("read observation 1 from +5" in (f.fix or "") for f in findings)


def replace_actions(group: SymmetryGroup, multipliers: list[int]) -> SymmetryGroup:
    element = group["xz"]
    action = IndexMap(ACTIONS, multipliers)
    changed = Symmetry.from_maps("xz", element.observation_map, action, isometry=element.isometry)
    return SymmetryGroup([changed], layout=group.layout)


def test_a_known_imperfection_is_not_the_layouts_matter():
    group = replace_actions(mirror(isometry=np.diag([1.0, -1, 1])), [0.5, 1, 2, 1])
    assert lint(group) == []
