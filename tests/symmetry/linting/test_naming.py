"""Descriptions that say something wrong, and the words in which that is told."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from ambidex.symmetry import Layout, Symmetry, SymmetryGroup, lint
from ambidex.symmetry.linting.naming import Naming

XZ = np.diag([1.0, -1, 1])
ROBOT: dict[str, Any] = {
    "limbs": {
        "front_left": {"at": [1, 1], "joints": {"hip": "x", "knee": "y"}},
        "front_right": {"at": [1, -1], "joints": {"hip": "x", "knee": "y"}},
        "back_left": {"at": [-1, 1], "joints": {"hip": "x", "knee": "y"}},
        "back_right": {"at": [-1, -1], "joints": {"hip": "x", "knee": "y"}},
        "trunk": {"at": [0, 0], "joints": {"waist": "z"}},
    },
    "observations": [
        {"velocity": "vector"},
        {"spin": "pseudovector"},
        {"attitude": {"quaternion": "wxyz"}},
        {"joints": {"joint": ["position", "velocity"]}},
        {"feet": {"contact": None, "of": ["front*", "back*"]}},
    ],
    "actions": [{"torque": "joint"}],
}


def told(wrong: dict[str, Any], side: str = "observation", right: dict[str, Any] = ROBOT) -> str:
    """What is said of a description if another one is right."""
    given, expected = (
        getattr(Layout(one).symmetry("xz", XZ), f"{side}_map").matrix for one in (wrong, right)
    )
    return Naming.of(Layout(wrong), side, XZ).correction(given, expected)


def changed(section: str, at: Any, value: Any) -> dict[str, Any]:
    wrong = deepcopy(ROBOT)
    wrong[section][at] = value
    return wrong


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (1, {"spin": "vector"}, "spin is a pseudovector"),
        (0, {"velocity": "pseudovector"}, "velocity is a vector"),
        (0, {"velocity": {"vector": ["y", "x", "z"]}}, "velocity is a vector in the order x, y, z"),
        (0, {"velocity": {"scalar": 3}}, "velocity is a vector of x, y, z"),
        (2, {"attitude": {"quaternion": "xyzw"}}, "attitude is a quaternion in the order wxyz"),
    ],
)
def test_a_quantity_of_another_kind(at: int, value: Any, words: str) -> None:
    assert told(changed("observations", at, value)) == words


def test_two_wrong_statements_are_both_told() -> None:
    wrong = changed("observations", 1, {"spin": "vector"})
    wrong["observations"][0] = {"velocity": "pseudovector"}
    assert told(wrong) == "velocity is a vector and spin is a pseudovector"


@pytest.mark.parametrize("side", ["observation", "action"])
def test_an_axis_the_wrong_way_round(side: str) -> None:
    turned = {"at": [1, 1], "joints": {"hip": "x", "knee": "-y"}}
    assert told(changed("limbs", "front_left", turned), side) in (
        "front_left.knee turns the other way: turn its axis around, or that of front_right.knee",
        "front_right.knee turns the other way: turn its axis around, or that of front_left.knee",
    )


@pytest.mark.parametrize("side", ["observation", "action"])
def test_another_axis_of_a_joint_in_the_middle(side: str) -> None:
    words = told(changed("limbs", "trunk", {"at": [0, 0], "joints": {"waist": "y"}}), side)
    assert words == "trunk.waist has another axis, so that its value changes its sign"


def test_two_joints_in_each_others_place() -> None:
    swapped = deepcopy(ROBOT)
    order = list(Layout(ROBOT).action_names)
    order[1], order[4] = order[4], order[1]
    swapped["actions"] = [{"torque": {"joint": None, "of": order}}]
    assert told(swapped, "action") == "swap back_left.hip and front_left.knee"


def test_two_limbs_in_each_others_place() -> None:
    """A robot whose legs come left side first, described as if they came in front first."""
    ours = {**ROBOT, "observations": [{"joints": {"joint": ["position", "velocity"]}}]}
    theirs = deepcopy(ours)
    theirs["limbs"] = {
        name: ROBOT["limbs"][name]
        for name in ("front_left", "back_left", "front_right", "back_right", "trunk")
    }
    assert told(ours, right=theirs) in ("swap front_right and back_left", "swap front_left and back_right")


def test_what_no_statement_explains_is_told_by_names() -> None:
    layout = Layout(ROBOT)
    right = layout.symmetry("xz", XZ).observation_map.matrix
    wrong = right.copy()
    knee = layout.observation_names.index("front_left.knee.velocity")  # type: ignore[union-attr]
    wrong[knee] *= -1
    words = Naming.of(layout, "observation", XZ).correction(wrong, right)
    assert words == "read front_left.knee.velocity from front_right.knee.velocity"


def test_lint_says_it_with_the_numbers() -> None:
    layout = Layout(ROBOT)
    right = layout.symmetry("xz", XZ)
    signs = right.observation_map.multipliers.copy()  # type: ignore[union-attr]
    signs[3:6] *= -1
    wrong = Symmetry(
        "xz",
        obs_indices=right.observation_map.indices,  # type: ignore[union-attr]
        obs_multipliers=signs,
        act_indices=right.action_map.indices,  # type: ignore[attr-defined]
        act_multipliers=right.action_map.multipliers,  # type: ignore[attr-defined]
        isometry=XZ,
    )
    (finding,) = lint(SymmetryGroup([wrong], layout=layout))
    assert finding.fix == "spin is a pseudovector (in xz, read observation 3 from -3, 4 from +4, 5 from -5)"


def test_choices_are_told_by_their_names() -> None:
    robot = {
        "observations": [{"speed": {"vector": ["y"]}}],
        "actions": {"choices": ["left", "wait", "right"]},
    }
    layout = Layout(robot)
    swap, keep = np.eye(3)[[2, 1, 0]], np.eye(3)
    words = Naming.of(layout, "action", XZ).correction(keep, swap)
    assert words == "read left from right and right from left"
