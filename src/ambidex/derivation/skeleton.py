"""A MuJoCo model's bodies and joints as they stand with all hinges and slides at zero."""

from __future__ import annotations

from functools import cached_property

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray

FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
SLIDE, HINGE = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)


class Skeleton:
    """Where the parts of a model are, relative to what an isometry leaves in place.

    A tree whose root is free is seen from its root, any other from the centre of all fixed roots.

    :param model: the model
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.pose = mujoco.MjData(model)
        self.pose.qpos[model.jnt_qposadr[np.isin(model.jnt_type, (SLIDE, HINGE))]] = 0
        mujoco.mj_kinematics(model, self.pose)
        mujoco.mj_comPos(model, self.pose)

    @cached_property
    def children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {body: [] for body in range(self.model.nbody)}
        for body in range(1, self.model.nbody):
            children[int(self.model.body_parentid[body])].append(body)
        return children

    @cached_property
    def centre(self) -> FloatArray:
        roots = [body for body in self.children[0] if self.moves(body) and not self.floats(body)]
        return np.asarray(self.pose.xpos[roots].mean(axis=0)) if roots else np.zeros(3)

    @cached_property
    def places(self) -> FloatArray:
        """Of each body."""
        roots = self.model.body_rootid
        origins = [self.pose.xpos[root] if self.floats(root) else self.centre for root in roots]
        return np.asarray(self.pose.xpos - np.array(origins))

    @cached_property
    def size(self) -> float:
        """The largest extent of all that is not fixed to the world."""
        geoms = np.flatnonzero(self.model.geom_bodyid)
        middle, reach = self.pose.geom_xpos[geoms], self.model.geom_rbound[geoms, None]
        points = np.concatenate([self.pose.xpos[1:], middle - reach, middle + reach])
        return float(np.ptp(points, axis=0).max(initial=1e-9))

    def anchor(self, joint: int) -> FloatArray:
        """A point of the joint's axis."""
        body = self.model.jnt_bodyid[joint]
        return np.asarray(self.pose.xanchor[joint] - self.pose.xpos[body] + self.places[body])

    def orientation(self, body: int) -> FloatArray:
        return np.asarray(self.pose.xmat[body].reshape(3, 3))

    def joints(self, body: int) -> list[int]:
        start = int(self.model.body_jntadr[body])
        return list(range(start, start + int(self.model.body_jntnum[body])))

    def kinds(self, body: int) -> tuple[int, ...]:
        """The kinds of the body's joints."""
        return tuple(map(int, self.model.jnt_type[self.joints(body)]))

    def floats(self, body: int) -> bool:
        return self.kinds(body)[:1] == (FREE,)

    def moves(self, body: int) -> bool:
        """Whether the body or anything that hangs on it has a joint."""
        return bool(self.model.body_jntnum[body]) or any(map(self.moves, self.children[body]))
