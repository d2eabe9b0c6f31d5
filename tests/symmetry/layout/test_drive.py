"""The section ``drive:`` of a description: what is read from it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ambidex import load
from ambidex.symmetry.files.descriptions import save
from ambidex.symmetry.layout.drive import read_drive

JOINTS = ("left.hip", "left.knee", "right.hip", "right.knee")


def test_a_word_is_enough_for_torques() -> None:
    drive = read_drive("torque", JOINTS)
    assert drive is not None
    assert (drive.action, drive.kp, drive.step) == ("torque", None, None)
    assert drive.scale == (1.0,) * 4
    assert drive.limit == (float("inf"),) * 4
    assert read_drive(None, JOINTS) is None


def test_gains_are_the_same_for_all_joints_or_go_by_patterns() -> None:
    drive = read_drive(
        {"action": "position", "kp": {"*.hip": 20, "*.knee": 40}, "kd": 1, "step": 0.02, "scale": 0.25},
        JOINTS,
    )
    assert drive is not None
    assert drive.kp == (20.0, 40.0, 20.0, 40.0)
    assert drive.kd == (1.0,) * 4
    assert (drive.step, drive.scale) == (0.02, (0.25,) * 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("positon", "unknown action 'positon'; did you mean 'position'"),
        ({"action": "position", "kq": 3}, "unknown key 'kq'"),
        ({"action": "torque", "kp": 3}, "a drive whose action is a torque has no kp"),
        ({"action": "position", "kp": -3}, "kp is a positive number, got -3"),
        ({"action": "position", "kp": True}, "kp is a positive number, got True"),
        ({"action": "position", "kp": {"*.hip": 3}}, "kp is given 0 times for joint 'left.knee'"),
        ({"action": "position", "kp": {"*": 3, "left.hip": 4}}, "kp is given 2 times for joint 'left.hip'"),
        ({"action": "position", "kp": {"*.hips": 3}}, r"'\*.hips', which is no joint"),
        ({"kp": 3}, "unknown action None"),
    ],
)
def test_what_is_wrong_is_named(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_drive(given, JOINTS)


def test_a_drive_survives_a_file(tmp_path: Path) -> None:
    text = """
robot: pair
limbs:
  left: {at: [0, 1], joints: {hip: y}}
  right: {at: [0, -1], joints: {hip: y}}
observations:
  - angles: {joint: position}
  - speeds: {joint: velocity}
actions:
  - target: joint
drive: {action: position, kp: 30, kd: 1, step: 0.02}
transforms: {xz: xz}
"""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(text)
    group = load(first)
    save(group, second)
    again = load(second)
    assert group.layout is not None
    assert again.layout is not None
    assert again.layout.drive == group.layout.drive
    assert again.layout.drive is not None
    assert again.layout.drive.kp == (30.0, 30.0)
