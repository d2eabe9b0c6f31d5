"""The ant on PyBullet: raw calls, one for all joints and one for all links."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import pybullet
    import pybullet_data
except ImportError:
    raise ImportError(
        "this ant needs PyBullet, which has wheels for Python 3.11 only (pip install 'ambidex[pybullet]'); "
        "--env ambidex/AntMujoco-v0 serves instead"
    ) from None

from ambidex.envs.ant.body import GRAVITY, STEP_SECONDS, SUBSTEPS, Pose, Reading, State, Vector
from ambidex.envs.ant.task import AntEnv
from ambidex.envs.scenarios import Scenario

JOINT_LINKS = (1, 3, 6, 8, 11, 13, 16, 18)
FOOT_LINKS = (4, 9, 14, 19)
LINKS = tuple(range(20))
FLOOR_POSITION = (0.0, 0.0, 0.0)
PARTS = len(LINKS) + 2  # with the torso and the floor
SOLVER_ITERATIONS = 5


class BulletAnt:
    """PyBullet's ant.xml on its stadium floor, set up as in AntBulletEnv-v0.

    :param solver_iterations: of the contact solver; the paper's 5 breaks the mirror symmetry of contacts, 200
        nearly keeps it
    """

    def __init__(self, *, solver_iterations: int = SOLVER_ITERATIONS) -> None:
        self._client = client = pybullet.connect(pybullet.DIRECT)
        pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client)
        pybullet.setDefaultContactERP(0.9, client)
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=STEP_SECONDS,
            numSubSteps=SUBSTEPS,
            physicsClientId=client,
        )
        self.solver_iterations = solver_iterations
        self.set_gravity((0.0, 0.0, -GRAVITY))
        self._floor = load_floor(client)
        self._ant = load_ant(client)
        self.joint_limits: list[tuple[float, float]] = [
            pybullet.getJointInfo(self._ant, joint, client)[8:10] for joint in JOINT_LINKS
        ]
        torso, _ = pybullet.getBasePositionAndOrientation(self._ant, client)
        self.joint_frames: list[tuple[Vector, Vector]] = []
        for joint, link in zip(
            JOINT_LINKS, pybullet.getLinkStates(self._ant, JOINT_LINKS, 0, 1, client), strict=True
        ):
            x, y, z = (there - here for there, here in zip(link[4], torso, strict=True))
            axis = pybullet.getJointInfo(self._ant, joint, client)[13]
            self.joint_frames.append(((x, y, z), pybullet.rotateVector(link[5], axis)))
        self._own_masses = [pybullet.getDynamicsInfo(self._ant, foot, client)[0] for foot in FOOT_LINKS]
        self._masses: list[float | None] = [None] * len(FOOT_LINKS)
        self._in_the_air = pybullet.saveState(client)

    def reset(self, yaw: float, joint_positions: Sequence[float]) -> None:
        self.place(Pose.at_rest(pybullet.getQuaternionFromEuler((0.0, 0.0, yaw)), joint_positions))

    def place(self, pose: Pose) -> None:
        client = self._client
        self._forget_contacts()
        pybullet.resetBasePositionAndOrientation(self._ant, pose.position, pose.orientation, client)
        pybullet.resetBaseVelocity(self._ant, pose.linear_velocity, pose.angular_velocity, client)
        for joint, position, speed in zip(JOINT_LINKS, pose.joint_positions, pose.joint_speeds, strict=True):
            pybullet.resetJointState(self._ant, joint, position, speed, client)

    def _forget_contacts(self) -> None:
        """PyBullet keeps contacts until a search no longer finds them, whatever is reset or restored."""
        pybullet.restoreState(self._in_the_air, physicsClientId=self._client)
        pybullet.performCollisionDetection(self._client)

    def pose(self) -> Pose:
        client = self._client
        position, orientation = pybullet.getBasePositionAndOrientation(self._ant, client)
        linear_velocity, angular_velocity = pybullet.getBaseVelocity(self._ant, client)
        joints = pybullet.getJointStates(self._ant, JOINT_LINKS, client)
        return Pose(
            position,
            orientation,
            linear_velocity,
            angular_velocity,
            joint_positions=[joint[0] for joint in joints],
            joint_speeds=[joint[1] for joint in joints],
        )

    @property
    def solver_iterations(self) -> int:
        return self._solver_iterations

    @solver_iterations.setter
    def solver_iterations(self, iterations: int) -> None:
        self._solver_iterations = iterations
        pybullet.setPhysicsEngineParameter(numSolverIterations=iterations, physicsClientId=self._client)

    def set_gravity(self, gravity: Vector) -> None:
        self._gravity = gravity
        pybullet.setGravity(*gravity, physicsClientId=self._client)

    def set_foot_masses(self, masses: Sequence[float | None]) -> None:
        for foot, mass in enumerate(masses):
            if mass == self._masses[foot]:
                continue
            new_mass = self._own_masses[foot] if mass is None else mass  # the inertia follows
            pybullet.changeDynamics(self._ant, FOOT_LINKS[foot], mass=new_mass, physicsClientId=self._client)
            self._masses[foot] = mass

    def step(self, torques: Sequence[float]) -> None:
        pybullet.setJointMotorControlArray(
            self._ant, JOINT_LINKS, pybullet.TORQUE_CONTROL, forces=torques, physicsClientId=self._client
        )
        pybullet.stepSimulation(self._client)

    def read(self) -> Reading:
        client, ant = self._client, self._ant
        joints = pybullet.getJointStates(ant, JOINT_LINKS, client)
        torso_position, orientation = pybullet.getBasePositionAndOrientation(ant, client)
        links = [link[0] for link in pybullet.getLinkStates(ant, LINKS, physicsClientId=client)]
        return Reading(
            [joint[0] for joint in joints],
            [joint[1] for joint in joints],
            torso_position,
            pybullet.getEulerFromQuaternion(orientation),
            pybullet.getBaseVelocity(ant, client)[0],
            _center(torso_position, links),
        )

    def feet_on_ground(self) -> list[float]:
        contacts = pybullet.getContactPoints(self._ant, self._floor, physicsClientId=self._client)
        touching = {contact[3] for contact in contacts}
        return [1.0 if foot in touching else 0.0 for foot in FOOT_LINKS]

    def get_state(self) -> State:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ant.bullet"
            pybullet.saveBullet(str(file), physicsClientId=self._client)
            bullet = np.frombuffer(file.read_bytes(), np.uint8)
        # PyBullet's file has neither of these.
        masses = [np.nan if mass is None else mass for mass in self._masses]
        return {"bullet": bullet, "gravity": np.array(self._gravity), "foot_masses": np.array(masses)}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._forget_contacts()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ant.bullet"
            file.write_bytes(state["bullet"].tobytes())
            pybullet.restoreState(fileName=str(file), physicsClientId=self._client)
        x, y, z = state["gravity"].tolist()
        self.set_gravity((x, y, z))
        self.set_foot_masses([None if np.isnan(mass) else mass for mass in state["foot_masses"].tolist()])

    def close(self) -> None:
        if pybullet.isConnected(self._client):
            pybullet.disconnect(self._client)


class AntBulletEnv(AntEnv):
    """``ambidex/Ant-v0``: the paper's ant task on PyBullet.

    :param scenario: a name (`ambidex scenarios`), the path of a scenario file, or a `Scenario`
    :param evaluation: walk through the evaluation goals, and do not count steps as training
    :param render_mode: ``"rgb_array"`` for `render`, or None
    :param solver_iterations: of PyBullet's contact solver; the paper's is 5
    """

    def __init__(
        self,
        scenario: str | Scenario = "A1.1",
        *,
        evaluation: bool = False,
        render_mode: str | None = None,
        solver_iterations: int = SOLVER_ITERATIONS,
    ) -> None:
        super().__init__(
            BulletAnt(solver_iterations=solver_iterations),
            scenario=scenario,
            evaluation=evaluation,
            render_mode=render_mode,
        )


def load_floor(client: int) -> int:
    path = Path(pybullet_data.getDataPath()) / "plane_stadium.sdf"
    (floor,) = pybullet.loadSDF(str(path), physicsClientId=client)
    pybullet.changeDynamics(floor, -1, lateralFriction=0.8, restitution=0.5, physicsClientId=client)
    return int(floor)


def load_ant(client: int) -> int:
    path = Path(pybullet_data.getDataPath()) / "mjcf" / "ant.xml"
    flags = (
        pybullet.URDF_USE_SELF_COLLISION
        | pybullet.URDF_USE_SELF_COLLISION_EXCLUDE_ALL_PARENTS
        | pybullet.URDF_GOOGLEY_UNDEFINED_COLORS
    )
    (ant,) = pybullet.loadMJCF(str(path), flags=flags, physicsClientId=client)
    # A new joint has a motor that holds it; without force it is free.
    pybullet.setJointMotorControlArray(
        ant,
        LINKS,
        pybullet.POSITION_CONTROL,
        forces=[0.0] * len(LINKS),
        positionGains=[0.1] * len(LINKS),
        velocityGains=[0.1] * len(LINKS),
        physicsClientId=client,
    )
    return int(ant)


def _center(torso: Vector, links: Sequence[Vector]) -> tuple[float, float]:
    """The mean x and y of all parts in AntBulletEnv-v0's order: first link, torso, other links, floor."""
    first, *others = links
    xs, ys, _ = zip(first, torso, *others, FLOOR_POSITION, strict=True)
    return _numpy_sum(xs) / PARTS, _numpy_sum(ys) / PARTS


def _numpy_sum(numbers: Sequence[float]) -> float:
    """The sum of 22 numbers as numpy rounds it (eight lanes, folded in pairs, then the rest), but quicker."""
    a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, *rest = numbers
    total = (((a + i) + (b + j)) + ((c + k) + (d + m))) + (((e + n) + (f + o)) + ((g + p) + (h + q)))
    for number in rest:
        total += number
    return total
