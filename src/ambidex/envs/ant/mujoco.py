"""The ant on MuJoCo: the same task, built in code, in a physics of its own.

The bodies, masses, joint ranges and torques are those of PyBullet's ant. What the engines do with them is
not: MuJoCo enforces the joints' limits, its contacts are soft, its knee axes have unit length, its capsules
their true inertia. So returns on the two ants do not compare. In exchange MuJoCo keeps the mirror symmetry
of its own trajectories, and is faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import mujoco
except ImportError:
    raise ImportError("this ant needs MuJoCo: pip install 'ambidex[mujoco]'") from None

from ambidex.envs.ant.body import (
    GRAVITY,
    START_HEIGHT,
    STEP_SECONDS,
    SUBSTEPS,
    Pose,
    Reading,
    State,
    Vector,
)
from ambidex.envs.ant.task import AntEnv
from ambidex.envs.scenarios import Scenario

LEGS = 4
LEG_DIRECTIONS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
KNEE_AXES = ((-1.0, 1.0, 0.0), (1.0, 1.0, 0.0)) * 2
KNEE_SIDES = (1.0, -1.0, -1.0, 1.0)  # which way a knee bends about its axis
HIP_RANGE = (math.radians(-40), math.radians(40))
KNEE_RANGE = (math.radians(30), math.radians(100))

DENSITY = 1000.0  # kg / m^3, PyBullet's for shapes of a file's ant
TORSO_RADIUS = 0.25
CAPSULE_RADIUS = 0.08
SEGMENT = 0.2  # of a leg along x and y: torso to hip, hip to knee; the foot is twice as long
FRICTION = 1.2  # PyBullet multiplies those of the floor (0.8) and the ant (1.5)
JOINT_DAMPING = 1.0

PARTS = 22  # torso and floor; of each leg two joints and three capsules
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class MujocoAnt:
    """The ant's body in MuJoCo, on an endless floor."""

    def __init__(self) -> None:
        self.model = model = build_model()
        self.data = data = mujoco.MjData(model)
        self.joint_limits: list[tuple[float, float]] = [
            (float(lower), float(upper)) for lower, upper in model.jnt_range[1:]
        ]
        mujoco.mj_kinematics(model, data)
        self.joint_frames: list[tuple[Vector, Vector]] = [
            (tuple(anchor - data.xpos[1]), tuple(axis))
            for anchor, axis in zip(data.xanchor[1:], data.xaxis[1:], strict=True)
        ]
        self._feet = [model.body(f"foot_{leg}").id for leg in range(LEGS)]
        self._foot_geoms = [model.geom(f"foot_{leg}").id for leg in range(LEGS)]
        self._floor_geom = model.geom("floor").id
        self._own_masses = model.body_mass.copy()
        self._own_inertias = model.body_inertia.copy()
        self._masses: list[float | None] = [None] * LEGS
        # Views into the simulation, which stay valid.
        self._position, self._velocity = data.qpos, data.qvel
        self._bodies, self._geoms = data.xpos[2:], data.geom_xpos

    def reset(self, yaw: float, joint_positions: Sequence[float]) -> None:
        """At rest and upright, each joint within its limits: from beyond them MuJoCo would fling the legs."""
        within = [
            min(max(position, lower), upper)
            for position, (lower, upper) in zip(joint_positions, self.joint_limits, strict=True)
        ]
        self.place(Pose.at_rest((0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)), within))

    def place(self, pose: Pose) -> None:
        mujoco.mj_resetData(self.model, self.data)
        x, y, z, w = pose.orientation
        self._position[:] = [*pose.position, w, x, y, z, *pose.joint_positions]
        spin = _rotation(self._position[3:7]).T @ np.asarray(pose.angular_velocity)  # MuJoCo's is in the body
        self._velocity[:] = [*pose.linear_velocity, *spin, *pose.joint_speeds]

    def pose(self) -> Pose:
        position, velocity = self._position, self._velocity
        w, x, y, z = position[3:7].tolist()
        return Pose(
            position=position[:3].tolist(),
            orientation=(x, y, z, w),
            linear_velocity=velocity[:3].tolist(),
            angular_velocity=(_rotation(position[3:7]) @ velocity[3:6]).tolist(),
            joint_positions=position[7:].tolist(),
            joint_speeds=velocity[6:].tolist(),
        )

    def set_gravity(self, gravity: Vector) -> None:
        self.model.opt.gravity[:] = gravity

    def set_foot_masses(self, masses: Sequence[float | None]) -> None:
        if list(masses) == self._masses:
            return
        self._masses = list(masses)
        for foot, mass in zip(self._feet, masses, strict=True):
            scale = 1.0 if mass is None else mass / self._own_masses[foot]
            self.model.body_mass[foot] = scale * self._own_masses[foot]
            self.model.body_inertia[foot] = scale * self._own_inertias[foot]
        # What MuJoCo derives from masses; it computes in the data that it is given.
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    def step(self, torques: Sequence[float]) -> None:
        self.data.ctrl[:] = torques
        mujoco.mj_step(self.model, self.data, SUBSTEPS)

    def read(self) -> Reading:
        # A step ends with new joint positions, but with the places of the bodies before its last substep.
        mujoco.mj_kinematics(self.model, self.data)
        position, velocity = self._position.tolist(), self._velocity.tolist()
        center = np.add.reduce(self._geoms) + np.add.reduce(self._bodies)
        return Reading(
            position[7:],
            velocity[6:],
            position[:3],
            euler_angles(*position[3:7]),
            velocity[:3],
            (float(center[0]) / PARTS, float(center[1]) / PARTS),
        )

    def feet_on_ground(self) -> list[float]:
        touching = {second for first, second in self.data.contact.geom.tolist() if first == self._floor_geom}
        return [1.0 if foot in touching else 0.0 for foot in self._foot_geoms]

    def get_state(self) -> State:
        physics = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, physics, STATE)
        masses = [np.nan if mass is None else mass for mass in self._masses]
        return {
            "physics": physics,
            "gravity": self.model.opt.gravity.copy(),
            "foot_masses": np.array(masses),
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, state["physics"], STATE)
        x, y, z = state["gravity"].tolist()
        self.set_gravity((x, y, z))
        self.set_foot_masses([None if np.isnan(mass) else mass for mass in state["foot_masses"].tolist()])

    def close(self) -> None:
        """There is nothing to close."""


class AntMujocoEnv(AntEnv):
    """``ambidex/AntMujoco-v0``: the paper's ant task on MuJoCo.

    :param scenario: a name (`ambidex scenarios`), the path of a scenario file, or a `Scenario`
    :param evaluation: walk through the evaluation goals, and do not count steps as training
    :param render_mode: ``"rgb_array"`` for `render`, which PyBullet draws, or None
    """

    def __init__(
        self,
        scenario: str | Scenario = "A1.1",
        *,
        evaluation: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and find_spec("pybullet") is None:
            raise ImportError('PyBullet draws the ant: pip install "ambidex[pybullet]", or render_mode=None')
        super().__init__(MujocoAnt(), scenario=scenario, evaluation=evaluation, render_mode=render_mode)


def build_model() -> mujoco.MjModel:
    """A torso with four legs at 45 degrees between its axes, each of a hip, a knee and a foot."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = STEP_SECONDS / SUBSTEPS
    spec.option.gravity = [0.0, 0.0, -GRAVITY]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC  # a pyramid has directions of its own
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.worldbody.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[FRICTION, 0, 0]
    )
    torso = spec.worldbody.add_body(name="torso", pos=[0, 0, START_HEIGHT])
    torso.add_freejoint(name="root")
    torso.add_geom(
        name="torso",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[TORSO_RADIUS, 0, 0],
        density=DENSITY,
        friction=[FRICTION, 0, 0],
    )
    for leg, (x, y) in enumerate(LEG_DIRECTIONS):
        joint_at = [SEGMENT * x, SEGMENT * y, 0.0]
        _add_capsule(torso, f"hip_{leg}", joint_at)
        upper = torso.add_body(name=f"leg_{leg}", pos=joint_at)
        _add_joint(spec, upper, f"hip_{leg}", (0.0, 0.0, 1.0), HIP_RANGE)
        _add_capsule(upper, f"leg_{leg}", joint_at)
        foot = upper.add_body(name=f"foot_{leg}", pos=joint_at)
        lower, higher = sorted(KNEE_SIDES[leg] * limit for limit in KNEE_RANGE)
        _add_joint(spec, foot, f"knee_{leg}", KNEE_AXES[leg], (lower, higher))
        _add_capsule(foot, f"foot_{leg}", [2 * SEGMENT * x, 2 * SEGMENT * y, 0.0])
        spec.add_exclude(bodyname1="torso", bodyname2=f"foot_{leg}")
    return spec.compile()


def _add_capsule(body: Any, name: str, end: Sequence[float]) -> None:
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[0.0, 0.0, 0.0, *end],
        size=[CAPSULE_RADIUS, 0, 0],
        density=DENSITY,
        friction=[FRICTION, 0, 0],
    )


def _add_joint(spec: Any, body: Any, name: str, axis: Vector, limits: tuple[float, float]) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=axis,
        range=limits,
        limited=True,
        damping=JOINT_DAMPING,
    )
    spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)


def euler_angles(w: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Roll, pitch and yaw (ZYX) of a unit quaternion."""
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(min(max(2 * (w * y - z * x), -1.0), 1.0))
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw


def _rotation(quaternion: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)
