"""The catalog's real robots: their shape, and every sign against the kinematics of the published model."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from ambidex.symmetry import load
from tests.derivation.kinematics import (
    MujocoRobot,
    UrdfRobot,
    deviation,
    example_robots,
    menagerie,
    without_meshes,
)

SOURCES = {
    "go1": "go1_description/urdf/go1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "b1": "b1_description/urdf/b1.urdf",
    "anymal-b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal-c": "anymal_c_simple_description/urdf/anymal.urdf",
    "spot": "boston_dynamics_spot/spot.xml",
    "solo12": "solo_description/robots/solo12.urdf",
    "h1": "unitree_h1/h1.xml",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "t1": "booster_t1/t1.xml",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "cassie": "agility_cassie/cassie.xml",
}


def comment(name, key):
    """The names that the file's head lists after a key, over several lines."""
    text = (resources.files("ambidex.symmetry") / "catalog" / f"{name}.yaml").read_text()
    lines = [line.removeprefix("#") for line in text.splitlines() if line.startswith("#")]
    whole = "\n".join(lines).replace("\n   ", " ")
    found = [line for line in whole.splitlines() if line.strip().startswith(f"{key}:")]
    return [word.strip() for word in found[0].partition(":")[2].split(",")] if found else None


def robot_of(name):
    source = SOURCES[name]
    if source.endswith(".urdf"):
        return UrdfRobot(example_robots() / source)
    return MujocoRobot(without_meshes(menagerie() / source))


@pytest.mark.parametrize("name", SOURCES)
def test_the_observations_of_locomotion(name):
    group, joints = load(name), comment(name, "Joints")
    blocks = [block.name for block in group.layout.observation_blocks]
    count = len(joints)
    assert blocks[:5] == ["base_velocity", "angular_velocity", "projected_gravity", "command", "command_turn"]
    assert blocks[5:] == ["position"] * count + ["velocity"] * count + ["last_action"] * count
    assert group.action_size == count
    xz = group["xz"].observation(np.arange(1.0, 13 + 3 * count))[:12]
    assert xz.tolist() == [1, -2, 3, -4, 5, -6, 7, -8, 9, 10, -11, -12]


def test_go2_by_hand():
    """Left and right change places; hips, which turn about x, change their sign, thighs and calves do not."""
    action = load("go2")["xz"].action(np.arange(1.0, 13.0))
    assert action.tolist() == [-4, 5, 6, -1, 2, 3, -10, 11, 12, -7, 8, 9]
    assert load("go2").layout.action_names[:3] == ("FL_leg.hip", "FL_leg.thigh", "FL_leg.calf")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_signs_against_the_published_model(name):
    robot, group = robot_of(name), load(name)
    joints = comment(name, "Joints")
    for symmetry in group:
        positions = symmetry.observation_map.matrix[12 : 12 + len(joints), 12 : 12 + len(joints)]
        carried = table(positions, joints)
        assert deviation(robot, symmetry.isometry, carried) < 1e-3
        velocities = symmetry.observation_map.matrix[12 + len(joints) :, 12 + len(joints) :][
            : len(joints), : len(joints)
        ]
        assert (velocities == positions).all()
        actions = comment(name, "Actions") or joints
        assert table(symmetry.action_map.matrix, actions) == carried


def table(matrix, names):
    """For each joint the joint that the matrix carries it to, and the sign of its value there."""
    rows = np.abs(matrix).argmax(axis=0)
    return {
        name: (names[row], float(matrix[row, column]))
        for column, (name, row) in enumerate(zip(names, rows, strict=True))
    }
