"""Two arms whose grippers have one motor each, like ALOHA's: what is derived, held against their motion."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambidex.derivation.derive import derive
from ambidex.symmetry import Symmetry

FINGER = """<body name="{arm}/{side}_finger"><joint name="{arm}/{side}_finger" type="slide" axis="0 {way} 0"
    damping="2"/><geom type="box" size=".03 .005 .02" pos=".04 {at} 0" mass=".05" contype="0"
    conaffinity="0"/></body>"""
ARM = """<body name="{arm}/base" pos="{x} 0 .3" euler="0 0 {turned}">
    <joint name="{arm}/shoulder" axis="0 0 1" damping="1"/>
    <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03" mass="1" contype="0" conaffinity="0"/>
    <body name="{arm}/forearm" pos=".2 0 0">
    <joint name="{arm}/elbow" axis="0 1 0" damping="1" stiffness="20"/>
    <geom type="capsule" fromto="0 0 0 .15 0 0" size=".02" mass=".5" contype="0" conaffinity="0"/>
    <body name="{arm}/hand" pos=".15 0 0">
    <geom type="sphere" size=".02" mass=".2" contype="0" conaffinity="0"/>
    {left}{right}</body></body></body>"""


def arms(driven: str = "left") -> mujoco.MjModel:
    """The motor of a hand drives one finger, a coupling the other; both fingers start at one place."""
    bodies = motors = couplings = ""
    for arm, x, turned in (("left", -0.6, 0), ("right", 0.6, 180)):
        fingers = {
            side: FINGER.format(arm=arm, side=side, way=way, at=0.02 * way)
            for side, way in (("left", 1), ("right", -1))
        }
        bodies += ARM.format(arm=arm, x=x, turned=turned, **fingers)
        motors += f'<motor joint="{arm}/shoulder"/><motor joint="{arm}/elbow"/>'
        motors += f'<position name="{arm}/gripper" joint="{arm}/{driven}_finger" kp="50"/>'
        couplings += f'<joint joint1="{arm}/left_finger" joint2="{arm}/right_finger" solref=".002 1"/>'
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep=".0005"/><worldbody>{bodies}</worldbody>
        <equality>{couplings}</equality><actuator>{motors}</actuator></mujoco>"""
    )


def moved(model: mujoco.MjModel, state: np.ndarray, action: np.ndarray, steps: int = 100) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = np.split(state, 2)
    data.ctrl[:] = action
    mujoco.mj_step(model, data, steps)
    return np.concatenate([data.qpos, data.qvel])


def deviation(model: mujoco.MjModel, symmetry: Symmetry, action_signs: np.ndarray) -> float:
    """How far motion and image part in 50 ms, in shares of what moves; fingers start together."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(5):
        state = 0.1 * rng.standard_normal(2 * model.nq)
        for part in (0, model.nq):
            state[part + 3], state[part + 7] = state[part + 2], state[part + 6]
        action = rng.standard_normal(model.nu) * np.tile([1, 1, 0.1], 2)
        after = symmetry.observation(moved(model, state, action))
        image = moved(model, symmetry.observation(state), symmetry.action(action) * action_signs)
        moving = np.abs(after - symmetry.observation(state))
        worst = max(worst, float((np.abs(after - image)[: model.nq] / moving[: model.nq].max()).max()))
    return worst


@pytest.mark.parametrize("driven", ["left", "right"])
def test_the_motor_of_a_gripper_follows_its_coupling(driven: str) -> None:
    model = arms(driven)
    derived = derive(model)
    assert derived.group is not None
    assert set(derived.group.names) == {"xz", "yz", "r180"}
    for symmetry in derived.group:
        assert deviation(model, symmetry, np.ones(model.nu)) < 0.02
        for motor in range(model.nu):  # the check sees each single wrong sign
            signs = np.ones(model.nu)
            signs[motor] = -1
            assert deviation(model, symmetry, signs) > 0.1


def test_mirrored_fingers_change_places_and_turned_ones_do_not() -> None:
    """By hand: a mirror makes the left finger of one hand the right one of the other."""
    model = arms()
    names = [model.joint(number).name for number in range(model.njnt)]
    group = derive(model).group
    assert group is not None
    position = np.arange(1.0, 2 * model.nq + 1)
    finger = names.index("left/left_finger")
    assert group["yz"].observation(position)[finger] == position[names.index("right/right_finger")]
    assert group["r180"].observation(position)[finger] == position[names.index("right/left_finger")]
    assert group["xz"].observation(position)[finger] == position[names.index("left/right_finger")]
    grippers = np.array([0, 0, 1.0, 0, 0, 2.0])
    assert group["yz"].action(grippers).tolist() == [0, 0, 2, 0, 0, 1]
    assert group["xz"].action(grippers).tolist() == [0, 0, 1, 0, 0, 2]
