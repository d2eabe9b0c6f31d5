from __future__ import annotations

import copy

import pytest

from ambidex.symmetry import IndexMap, Layout, Symmetry, SymmetryGroup, catalog_names, lint, lint_file, load
from ambidex.symmetry.isometry import named


@pytest.mark.parametrize("name", catalog_names())
def test_the_catalog_is_clean(name):
    assert lint_file(name) == []


def test_an_ankle_that_bends_the_other_way_contradicts_its_limits():
    ant = load("ant-v5").layout
    sections = copy.deepcopy(ant.description)
    sections["limbs"]["leg_1"]["joints"]["ankle"]["axis"] = [1, -1]  # truly [-1, 1]
    layout = Layout(sections)
    (finding,) = lint(SymmetryGroup([layout.symmetry("xz", named("xz"))], layout=layout))
    assert (finding.code, finding.transform) == ("contrary-limits", "xz")
    for word in ("'leg_1.ankle'", "'leg_4.ankle'", "[-1.222, -0.524]", "[0.524, 1.222]"):
        assert word in finding.message
    assert "turn the axis of 'leg_4.ankle' or 'leg_1.ankle' around" in finding.fix


def knees(left, right, sign=1) -> list[str]:
    """The findings for two knees that a mirror swaps with this sign."""
    joints = {name: {"limits": limits} for name, limits in (("left", left), ("right", right))}
    layout = Layout({"joints": joints, "observations": [{"position": "joint"}], "actions": [{"t": "joint"}]})
    moves = {"left": "right" if sign > 0 else "-right"}
    group = SymmetryGroup([layout.symmetry("mirror", moves=moves)], layout=layout)
    return [finding.code for finding in lint(group)]


def test_only_limits_of_the_other_side_are_contrary():
    assert knees([0, 2], [0, 2]) == []
    assert knees([0, 2], [-2, 0], sign=-1) == []
    assert knees([0, 2], [-2, 0]) == ["contrary-limits"]
    assert knees([0, 2], [0, 2], sign=-1) == ["contrary-limits"]
    assert knees([-0.1, 2], [-0.1, 1.8], sign=-1) == ["contrary-limits"]  # stretched a little beyond
    assert knees([0, 2], [0.1, 1.5]) == []  # a stop that sits elsewhere
    assert knees([-0.5, 0.7], [-0.5, 0.7], sign=-1) == []  # not quite symmetric
    assert knees([1, 2], [3, 4]) == []  # wrong with either sign: no matter of sides


def test_one_joint_in_the_middle_goes_both_ways_or_neither():
    layout = Layout(
        {
            "joints": {"finger": {"slide": "y", "limits": [0, 0.04]}},
            "observations": [{"position": "joint"}, {"v": {"vector": ["x", "y"]}}],
            "actions": [{"force": "joint"}],
        }
    )
    symmetry = layout.symmetry("xz", named("xz"), moves={"finger": "-finger"})
    (finding,) = lint(SymmetryGroup([symmetry], layout=layout))
    assert finding.fix.startswith("turn the axis of 'finger' around")


def test_values_without_a_sign_are_not_asked():
    layout = Layout(
        {
            "joints": {"waist": {"axis": "z", "limits": [0, 1]}},
            "observations": [{"heat": {"joint": None, "unsigned": True}}],
            "actions": [{"n": "scalar"}],
        }
    )
    symmetry = Symmetry.from_maps("xz", IndexMap([0], [-1]), IndexMap([0], [1]))
    findings = lint(SymmetryGroup([symmetry], layout=layout))
    assert "contrary-limits" not in {finding.code for finding in findings}
