"""Real robots' models: derived, and every sign held against kinematics that this package has no part in."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex.derivation.derive import derive
from ambidex.derivation.reading.load import load_model
from ambidex.symmetry import lint
from tests.derivation.kinematics import (
    MujocoRobot,
    UrdfRobot,
    deviation,
    example_robots,
    menagerie,
    without_meshes,
)

EXACT = 1e-3  # of the robot's size, and of a unit axis
EXAMPLES = {
    "a1_description/urdf/a1.urdf": {"xz"},
    "b1_description/urdf/b1.urdf": {"xz"},
    "go1_description/urdf/go1.urdf": {"xz"},
    "go2_description/urdf/go2.urdf": {"xz"},
    "laikago_description/urdf/laikago.urdf": {"xz"},
    "anymal_b_simple_description/robots/anymal.urdf": {"xz", "yz", "r180"},
    "anymal_c_simple_description/urdf/anymal.urdf": {"xz", "yz", "r180"},
    "solo_description/robots/solo.urdf": {"xz", "yz", "r180"},
    "solo_description/robots/solo12.urdf": {"xz", "yz", "r180"},
    "hyq_description/robots/hyq_no_sensors.urdf": {"xz", "yz", "r180"},
    "quadruped_description/urdf/quadruped.urdf": {"xz", "yz", "r180"},
    "bolt_description/robots/bolt.urdf": {"xz", "yz", "r180"},
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": {"xz"},
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf": {"xz"},
    "talos_data/robots/talos_full_v2.urdf": {"xz"},
    "talos_data/robots/talos_reduced.urdf": {"xz"},
    "icub_description/robots/icub.urdf": {"xz"},
    "icub_description/robots/icub_reduced.urdf": {"xz"},
    "romeo_description/urdf/romeo.urdf": {"xz"},
    "romeo_description/urdf/romeo_small.urdf": {"xz"},
    "centauro_description/urdf/centauro.urdf": {"xz"},
    "human_description/robots/human.urdf": {"xy"},
    "pr2_description/urdf/pr2.urdf": {"xz"},
    "baxter_description/urdf/baxter.urdf": {"xz"},
    "alex_description/urdf/alex_nub_hands.urdf": {"xz"},
    "alex_description/urdf/alex_psyonic_hands.urdf": {"xz"},
    "alex_description/urdf/alex_sake_hands.urdf": {"xz"},
    "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf": {"xz"},
}
MENAGERIE = {
    "boston_dynamics_spot/spot.xml": {"xz"},
    "unitree_h1/h1.xml": {"xz"},
    "booster_t1/t1.xml": {"xz"},
    "anybotics_anymal_c/anymal_c.xml": {"xz", "yz", "r180"},
    "robotis_op3/op3.xml": {"xz"},
    "apptronik_apollo/apptronik_apollo.xml": {"xz"},
    "pal_talos/talos.xml": {"xz"},
    "fourier_n1/n1.xml": {"xz"},
}


def carried_joints(symmetry, model):
    """From the table of qpos: for each joint the one that it is carried to, and its sign there."""
    names = {
        int(model.jnt_qposadr[j]): model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] > 1
    }
    table = symmetry.observation_map.matrix
    carried = {}
    for row, name in names.items():
        column = int(np.abs(table[row]).argmax())
        carried[names[column]] = (name, float(table[row, column]))
    return carried


def check(derived, model, robot, expected):
    assert set(derived.group.names) == expected
    assert lint(derived.group) == []
    for symmetry in derived.group:
        carried = carried_joints(symmetry, model)
        assert {sign for _, sign in carried.values()} <= {1.0, -1.0}
        for seed in range(3):
            assert deviation(robot, symmetry.isometry, carried, seed) < EXACT
        # The check itself sees each single wrong sign.
        for joint, (partner, sign) in carried.items():
            wrong = {**carried, joint: (partner, -sign)}
            assert deviation(robot, symmetry.isometry, wrong) > 100 * EXACT


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES)
def test_a_robot_of_example_robot_data(path):
    file = example_robots() / path
    derived = derive(file)
    check(derived, load_model(file).model, UrdfRobot(file), EXAMPLES[path])


@pytest.mark.slow
@pytest.mark.parametrize("path", MENAGERIE)
def test_a_robot_of_the_menagerie(path):
    model = without_meshes(menagerie() / path)
    check(derive(model), model, MujocoRobot(model), MENAGERIE[path])


@pytest.mark.slow
def test_tiago_pro_is_uneven_by_some_millimetres():
    file = example_robots() / "tiago_pro_description/robots/tiago_pro.urdf"
    symmetry = derive(file).group["xz"]
    carried = carried_joints(symmetry, load_model(file).model)
    assert EXACT < deviation(UrdfRobot(file), symmetry.isometry, carried) < 10 * EXACT


@pytest.mark.slow
def test_tiago_dual_is_uneven_by_three_millimetres():
    file = example_robots() / "tiago_description/robots/tiago_dual.urdf"
    derived = derive(file)
    assert derived.group is None and "xz holds with --near 0.01" in derived.notes
    derived = derive(file, near=0.01, plane="xz")
    carried = carried_joints(derived.group["xz"], load_model(file).model)
    assert deviation(UrdfRobot(file), derived.group["xz"].isometry, carried) < 0.01


@pytest.mark.slow
def test_simple_humanoid_cannot_do_what_its_mirror_image_does():
    file = example_robots() / "simple_humanoid_description/urdf/simple_humanoid.urdf"
    attempt = derive(file, plane="xz").attempts[0]
    assert {item.name for item in attempt.unmatched} == {"RARM_SHOULDER_R", "LARM_SHOULDER_R"}
    assert derive(file, plane="xz", ignore=["RARM_SHOULDER_R", "LARM_SHOULDER_R"]).holds


@pytest.mark.slow
def test_romeos_grippers_are_both_left_ones():
    file = example_robots() / "romeo_description/urdf/romeo_laas_small.urdf"
    assert not derive(file, plane="xz").holds
    assert derive(file, plane="xz", ignore=["l_gripper", "r_gripper"]).holds


@pytest.mark.slow
def test_cassies_rods_are_ignored():
    model = without_meshes(menagerie() / "agility_cassie/cassie.xml")
    assert "the frame of joint right-achilles-rod is turned" in str(derive(model, plane="xz"))
    derived = derive(model, plane="xz", ignore=["left-achilles-rod", "right-achilles-rod"])
    assert "ignored, and left as they are: left-achilles-rod, right-achilles-rod" in derived.notes
    assert (
        deviation(
            MujocoRobot(model), derived.group["xz"].isometry, carried_joints(derived.group["xz"], model)
        )
        < EXACT
    )


@pytest.mark.slow
def test_the_rotors_of_a_quadrotor():
    model = without_meshes(menagerie() / "skydio_x2/x2.xml")
    assert derive(model, plane="xz").group["xz"].action(np.arange(4.0)).tolist() == [1, 0, 3, 2]
    model = without_meshes(menagerie() / "bitcraze_crazyflie_2/cf2.xml")  # thrust, then moments about x, y, z
    assert derive(model, plane="xz").group["xz"].action(np.ones(4)).tolist() == [1, -1, 1, -1]
    assert derive(model, plane="yz").group["yz"].action(np.ones(4)).tolist() == [1, 1, -1, -1]
