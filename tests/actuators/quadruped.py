"""Quadrupeds like the Go2, built in MuJoCo without any file, whose faults are known.

Four legs of three joints, 15 kg, driven by torques or by position targets under a PD controller in each
joint. A motor may be weak, a payload may sit beside the middle or on a limb, an encoder may read a wrong
angle. `Build.drawn` makes others of the same kind: heavier or lighter, longer or shorter, otherwise driven.
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
STEP, SUBSTEPS = 0.02, 5
REST = np.array([0.0, 0.8, -1.5])

Kind = Literal["torque", "position"]


@dataclass(frozen=True)
class Build:
    """How the robot is made, in kilograms, metres, newton metres and radians.

    :param masses: of the trunk, and of each leg's hip, thigh and calf
    :param lengths: of the thigh and the calf
    :param sideways: from the hip to the thigh
    :param limit: of a sound motor
    :param target: how far a command of 1 moves a position target
    :param torque: of a command of 1 where commands are torques
    :param noise: of the commands
    """

    masses: tuple[float, float, float, float] = (6.9, 0.68, 1.15, 0.2)
    lengths: tuple[float, float] = (0.213, 0.213)
    sideways: float = 0.0955
    armature: float = 0.01
    damping: float = 0.1
    friction: float = 0.1
    kp: float = 30.0
    kd: float = 1.0
    limit: float = 24.0
    target: float = 0.25
    torque: float = 8.0
    noise: float = 0.5

    @classmethod
    def drawn(cls, seed: int) -> Build:
        """Another robot of the kind."""
        rng = np.random.default_rng(seed)
        usual = cls()

        def some(value: float, factor: float) -> float:
            return float(value * factor ** rng.uniform(-1, 1))

        heavier = some(1, 1.6)
        hip, thigh, calf = (some(heavier * mass, 1.4) for mass in usual.masses[1:])
        return cls(
            masses=(some(heavier * usual.masses[0], 1.3), hip, thigh, calf),
            lengths=(some(usual.lengths[0], 1.3), some(usual.lengths[1], 1.3)),
            sideways=some(usual.sideways, 1.4),
            armature=some(usual.armature, 1.6),
            damping=some(usual.damping, 2),
            friction=some(usual.friction, 2),
            kp=some(heavier * usual.kp, 1.4),
            kd=some(heavier * usual.kd, 1.4),
            limit=some(heavier * usual.limit, 1.2),
            target=some(usual.target, 1.2),
            torque=some(heavier * usual.torque, 1.2),
            noise=some(usual.noise, 1.3),
        )

    def drive(self, kind: Kind) -> dict[str, object]:
        """As a description says it."""
        if kind == "torque":
            return {"action": "torque", "scale": self.torque, "limit": self.limit}
        pull = {"kp": self.kp, "kd": self.kd, "scale": self.target, "limit": self.limit}
        return {"action": "position", **pull, "step": STEP}


USUAL = Build()


@dataclass(frozen=True)
class Faults:
    """What is wrong with the robot.

    :param strength: of motors by name, 1 where nothing is said
    :param payload: kilograms
    :param carrier: the body that carries it, such as ``FL_calf``
    :param place: of the payload on that body
    :param encoder: radians by which joints read too much
    """

    strength: Mapping[str, float] = field(default_factory=dict)
    payload: float = 0.0
    carrier: str = "trunk"
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


def model(kind: Kind, faults: Faults, build: Build = USUAL) -> mujoco.MjModel:
    upper, lower = build.lengths
    masses = dict(zip(("trunk", *JOINTS), build.masses, strict=True))
    hinge = {"armature": build.armature, "damping": build.damping, "frictionloss": build.friction}
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP / SUBSTEPS
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[0.8, 0.02, 0.01])
    trunk = spec.worldbody.add_body(name="trunk", pos=[0, 0, 0.75 * (upper + lower)])
    trunk.add_freejoint()
    box = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.19, 0.05, 0.06], "contype": 0, "conaffinity": 0}
    trunk.add_geom(mass=masses["trunk"], **box)
    for leg, (front, left) in LEGS.items():
        hip = trunk.add_body(name=f"{leg}_hip", pos=[0.193 * front, 0.0465 * left, 0])
        hip.add_joint(name=f"{leg}.hip", axis=[1, 0, 0], **hinge)
        _capsule(hip, masses["hip"], 0.04, [0, 0, 0], [0, 0.06 * left, 0])
        thigh = hip.add_body(name=f"{leg}_thigh", pos=[0, build.sideways * left, 0])
        thigh.add_joint(name=f"{leg}.thigh", axis=[0, 1, 0], **hinge)
        _capsule(thigh, masses["thigh"], 0.025, [0, 0, 0], [0, 0, -upper])
        calf = thigh.add_body(name=f"{leg}_calf", pos=[0, 0, -upper])
        calf.add_joint(name=f"{leg}.calf", axis=[0, 1, 0], **hinge)
        _capsule(calf, masses["calf"], 0.012, [0, 0, 0], [0, 0, -lower])
        calf.add_geom(
            name=f"{leg}_foot", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.022, 0, 0], pos=[0, 0, -lower],
            mass=0.04, friction=[0.8, 0.02, 0.01], contype=1, conaffinity=1,
        )  # fmt: skip
    if faults.payload:
        load = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.04, 0, 0], "contype": 0, "conaffinity": 0}
        spec.body(faults.carrier).add_geom(mass=faults.payload, pos=faults.place, **load)
    for name, strength in zip(NAMES, faults.strengths, strict=True):
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE
        motor.gainprm[0] = strength * (build.kp if kind == "position" else build.torque)
        if kind == "position":
            motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            motor.biasprm[1:3] = [-strength * build.kp, -strength * build.kd]
        motor.forcelimited, motor.forcerange = True, [-strength * build.limit, strength * build.limit]
    return spec.compile()


def _capsule(body: mujoco.MjsBody, mass: float, radius: float, start: list[float], end: list[float]) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[radius, 0, 0], fromto=[*start, *end], mass=mass,
        contype=0, conaffinity=0,
    )  # fmt: skip


def logged(
    kind: Kind, faults: Faults, steps: int, *, seed: int = 0, build: Build = USUAL
) -> dict[str, np.ndarray]:
    """Observations, actions, next observations and mean actions of a robot that trots about, badly.

    Its policy changes every second: a gait of its own, feedback on posture and speed, and noise.
    """
    rng = np.random.default_rng(seed)
    robot = model(kind, faults, build)
    data = mujoco.MjData(robot)
    feet = [robot.geom(f"{leg}_foot").id for leg in LEGS]
    rows = []
    rest = np.tile(REST, 4)
    height = 0.7 * sum(build.lengths)
    state = None
    for step in range(steps):
        if step % 50 == 0:
            gait, phase, pace = 0.8 * rng.random(12), rng.uniform(0, 2 * np.pi, 12), rng.uniform(2, 8)
            feedback = 0.3 * rng.standard_normal((12, 37)) / np.sqrt(37)
        if state is None or data.qpos[2] < height / 2 or data.xmat[1][8] < 0.5:
            mujoco.mj_resetData(robot, data)
            data.qpos[2] = height
            data.qpos[7:] = rest + 0.1 * rng.standard_normal(12)
            mujoco.mj_forward(robot, data)
            state = _observed(robot, data, feet, faults)
        mean = gait * np.sin(phase + pace * step * STEP) + feedback @ np.clip(state, -3, 3)
        if kind == "torque":  # torques hold the robot up by themselves, as a policy would
            mean = mean + (-build.kp * state[9:21] - build.kd * state[21:33]) / build.torque
        action = mean + build.noise * rng.standard_normal(12)
        data.ctrl[:] = action if kind == "torque" else rest + build.target * action - faults.readings
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
