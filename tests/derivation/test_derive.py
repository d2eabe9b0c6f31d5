"""Derived descriptions against the model's geometry, the catalog, and models broken on purpose."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium.envs.mujoco
import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import ambidex
from ambidex.cli.command_line import app
from ambidex.derivation.derive import derive
from ambidex.derivation.match.matching import match
from ambidex.symmetry import lint, load

ASSETS = Path(gymnasium.envs.mujoco.__file__).parent / "assets"
HOLDING = {
    "ant": {"xz", "yz", "y=x", "y=-x", "r90", "r180", "r270"},
    "humanoid": {"xz"},
    "humanoidstandup": {"xz"},
    "walker2d_v5": {"xz"},
    "swimmer": {"xz"},
    "reacher": {"xz"},
    "inverted_pendulum": {"yz"},
    "inverted_double_pendulum": {"yz"},
}


def leg(name, place, axis):
    joint = f'<joint name="{name}_hip" axis="{axis}" range="-1 1" limited="true"/>'
    return f'<body name="{name}" pos="{place}">{joint}<geom size=".1" pos="0 0 -.3"/></body>'


def biped(actuators="", extra="", left="1 0 0", right="1 0 0", hull="<freejoint/>", world=""):
    return f"""<mujoco model="biped"><compiler angle="radian"/><worldbody>{world}
        <body name="hull" pos="0 0 1">{hull}<geom size=".1"/>{leg("left", "0 1 0", left)}
        {leg("right", "0 -1 0", right)}</body></worldbody>{extra}<actuator>{actuators}</actuator></mujoco>"""


def derive_text(text, **options):
    return derive(mujoco.MjModel.from_xml_string(text), **options)


def assert_is_geometry(group, model):
    """The maps by names do to qpos, qvel and ctrl what the matching does."""
    generator = np.random.default_rng(0)
    for symmetry in group:
        matching = match(model, symmetry.isometry)
        qpos = np.array(model.qpos0)
        mujoco.mj_integratePos(model, qpos, generator.normal(size=model.nv), 1.0)
        qvel, ctrl = generator.normal(size=model.nv), generator.normal(size=model.nu)
        image = np.concatenate([matching.positions(qpos), matching.velocities(qvel)])
        np.testing.assert_allclose(
            symmetry.observation(np.concatenate([qpos, qvel])), image, atol=1e-9, err_msg=symmetry.name
        )
        if model.nu:
            np.testing.assert_allclose(symmetry.action(ctrl), matching.controls(ctrl), atol=1e-9)


@pytest.mark.parametrize("robot", HOLDING)
def test_what_holds_is_found_and_described(robot, tmp_path):
    path = ASSETS / f"{robot}.xml"
    derived = derive(path)
    assert derived.holds
    assert set(derived.group.names) == HOLDING[robot]
    assert_is_geometry(derived.group, mujoco.MjModel.from_xml_path(str(path)))
    assert lint(derived.group) == []
    derived.save(tmp_path / "robot.yaml")
    assert load(tmp_path / "robot.yaml") == derived.group
    assert "multipliers" not in (tmp_path / "robot.yaml").read_text()


def test_the_ant_agrees_with_the_catalog():
    derived, catalog = derive(ASSETS / "ant.xml", plane="xz").group["xz"], load("ant-v5")["xz"]
    assert derived.action_map == catalog.action_map
    joints = slice(5, 13)
    assert (derived.observation_map.multipliers[7:15] == catalog.observation_map.multipliers[joints]).all()
    assert (derived.observation_map.indices[7:15] - 2 == catalog.observation_map.indices[joints]).all()


def test_a_triangle_robot_is_found_among_the_rare():
    legs = "".join(
        leg(f"leg_{i}", f"{np.cos(a)} {np.sin(a)} 0", f"{-np.sin(a)} {np.cos(a)} 0")
        for i, a in enumerate(np.radians([90, 210, 330]))
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="hull"><freejoint/><geom size=".1"/>{legs}</body></worldbody>
        </mujoco>"""
    )
    derived = derive(model)
    assert set(derived.group.names) == {"yz", "r120", "m30", "m150", "r240"}
    assert_is_geometry(derived.group, model)
    assert derived.notes == ("the model has no actuators; one action for each joint is assumed",)
    assert derived.group.action_size == 3


def test_a_robot_without_a_symmetry():
    derived = derive(ASSETS / "hopper.xml")
    assert derived.group is None and not derived.holds
    assert "xz     holds, but moves nothing" in str(derived)
    with pytest.raises(ValueError, match="nothing to write"):
        derived.save("nowhere.yaml")


def test_what_was_asked_for_must_hold():
    derived = derive(ASSETS / "humanoid.xml", plane="xz", rotation="z:180")
    assert not derived.holds
    assert derived.group.names == ("xz",)
    assert [(attempt.name, attempt.holds) for attempt in derived.attempts] == [("xz", True), ("r180", False)]
    assert derive(ASSETS / "ant.xml", plane=[1, 0, 0], rotation=("z", 90)).group.names[:2] == ("yz", "r90")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plane": "r90"}, "'r90' is no plane"),
        ({"plane": "inversion"}, "'inversion' is no plane"),
        ({"plane": "zx"}, "no isometry is called 'zx'"),
        ({"rotation": "90"}, "a rotation is given as axis and degrees, z:90, got '90'"),
        ({"rotation": "w:90"}, "a rotation is given as axis and degrees"),
        ({"rotation": "z:360"}, "moves nothing"),
    ],
)
def test_wrong_isometries_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        derive(ASSETS / "ant.xml", **options)


def test_files_that_mujoco_cannot_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        derive(tmp_path / "robot.xml")
    (tmp_path / "robot.xml").write_text("robot: ant")
    with pytest.raises(ValueError, match=r"robot\.xml: MuJoCo cannot read it"):
        derive(tmp_path / "robot.xml")


def test_a_model_without_joints():
    with pytest.raises(ValueError, match="has no joints"):
        derive_text('<mujoco model="rock"><worldbody><geom size="1"/></worldbody></mujoco>')


def test_a_urdf_file(tmp_path):
    arm = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0 0 -.2"/>
        <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="{0}_joint" type="revolute"><parent link="base"/><child link="{0}"/>
        <origin xyz="0 {1} .5"/><axis xyz="{2}"/>
        <limit lower="-1" upper="2" effort="1" velocity="1"/></joint>"""
    text = f"""<robot name="torso"><link name="base"><collision><origin xyz="0 .1 0"/>
        <geometry><box size="1 1 1"/></geometry></collision></link>{arm.format("left_arm", 0.3, "1 0 0")}
        {arm.format("right_arm", -0.3, "-1 0 0")}</robot>"""
    (tmp_path / "torso.urdf").write_text(text)
    derived = derive(tmp_path / "torso.urdf", plane="xz", floating=False)
    symmetry = derived.group["xz"]
    assert symmetry.observation(np.array([0.1, 0.2, 3.0, 4.0])).tolist() == [0.2, 0.1, 4, 3]
    assert symmetry.action(np.array([1.0, 2.0])).tolist() == [2, 1]
    assert derived.group.layout.action_names == ("left_arm.arm", "right_arm.arm")
    assert derived.asymmetries == ()


TENDON = '<fixed name="{0}"><joint joint="{0}_hip" coef="{1}"/></fixed>'
TENDONS = f"<tendon>{TENDON.format('left', 2)}{TENDON.format('right', '{}')}</tendon>"
MOTORS = '<motor joint="left_hip" gear="5"/><motor joint="right_hip" gear="{}"/>'


@pytest.mark.parametrize(
    "text",
    [
        biped(MOTORS.format(5)),
        biped(MOTORS.format(-5)),
        biped(MOTORS.format(-5), right="-1 0 0"),
        biped(MOTORS.format(5) + '<position joint="right_hip"/><position joint="left_hip"/>'),
        biped('<motor tendon="left"/><motor tendon="right"/>', extra=TENDONS.format(3)),
        biped('<motor tendon="left"/><motor tendon="right"/>', extra=TENDONS.format(-3)),
        biped('<position joint="left_hip"/>' + MOTORS.format(5) + '<position joint="right_hip"/>'),
        biped(MOTORS.format(5), hull='<joint type="ball" name="neck"/>'),
    ],
)
def test_commands_follow_the_gears(text):
    model = mujoco.MjModel.from_xml_string(text)
    derived = derive(model, plane="xz")
    assert derived.holds
    assert_is_geometry(derived.group, model)


def test_a_model_that_is_slightly_off_is_described_exactly():
    off = biped(MOTORS.format(5), right="1 0.001 0").replace("0 -1 0", "0 -1 0.0005")
    derived = derive_text(off, plane="xz")
    assert derived.group["xz"].order == 2
    assert [str(item) for item in derived.asymmetries] == [
        "the axis of left_hip is 0.057 degrees off the image of right_hip's",
        "the place of left is 0.5 mm from the image of right's",
    ]
    strict = derive_text(off, plane="xz", near=1e-5)
    assert not strict.holds


def test_loose_things_beside_the_robot_stay_themselves():
    loose = '<body name="{0}" pos="{1} 1 0"><freejoint name="{0}"/><geom size=".1"/></body>'
    text = biped(MOTORS.format(5), world=loose.format("ball", 1) + loose.format("cube", 2))
    model = mujoco.MjModel.from_xml_string(text)
    derived = derive(model, plane="xz")
    assert_is_geometry(derived.group, model)
    assert "ball_position.x" in derived.group.layout.observation_names


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            biped(world='<geom type="box" size=".1 .1 .1" pos="1 1 0"/>'),
            "nothing of its type is where its image is",
        ),
        (
            biped(hull='<freejoint name="root"/>').replace('pos="0 0 1"', 'pos="0 0 1" euler="0 0 .5"'),
            "where no body is",
        ),
        (
            biped().replace('"-1 1"', '".5 1"'),
            "joint left_hip: its range becomes [-1, -0.5], but right_hip has [0.5, 1]",
        ),
        (biped(extra='<option gravity="0 1 -9"/>'), "(0, 1, -9) becomes (0, -1, -9)"),
    ],
)
def test_what_stands_in_the_way_is_said(text, reason):
    derived = derive_text(text, plane="xz")
    assert not derived.holds
    assert reason in str(derived)


def test_what_names_cannot_say_is_said():
    slides = """<mujoco><worldbody><body name="puck"><geom size=".1"/>
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/></body>
        </worldbody></mujoco>"""
    assert "changes places with another joint of the same body" in str(derive_text(slides, plane="y=x"))
    assert "joint joint0 would be shifted by 180 degrees" in str(derive(ASSETS / "reacher.xml", plane="yz"))
    quarter = 'pos="0 0 1" euler="0 0 1.57079632679"'
    turned = biped(left="1 0 0", right="-1 0 0").replace('pos="0 0 1"', quarter)
    assert "the frame of joint joint_0 is turned" in str(derive_text(turned, plane="yz"))
    turned = biped(hull='<freejoint name="root"/>', left="0 0 1", right="0 0 1")
    turned = turned.replace('pos="0 0 1"', 'pos="0 0 1" euler="0 0 3.14159265358979"', 1)
    assert derive_text(turned, plane="xz").holds  # half a turn about z keeps the plane
    tilted = biped(left="0 0 1", right="0 0 1").replace('pos="0 0 1"', 'pos="0 0 1" euler=".5 0 0"', 1)
    assert not derive_text(tilted, plane="xz").holds


def test_the_command_line(tmp_path):
    run = CliRunner().invoke(
        app, ["derive", str(ASSETS / "walker2d.xml"), "--plane", "xz", "--out", str(tmp_path / "w.yaml")]
    )
    assert run.exit_code == 0
    assert "foot_geom has the friction [0.9, 0.1, 0.1], foot_left_geom [1.9, 0.1, 0.1]" in run.stdout
    assert load(tmp_path / "w.yaml")["xz"].action(np.arange(6.0)).tolist() == [3, 4, 5, 0, 1, 2]
    run = CliRunner().invoke(app, ["derive", str(ASSETS / "hopper.xml"), "--rotation", "z:180", "--json"])
    assert run.exit_code == 1
    content = json.loads(run.stdout)
    assert content["transforms"] == []
    assert content["attempts"][0]["unmatched"][0] == {
        "kind": "body",
        "name": "foot",
        "reason": "its image is at (-0.13, 0, -1.25), where no body is (foot is 0.26 away)",
    }


def test_the_public_name():
    assert ambidex.derive is derive


PAGE = (Path(__file__).parents[2] / "docs" / "derive.md").read_text()


@pytest.mark.parametrize(
    "command", ["ant.xml --out ant.yaml", "humanoid.xml --plane xz", "limping.xml --plane xz"]
)
def test_the_page_shows_what_is_printed(command, tmp_path):
    shown = PAGE.partition(f"$ ambidex derive {command}\n")[2].partition("```")[0]
    for name in ("ant", "humanoid"):
        (tmp_path / f"{name}.xml").write_text((ASSETS / f"{name}.xml").read_text())
    limping = (ASSETS / "ant.xml").read_text().replace('"left_ankle_geom"', '"left_ankle_geom" density="15"')
    limping = limping.replace('joint="hip_4" gear="150"', 'joint="hip_4" gear="-300"')
    (tmp_path / "limping.xml").write_text(limping)
    model, *options = command.split()
    derived = derive(tmp_path / model, plane="xz" if "--plane" in options else None)
    assert f"{derived}\n" == shown


def test_what_cannot_be_touched_does_not_stand_in_the_way():
    """With contacts disabled, a target that is drawn beside the robot leaves its symmetry."""
    box = '<geom type="box" size=".1 .1 .1" pos="1 1 0"/>'
    assert not derive_text(biped(world=box), plane="xz").holds
    ghosts = biped(world=box).replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    assert derive_text(ghosts, plane="xz").holds


def test_a_tendon_that_leaves_a_joint_out():
    """Its share is 0, as in a model whose shares are drawn anew in every episode."""
    text = """<mujoco><worldbody><body name="mass"><joint name="x" type="slide" axis="1 0 0"/>
        <joint name="y" type="slide" axis="0 1 0"/><geom size=".1"/></body></worldbody><tendon>
        <fixed name="t1"><joint joint="x" coef="1"/><joint joint="y" coef="0"/></fixed>
        <fixed name="t2"><joint joint="x" coef="0"/><joint joint="y" coef="1"/></fixed></tendon>
        <actuator><motor tendon="t1"/><motor tendon="t2"/></actuator></mujoco>"""
    group = derive_text(text, plane="xz").group
    assert group["xz"].observation(np.arange(1.0, 5.0)).tolist() == [1, -2, 3, -4]
    assert group["xz"].action(np.array([1.0, 2.0])).tolist() == [1, -2]
