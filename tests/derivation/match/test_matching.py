"""Matchings against the geometry of the simulator: where the moved bodies really are."""

from __future__ import annotations

import itertools
from pathlib import Path

import gymnasium.envs.mujoco
import mujoco
import numpy as np
import pytest

from ambidex.derivation.match.matching import match
from ambidex.derivation.naming import are_sides, shared
from ambidex.symmetry.isometry import named

ASSETS = Path(gymnasium.envs.mujoco.__file__).parent / "assets"

# Two arms with ball shoulders, mounted in turned frames on a free body that is itself turned.
TWO_ARMS = """
<mujoco>
  <worldbody>
    <body name="base" pos="0.3 -0.2 1" euler="0 30 0">
      <freejoint/>
      <geom type="box" size=".2 .1 .1"/>
      <body name="arm_left" pos="0 .3 0" euler="90 0 20">
        <joint name="shoulder_left" type="ball"/>
        <geom type="capsule" fromto="0 0 0 .1 .2 .3" size=".02"/>
        <body name="hand_left" pos=".1 .2 .3">
          <joint name="grip_left" type="slide" axis="1 2 3"/><joint name="roll_left" axis="1 0 0"/>
          <geom type="sphere" size=".03"/>
        </body>
      </body>
      <body name="arm_right" pos="0 -.3 0" euler="-90 0 -20">
        <joint name="shoulder_right" type="ball"/>
        <geom type="capsule" fromto="0 0 0 .1 -.2 .3" size=".02"/>
        <body name="hand_right" pos=".1 -.2 .3">
          <joint name="grip_right" type="slide" axis="-1 2 -3"/><joint name="roll_right" axis="1 0 0"/>
          <geom type="sphere" size=".03"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


LEG = """<body name="{0}" pos="{1} 0 0"><joint name="{0}" axis="0 1 .5"/><geom size=".1" pos="{1} 0 -.2"/>
    </body>"""
TURNED = f"""<mujoco><worldbody><body name="base" pos="0 0 1" euler="0 0 90"><freejoint/><geom size=".1"/>
    {LEG.format("left", 0.3)}{LEG.format("right", -0.3)}</body></worldbody></mujoco>"""
MADE = {"two arms": TWO_ARMS, "turned": TURNED}


def gymnasium_model(name):
    if name in MADE:
        return mujoco.MjModel.from_xml_string(MADE[name])
    return mujoco.MjModel.from_xml_path(str(ASSETS / f"{name}.xml"))


CASES = [
    *(("ant", name) for name in ("xz", "yz", "y=x", "y=-x", "r90", "r180", "r270")),
    ("humanoid", "xz"),
    ("humanoidstandup", "xz"),
    ("walker2d_v5", "xz"),
    ("swimmer", "xz"),
    *(("reacher", name) for name in ("xz", "yz", "r180", "r90", "y=x")),
    ("swimmer", "r180"),
    ("swimmer", "yz"),
    ("inverted_double_pendulum", "yz"),
    ("two arms", "xz"),
    ("turned", "xz"),
]


@pytest.mark.parametrize(("robot", "isometry"), CASES)
def test_the_image_of_a_state_is_the_moved_robot(robot, isometry):
    model = gymnasium_model(robot)
    matrix = named(isometry)
    matching = match(model, matrix)
    assert matching.is_complete and not matching.is_trivial
    assert sorted(matching.bodies.values()) == list(range(model.nbody))
    generator = np.random.default_rng(0)
    for _ in range(5):
        velocity = generator.normal(size=model.nv)
        original = moved_by(model, model.qpos0, generator.normal(size=model.nv))
        image = with_state(model, matching.positions(original.qpos))
        later = moved_by(model, original.qpos, 0.1 * velocity)
        image_later = moved_by(model, image.qpos, 0.1 * matching.velocities(velocity))
        for before, after in ((original, image), (later, image_later)):
            for body, partner in matching.bodies.items():
                expected = matching.centre + matrix @ (before.xipos[body] - matching.centre)
                if body:
                    np.testing.assert_allclose(after.xipos[partner], expected, atol=1e-9)


def with_state(model, qpos):
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


def moved_by(model, qpos, displacement):
    qpos = np.array(qpos)
    mujoco.mj_integratePos(model, qpos, displacement, 1.0)
    return with_state(model, qpos)


def by_name(model, pairs, kind):
    names = [getattr(model, kind)(i).name for i in range(model.njnt if kind == "joint" else model.nu)]
    return {names[a]: ("-" if sign < 0 else "") + names[b] for a, (b, sign) in pairs.items()}


def test_the_humanoid_by_hand():
    model = gymnasium_model("humanoid")
    joints = by_name(model, match(model, named("xz")).joints, "joint")
    signs = {
        "hip_x": "",
        "hip_z": "",
        "hip_y": "",
        "knee": "",
        "elbow": "",
        "shoulder1": "-",
        "shoulder2": "-",
    }
    expected = {
        "root": "root",
        "abdomen_z": "-abdomen_z",
        "abdomen_y": "abdomen_y",
        "abdomen_x": "-abdomen_x",
    }
    for (side, other), (joint, sign) in itertools.product(
        (("left", "right"), ("right", "left")), signs.items()
    ):
        expected[f"{side}_{joint}"] = f"{sign}{other}_{joint}"
    assert joints == expected
    assert by_name(model, match(model, named("xz")).actuators, "actuator") == {
        joint: image for joint, image in expected.items() if joint != "root"
    }


def test_the_legs_of_a_flat_walker_change_places():
    model = gymnasium_model("walker2d_v5")
    joints = by_name(model, match(model, named("xz")).joints, "joint")
    for part in ("thigh", "leg", "foot"):
        assert joints[f"{part}_joint"] == f"{part}_left_joint"
        assert joints[f"{part}_left_joint"] == f"{part}_joint"
    assert (joints["rootx"], joints["rootz"], joints["rooty"]) == ("rootx", "rootz", "rooty")


def flat_walker(*names):
    leg = '<body name="{0}"><joint name="{0}" axis="0 1 0"/><geom size=".1"/></body>'
    legs = "".join(leg.format(name) for name in names)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="hull"><joint type="slide" axis="1 0 0"/><geom size=".1"/>
        {legs}</body></worldbody></mujoco>"""
    )


def test_names_decide_between_limbs_at_one_place():
    model = flat_walker("l_hip", "head", "r_hip")
    joints = by_name(model, match(model, named("xz")).joints, "joint")
    assert joints["l_hip"] == "r_hip" and joints["r_hip"] == "l_hip" and joints["head"] == "head"


def test_two_alike_at_one_place_change_places():
    model = flat_walker("one", "other")
    joints = by_name(model, match(model, named("xz")).joints, "joint")
    assert joints["one"] == "other" and joints["other"] == "one"
    assert match(model, np.eye(3)).is_trivial


def test_what_has_no_image_is_named_with_the_reason():
    matching = match(gymnasium_model("hopper"), named("yz"))
    assert not matching.is_complete
    reasons = {item.name: item.reason for item in matching.unmatched}
    assert reasons["foot"] == "its image is at (-0.13, 0, -1.25), where no body is (foot is 0.26 away)"
    assert reasons["foot_joint"] in ("its body has no image", "what it drives has no image")
    cheetah = match(gymnasium_model("humanoid"), named("yz")).unmatched
    assert {item.kind for item in cheetah} == {"body", "joint", "actuator"}


def pair_of_hinges(actuators, joint="1 0 0", tendon=""):
    leg = '<body name="{0}" pos="0 {1} 0"><joint name="{0}" axis="{2}"/><geom size=".1"/></body>'
    legs = leg.format("left", 1, "1 0 0") + leg.format("right", -1, joint)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="hull"><freejoint/><geom size=".1"/>{legs}</body></worldbody>
        {tendon}<actuator>{actuators}</actuator></mujoco>"""
    )


def test_a_reversed_gear_turns_the_commands_sign():
    motors = '<motor joint="left" gear="5"/><motor joint="right" gear="{}"/>'
    assert match(pair_of_hinges(motors.format(5)), named("xz")).actuators == {0: (1, -1.0), 1: (0, -1.0)}
    assert match(pair_of_hinges(motors.format(-7)), named("xz")).actuators == {0: (1, 1.0), 1: (0, 1.0)}
    assert match(pair_of_hinges(motors.format(0)), named("xz")).actuators == {}


def test_each_kind_of_actuator_finds_its_own_kind():
    model = pair_of_hinges(
        '<position joint="left"/><velocity joint="right"/><position joint="right"/><motor joint="left"/>'
    )
    matching = match(model, named("xz"))
    assert matching.actuators == {0: (2, -1.0), 2: (0, -1.0)}
    assert [item.reason for item in matching.unmatched] == [
        "no actuator of its kind drives left",
        "no actuator of its kind drives right",
    ]


def test_tendons_between_joints_are_followed():
    fixed = '<fixed name="{}"><joint joint="left" coef="1"/><joint joint="right" coef="{}"/></fixed>'
    tendon = f"<tendon>{fixed.format('sum', 1)}{fixed.format('difference', -1)}</tendon>"
    model = pair_of_hinges('<motor tendon="sum"/><motor tendon="difference"/>', tendon=tendon)
    assert match(model, named("xz")).actuators == {0: (0, -1.0), 1: (1, 1.0)}
    model = pair_of_hinges('<motor tendon="sum"/><motor tendon="difference"/>', joint="-1 0 0", tendon=tendon)
    assert match(model, named("xz")).actuators == {0: (0, 1.0), 1: (1, -1.0)}


def test_an_axis_that_does_not_mirror_is_refused():
    unmatched = match(pair_of_hinges("", joint="0 1 0"), named("xz")).unmatched
    assert (
        str(unmatched[0]) == "body left: its image is right, whose joints have other types, axes or anchors"
    )


def test_slides_of_one_body_may_change_places():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><geom size=".1"/><joint name="x" type="slide" axis="1 0 0"/>
        <joint name="y" type="slide" axis="0 1 0"/><joint name="yaw" axis="0 0 1"/>
        </body></worldbody></mujoco>"""
    )
    assert by_name(model, match(model, named("r90")).joints, "joint") == {"x": "y", "y": "-x", "yaw": "yaw"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("left_hip", "right_hip", True),
        ("thigh", "thigh_left", True),
        ("LeftArm", "RightArm", True),
        ("FL_hip", "FR_hip", True),
        ("hip_1", "hip_2", False),
        ("left_hip", "left_hip", False),
        ("left_hip", "right_knee", False),
    ],
)
def test_sides_are_told_by_name(first, second, expected):
    assert are_sides(first, second) is expected


def test_partners_share_words():
    assert shared(["right_hip_x", "left_hip_x"]) == "hip_x"
    assert shared(["hip_1", "hip_2", "hip_3"]) == "hip"
    assert shared(["a", "b"]) == ""
