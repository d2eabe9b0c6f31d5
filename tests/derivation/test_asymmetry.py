"""Asymmetries put into symmetric models, and those that Gymnasium's own models have."""

from __future__ import annotations

from pathlib import Path

import gymnasium.envs.mujoco
import mujoco
import numpy as np
import pytest

from ambidex.derivation.asymmetry import asymmetries
from ambidex.derivation.derive import derive
from ambidex.derivation.differences import percent
from ambidex.derivation.match.matching import match
from ambidex.symmetry.isometry import named

ASSETS = Path(gymnasium.envs.mujoco.__file__).parent / "assets"
LEG = """<body name="{0}" pos="0 {1} 0" euler="{1}0 0 0"><joint name="{0}_hip" axis="1 0 0" range="{2}"
    limited="true" damping="2" stiffness="3" armature=".1" frictionloss=".2" springref="{3}"/>
    <geom name="{0}_shin" type="capsule" fromto="0 0 0 0 0 -.5" size=".1"/>
    <geom name="{0}_palm" type="box" size=".1 .2 .3" euler="0 0 {1}0" pos=".1 0 -.6"/></body>"""
ROBOT = f"""<mujoco><worldbody><body name="hull" pos="0 0 1"><freejoint/>
    <geom name="hull" type="box" size=".2 .1 .1"/>{LEG.format("left", 1, "-10 20", 5)}
    {LEG.format("right", -1, "-20 10", -5)}</body></worldbody><actuator>
    <motor joint="left_hip" gear="5" ctrlrange="-1 2" ctrllimited="true"/>
    <motor joint="right_hip" gear="5" ctrlrange="-2 1" ctrllimited="true"/></actuator></mujoco>"""


@pytest.fixture
def robot():
    return mujoco.MjModel.from_xml_string(ROBOT)


def sentences(model, *isometries):
    return [str(item) for item in asymmetries({name: match(model, named(name)) for name in isometries})]


def test_a_symmetric_model_has_none(robot):
    assert match(robot, named("xz")).is_complete
    assert sentences(robot, "xz") == []


@pytest.mark.parametrize(
    ("kind", "name", "attribute", "change", "expected"),
    [
        ("body", "left", "mass", lambda mass: 2 * mass, "left has 2 times the mass of right"),
        ("body", "left", "mass", lambda mass: 1.05 * mass, "left has 5 % more mass than right"),
        (
            "body",
            "left",
            "ipos",
            lambda x: x + np.array([0, 0.003, 0]),
            "the centre of mass of left is 3 mm from the image of right's",
        ),
        (
            "body",
            "left",
            "pos",
            lambda x: x + np.array([0, 0, 0.001]),
            "the place of left is 1 mm from the image of right's",
        ),
        ("joint", "right_hip", "damping", lambda x: 4 * x, "right_hip has 4 times the damping of left_hip"),
        (
            "joint",
            "left_hip",
            "armature",
            lambda x: 0 * x,
            "right_hip has the armature 0.1, left_hip has none",
        ),
        (
            "joint",
            "left_hip",
            "frictionloss",
            lambda x: 2 * x,
            "left_hip has 2 times the friction loss of right_hip",
        ),
        (
            "joint",
            "left_hip",
            "stiffness",
            lambda x: 2 * x,
            "left_hip has 2 times the stiffness of right_hip",
        ),
        (
            "joint",
            "left_hip",
            "range",
            lambda x: np.array([-0.5, 1]),
            "left_hip has the range [-0.5, 1], right_hip [-0.3491, 0.1745], where the signs are opposite",
        ),
        ("actuator", 0, "gear", lambda x: 3 * x, "left_hip has 3 times the gear of right_hip"),
        (
            "actuator",
            1,
            "gear",
            lambda x: -x,
            "the gears of left_hip and right_hip have different signs, for which the description allows",
        ),
        (
            "actuator",
            1,
            "ctrlrange",
            lambda x: (-1, 2),
            "left_hip has the control range [-1, 2], right_hip [-1, 2], where the signs are opposite",
        ),
        (
            "geom",
            "left_palm",
            "friction",
            lambda x: x * (1.5, 1, 1),
            "left_palm has the friction [1.5, 0.005, 0.0001], right_palm [1, 0.005, 0.0001]",
        ),
        (
            "geom",
            "left_palm",
            "size",
            lambda x: x * (2, 1, 1),
            "left_palm has the size [0.2, 0.2, 0.3], right_palm [0.1, 0.2, 0.3]",
        ),
        (
            "geom",
            "right_palm",
            "quat",
            lambda x: (1, 0, 0, 0),
            "left_palm is turned otherwise than the image of right_palm",
        ),
        ("geom", "left_palm", "contype", lambda x: 0 * x + 0, None),
    ],
)
def test_each_asymmetry_is_named(robot, kind, name, attribute, change, expected):
    part = getattr(robot, kind)(name)
    setattr(part, attribute, change(np.array(getattr(part, attribute))))
    if expected is None:
        part.conaffinity = 0
        assert sentences(robot, "xz") == ["right_palm has no counterpart on left"]
    else:
        assert expected in sentences(robot, "xz")


def test_gravity_that_leans(robot):
    robot.opt.gravity[1] = 1e-5
    assert sentences(robot, "xz") == ["gravity leans 1e-05 m/s² to one side"]


def test_one_heavy_leg_of_the_ant(tmp_path):
    """As a file: the shin of leg 1 is three times as dense, and one motor is reversed and stronger."""
    text = (ASSETS / "ant.xml").read_text()
    shin, motor = 'name="left_ankle_geom"', 'joint="hip_4" gear="150"'
    assert text.count(shin) == text.count(motor) == 1
    text = text.replace(shin, f'{shin} density="15"').replace(motor, 'joint="hip_4" gear="-300"')
    (tmp_path / "limping.xml").write_text(text)
    derived = derive(tmp_path / "limping.xml", plane="xz")
    assert derived.holds
    found = {(item.quantity, item.first, item.second): item.words for item in derived.asymmetries}
    assert found["mass", "ankle_1", "ankle_4"] == "ankle_1 has 3 times the mass of ankle_4"
    assert found["gear", "hip_4", "hip_1"] == "hip_4 has 2 times the gear of hip_1"
    assert len(found) == 3  # and the gears' signs
    stock = derive(ASSETS / "ant.xml", plane="xz").group["xz"].action_map
    changed = derived.group["xz"].action_map
    assert changed.indices.tolist() == stock.indices.tolist()
    differing = np.flatnonzero(changed.multipliers != stock.multipliers)
    assert differing.tolist() == [0, 2]  # hip_4 and hip_1


REAL = {
    "ant": ("xz", []),
    "humanoid": (
        "xz",
        [
            "left_knee has the stiffness 1, right_knee has none",
            "left_hip_y has 1.25 times the armature of right_hip_y",
        ],
    ),
    "humanoidstandup": (
        "xz",
        [
            "left_knee has the stiffness 1, right_knee has none",
            "left_hip_y has 1.25 times the armature of right_hip_y",
            "right_hip_y has the range [-1.92, 0.3491], left_hip_y [-2.094, 0.3491]",
        ],
    ),
    "walker2d": ("xz", ["foot_geom has the friction [0.9, 0.1, 0.1], foot_left_geom [1.9, 0.1, 0.1]"]),
    "walker2d_v5": ("xz", []),
    "swimmer": ("xz", []),
    "reacher": ("xz", []),
    "inverted_pendulum": (
        "yz",
        [
            "cpole is turned otherwise than its own image",
            "the inertia of pole for its mass is 0.32 % off its own image",
            "the centre of mass of pole is 1 mm from its own image",
            "the place of cpole is 1 mm from its own image",
        ],
    ),
    "inverted_double_pendulum": ("yz", ["gravity leans 1e-05 m/s² to one side"]),
}


@pytest.mark.parametrize("name", REAL)
def test_gymnasiums_own_models(name):
    isometry, expected = REAL[name]
    assert sentences(mujoco.MjModel.from_xml_path(str(ASSETS / f"{name}.xml")), isometry) == expected


def test_the_largest_comes_first_and_each_pair_once():
    model = mujoco.MjModel.from_xml_path(str(ASSETS / "ant.xml"))
    model.joint("ankle_1").damping = 5
    model.body("aux_1").mass *= 1.5
    model.body("aux_1").inertia *= 1.5
    found = asymmetries({name: match(model, named(name)) for name in ("xz", "yz", "r90")})
    assert [(item.quantity, item.first, item.second) for item in found] == [
        ("damping", "ankle_1", "ankle_4"),
        ("damping", "ankle_1", "ankle_2"),
        ("mass", "aux_1", "aux_4"),
        ("mass", "aux_1", "aux_2"),
    ]
    assert found[0].as_dict()["difference"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("share", "words"), [(0.034, "3.4 %"), (0.23, "23 %"), (0.99999, "100 %"), (1.2, "120 %")]
)
def test_percents_are_read_without_powers_of_ten(share: float, words: str) -> None:
    assert percent(share) == words
