"""The ants as simulators that can be set to the image of a state."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.envs.ant.body import Pose
from ambidex.envs.ant.task import GOAL_ANGLE, AntEnv
from ambidex.symmetry.maps import IndexMap
from ambidex.verification.simulators.joints import relabelling, upright

MIRROR_WORLD = np.diag([1.0, -1.0, 1.0])
SOLVER_ITERATIONS = 200
GOALS = 8


class SymmetricAnt:
    """An ant, in Bullet or MuJoCo.

    The goal lies along the world's x axis, whatever the body does. So a rotation turns the body only, and a
    reflection mirrors the world in its xz plane besides, which leaves the goal where it is.

    Bullet's contact solver breaks the symmetry of its own results; `exact` gives it more iterations.
    """

    def __init__(self, env: AntEnv) -> None:
        self._env = env

    @contextmanager
    def exact(self) -> Iterator[None]:
        """As exact as the engine can be."""
        simulator: Any = self._env.simulator
        if not hasattr(simulator, "solver_iterations"):
            yield
            return
        own = simulator.solver_iterations
        simulator.solver_iterations = SOLVER_ITERATIONS
        try:
            yield
        finally:
            simulator.solver_iterations = own

    def relabelling(self, isometry: FloatArray) -> IndexMap:
        return relabelling(self._env.simulator.joint_frames, upright(isometry))

    def joint_positions(self) -> FloatArray:
        return np.array(self._env.simulator.pose().joint_positions)

    def get_state(self) -> tuple[dict[str, Any], Pose]:
        return self._env.get_state(), self._env.simulator.pose()

    def set_symmetric_state(self, state: tuple[dict[str, Any], Pose], isometry: FloatArray) -> Any:
        task, pose = state
        joints = self.relabelling(isometry)
        self._env.set_task(_moved_task(task, isometry, joints))
        self._env.simulator.place(_moved_pose(pose, isometry, joints))
        return self._env.observe()


def _moved_pose(pose: Pose, isometry: FloatArray, joints: IndexMap) -> Pose:
    determinant = np.linalg.det(isometry)
    world = np.eye(3) if determinant > 0 else MIRROR_WORLD
    orientation = world @ _matrix(pose.orientation) @ isometry.T
    return Pose(
        position=(world @ pose.position).tolist(),
        orientation=_quaternion(orientation),
        linear_velocity=(world @ pose.linear_velocity).tolist(),
        angular_velocity=(determinant * world @ pose.angular_velocity).tolist(),
        joint_positions=joints(np.array(pose.joint_positions)).tolist(),
        joint_speeds=joints(np.array(pose.joint_speeds)).tolist(),
    )


def _moved_task(task: dict[str, Any], isometry: FloatArray, joints: IndexMap) -> dict[str, Any]:
    """The goal and its direction at the start move with the body, contacts with their legs."""
    height, sine, cosine, potential, best_x, *contacts = task["episode"]
    x, y, _ = isometry @ [cosine, sine, 0.0]
    legs = joints.indices[1::2] // 2
    counters = task["counters"].copy()
    counters[1] = round(math.atan2(y, x) / GOAL_ANGLE) % GOALS
    return {
        **task,
        "counters": counters,
        "episode": np.array([height, y, x, potential, best_x, *np.array(contacts)[legs]]),
    }


def _matrix(quaternion: Any) -> FloatArray:
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(matrix: FloatArray) -> tuple[float, float, float, float]:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(matrix).as_quat().tolist()
    return x, y, z, w
