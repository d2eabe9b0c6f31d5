"""A quadruped like the Go2, built in MuJoCo without any file, whose faults are known.

Four legs of three joints, 15 kg, driven by torques or by position targets under a PD controller in each
joint. A motor may be weak, a payload may sit beside the middle, an encoder may read a wrong angle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np

from ambidex import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout

LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
JOINTS = ("hip", "thigh", "calf")
NAMES = tuple(f"{leg}.{joint}" for leg in LEGS for joint in JOINTS)
KP, KD = 30.0, 1.0
LIMIT = 24.0
SCALE = 0.25  # radians of a command of 1
STEP, SUBSTEPS = 0.02, 5
TORQUE = 8.0  # newton metres of a command of 1
REST = np.array([0.0, 0.8, -1.5])

Kind = Literal["torque", "position"]
DRIVES: dict[Kind, dict[str, object]] = {
    "position": {
        "action": "position", "kp": KP, "kd": KD, "scale": SCALE, "limit": LIMIT, "step": STEP,
    },
    "torque": {"action": "torque", "scale": TORQUE, "limit": LIMIT},
}  # fmt: skip


@dataclass(frozen=True)
class Faults:
    """What is wrong with the robot.

    :param strength: of motors by name, 1 where nothing is said
    :param payload: kilograms, at this place of the trunk
    :param place: of the payload
    :param encoder: radians by which joints read too much
    """

    strength: Mapping[str, float] = field(default_factory=dict)
    payload: float = 0.0
    place: tuple[float, float, float] = (0.1, 0.06, 0.06)
    encoder: Mapping[str, float] = field(default_factory=dict)

    @property
    def strengths(self) -> np.ndarray:
        return np.array([self.strength.get(name, 1.0) for name in NAMES])

    @property
    def readings(self) -> np.ndarray:
        return np.array([self.encoder.get(name, 0.0) for name in NAMES])


def group(kind: Kind, drive: Mapping[str, object] | None = None) -> SymmetryGroup:
    """Its mirror symmetry, described by names."""
    limbs = {
        leg: {"at": [0.19 * front, 0.14 * left], "joints": {"hip": "x", "thigh": "y", "calf": "y"}}
        for leg, (front, left) in LEGS.items()
    }
    description: dict[str, object] = {
        "robot": "quadruped",
        "limbs": limbs,
        "observations": [
            {"velocity": "vector"},
            {"spin": "pseudovector"},
            {"gravity": "vector"},
            {"angles": {"joint": "position"}},
            {"speeds": {"joint": "velocity"}},
            {"contacts": "contact"},
        ],
        "actions": [{"target" if kind == "position" else "torque": "joint"}],
    }
    if drive is not None:
        description["drive"] = drive
    layout = Layout(description)
    return SymmetryGroup([layout.symmetry("xz", np.diag([1.0, -1.0, 1.0]))], layout=layout)


def model(kind: Kind, faults: Faults) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP / SUBSTEPS
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[0.8, 0.02, 0.01])
    trunk = spec.worldbody.add_body(name="trunk", pos=[0, 0, 0.32])
    trunk.add_freejoint()
    box = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.19, 0.05, 0.06], "contype": 0, "conaffinity": 0}
    trunk.add_geom(mass=6.9, **box)
    if faults.payload:
        load = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.04, 0, 0], "contype": 0, "conaffinity": 0}
        trunk.add_geom(mass=faults.payload, pos=faults.place, **load)
    for leg, (front, left) in LEGS.items():
        hip = trunk.add_body(name=f"{leg}_hip", pos=[0.193 * front, 0.0465 * left, 0])
        hip.add_joint(name=f"{leg}.hip", axis=[1, 0, 0], armature=0.01, damping=0.1, frictionloss=0.1)
        _capsule(hip, 0.68, 0.04, [0, 0, 0], [0, 0.06 * left, 0])
        thigh = hip.add_body(name=f"{leg}_thigh", pos=[0, 0.0955 * left, 0])
        thigh.add_joint(name=f"{leg}.thigh", axis=[0, 1, 0], armature=0.01, damping=0.1, frictionloss=0.1)
        _capsule(thigh, 1.15, 0.025, [0, 0, 0], [0, 0, -0.213])
        calf = thigh.add_body(name=f"{leg}_calf", pos=[0, 0, -0.213])
        calf.add_joint(name=f"{leg}.calf", axis=[0, 1, 0], armature=0.01, damping=0.1, frictionloss=0.1)
        _capsule(calf, 0.2, 0.012, [0, 0, 0], [0, 0, -0.2])
        calf.add_geom(
            name=f"{leg}_foot", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.022, 0, 0], pos=[0, 0, -0.213],
            mass=0.04, friction=[0.8, 0.02, 0.01], contype=1, conaffinity=1,
        )  # fmt: skip
    for name, strength in zip(NAMES, faults.strengths, strict=True):
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE
        motor.gainprm[0] = strength * (KP if kind == "position" else TORQUE)
        if kind == "position":
            motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            motor.biasprm[1:3] = [-strength * KP, -strength * KD]
        motor.forcelimited, motor.forcerange = True, [-strength * LIMIT, strength * LIMIT]
    return spec.compile()


def _capsule(body: mujoco.MjsBody, mass: float, radius: float, start: list[float], end: list[float]) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[radius, 0, 0], fromto=[*start, *end], mass=mass,
        contype=0, conaffinity=0,
    )  # fmt: skip


def logged(
    kind: Kind, faults: Faults, steps: int, *, seed: int = 0, noise: float = 0.5
) -> dict[str, np.ndarray]:
    """Observations, actions, next observations and mean actions of a robot that trots about, badly.

    Its policy changes every second: a gait of its own, feedback on posture and speed, and noise.
    """
    rng = np.random.default_rng(seed)
    robot = model(kind, faults)
    data = mujoco.MjData(robot)
    feet = [robot.geom(f"{leg}_foot").id for leg in LEGS]
    rows = []
    rest = np.tile(REST, 4)
    state = None
    for step in range(steps):
        if step % 50 == 0:
            gait, phase, pace = 0.8 * rng.random(12), rng.uniform(0, 2 * np.pi, 12), rng.uniform(2, 8)
            feedback = 0.3 * rng.standard_normal((12, 37)) / np.sqrt(37)
        if state is None or data.qpos[2] < 0.15 or data.xmat[1][8] < 0.5:
            mujoco.mj_resetData(robot, data)
            data.qpos[2] = 0.3
            data.qpos[7:] = rest + 0.1 * rng.standard_normal(12)
            mujoco.mj_forward(robot, data)
            state = _observed(robot, data, feet, faults)
        mean = gait * np.sin(phase + pace * step * STEP) + feedback @ np.clip(state, -3, 3)
        if kind == "torque":  # torques hold the robot up by themselves, as a policy would
            mean = mean + (KP * (rest - data.qpos[7:]) - KD * data.qvel[6:]) / TORQUE
        action = mean + noise * rng.standard_normal(12)
        data.ctrl[:] = action if kind == "torque" else rest + SCALE * action - faults.readings
        mujoco.mj_step(robot, data, nstep=SUBSTEPS)
        following = _observed(robot, data, feet, faults)
        rows.append((state, action, following, mean))
        state = following
    names = ("observations", "actions", "next_observations", "means")
    return dict(zip(names, (np.array(column) for column in zip(*rows, strict=True)), strict=True))


def _observed(robot: mujoco.MjModel, data: mujoco.MjData, feet: list[int], faults: Faults) -> np.ndarray:
    turned = data.xmat[1].reshape(3, 3)
    angles = data.qpos[7:] - np.tile(REST, 4) + faults.readings
    touching = {int(geom) for contact in data.contact[: data.ncon] for geom in contact.geom}
    contacts = [float(foot in touching) for foot in feet]
    return np.concatenate(
        [turned.T @ data.qvel[:3], data.qvel[3:6], turned.T @ [0, 0, -1], angles, data.qvel[6:], contacts]
    )
