from __future__ import annotations

import pytest

from ambidex.symmetry import lint_file, load
from ambidex.symmetry.files.observation_terms import draft, read_terms

PRINTED = """
[INFO] Action Manager:  <ActionManager> contains 1 active terms.
+------------------------------------+
|  Active Action Terms (shape: 4)    |
+--------+-------------+-------------+
| Index  | Name        |   Dimension |
+--------+-------------+-------------+
|   0    | joint_pos   |           4 |
+--------+-------------+-------------+
[INFO] Observation Manager: <ObservationManager> contains 1 groups.
+----------------------------------------------------------+
| Active Observation Terms in Group: 'policy' (shape: (28,)) |
+-----------+--------------------------------+-------------+
|   Index   | Name                           |    Shape    |
+-----------+--------------------------------+-------------+
|     0     | base_lin_vel                   |     (3,)    |
|     1     | base_ang_vel                   |     (6,)    |
|     2     | velocity_commands              |     (3,)    |
|     3     | joint_pos                      |     (4,)    |
|     4     | actions                        |     (8,)    |
|     5     | gait_phase                     |     (2,)    |
|     6     | height_scan                    |    (1, 2)   |
+-----------+--------------------------------+-------------+
"""
BIPED = """
limbs:
  left_leg: {at: [0, 1], joints: {hip: x, knee: y}}
  right_leg: {at: [0, -1], joints: {hip: x, knee: y}}
observations: [height: scalar]
actions: [torque: joint]
generators: [xz]
"""
JOINTS = ["left_leg_hip_joint", "right_leg_hip_joint", "left_leg_knee_joint", "right_leg_knee_joint"]


@pytest.fixture
def biped(tmp_path):
    (tmp_path / "biped.yaml").write_text(BIPED)
    return tmp_path / "biped.yaml"


def test_the_printed_table_is_read():
    assert read_terms(PRINTED) == {
        "policy": [
            ("base_lin_vel", 3),
            ("base_ang_vel", 6),
            ("velocity_commands", 3),
            ("joint_pos", 4),
            ("actions", 8),
            ("gait_phase", 2),
            ("height_scan", 2),
        ]
    }
    with pytest.raises(ValueError, match="no table of observation terms"):
        read_terms("nothing")


def test_what_follows_is_filled_in_and_the_rest_is_marked_until_it_is_said(biped, tmp_path):
    text = draft(read_terms(PRINTED), biped, JOINTS)
    path = tmp_path / "draft.yaml"
    path.write_text(text)
    findings = lint_file(path)
    assert [(f.code, f.side, f.element) for f in findings] == [
        ("not-said", "observation[policy]", 24),
        ("not-said", "observation[policy]", 26),
    ]
    assert "- gait_phase: {unknown: 2}  # say: {phase: [sin, cos]} in its order" in text
    text = text.replace("gait_phase: {unknown: 2}", "gait_phase: {phase: [sin, cos]}")
    grid = "{heights: {shape: [1, 2], rows: x, columns: y}}"
    text = text.replace("height_scan: {unknown: 2}", f"height_scan: {grid}").replace(
        "xz: xz", "xz: {isometry: xz, phase: half}"
    )
    path.write_text(text)
    assert lint_file(path) == []
    symmetry = load(path)["xz"]
    spin, legs = [-1, 1, -1], [1, 0, 3, 2]
    part = symmetry.observation_map["policy"]
    past = [*range(16, 20), *range(20, 24)]
    expected = [
        *range(12),
        *(12 + leg for leg in legs),
        *(past[leg] for leg in legs),
        *(20 + leg for leg in legs),
    ]
    assert part.indices.tolist() == [*expected, 24, 25, 27, 26]
    hips = [-1, -1, 1, 1]
    assert part.multipliers.tolist() == [
        *(1, -1, 1), *spin, *spin, *(1, -1, -1), *hips, *hips, *hips, *(-1, -1), *(1, 1)
    ]  # fmt: skip
    assert symmetry.action_map.indices.tolist() == legs
    assert symmetry.action_map.multipliers.tolist() == hips


def test_without_the_joints_order_nothing_is_guessed(biped, tmp_path):
    path = tmp_path / "draft.yaml"
    path.write_text(draft([("joint_pos", 4), ("base_height", 1)], biped))
    assert [(f.side, f.element) for f in lint_file(path)] == [("observation", 0), ("action", 0)]
    with pytest.raises(ValueError, match="the field 'joint_pos' is unknown; say what its 4 elements are"):
        load(path)
    with pytest.raises(ValueError, match="the robot has no joint 'tail'"):
        draft([("joint_pos", 4)], biped, ["tail"])
