"""A MuJoCo model's bodies and joints as they stand with all hinges and slides at zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.words import suggestion
from ambidex.derivation.naming import body_name, joint_name

FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
SLIDE, HINGE = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)


class Skeleton:
    """Where the parts of a model are, relative to what an isometry leaves in place.

    A body that has joints is a link, and so is the world. A body without joints is part of the link that it
    is fixed to. A tree whose root is free is seen from its root, any other from the centre of fixed roots.

    :param model: the model
    :param ignored: the names of joints that are taken as stiff, and of bodies that are left out together with
        all that hangs on them
    """

    def __init__(self, model: mujoco.MjModel, ignored: Sequence[str] = ()) -> None:
        self.model = model
        self.left_out, self.ignored_joints = _ignored(model, ignored)
        self.pose = mujoco.MjData(model)
        self.pose.qpos[model.jnt_qposadr[np.isin(model.jnt_type, (SLIDE, HINGE))]] = 0
        mujoco.mj_kinematics(model, self.pose)
        mujoco.mj_comPos(model, self.pose)

    def pose_at(self, positions: Mapping[int, float]) -> mujoco.MjData:
        """The model with some joints at these positions, and all others at zero."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = self.pose.qpos
        for joint, position in positions.items():
            data.qpos[self.model.jnt_qposadr[joint]] = position
        mujoco.mj_kinematics(self.model, data)
        return data

    @cached_property
    def link_of(self) -> list[int]:
        """The link that each body belongs to."""
        links = [0]
        for body in range(1, self.model.nbody):
            links.append(body if self.joints(body) else links[self.model.body_parentid[body]])
        return links

    @cached_property
    def links(self) -> list[int]:
        """The bodies that have joints."""
        return [body for body in range(1, self.model.nbody) if self.link_of[body] == body]

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The links that hang on each link."""
        children: dict[int, list[int]] = {link: [] for link in (0, *self.links)}
        for link in self.links:
            children[self.parent(link)].append(link)
        return children

    @cached_property
    def fixed(self) -> dict[int, list[int]]:
        """The other bodies that each link is made of."""
        fixed: dict[int, list[int]] = {link: [] for link in (0, *self.links)}
        for body, link in enumerate(self.link_of):
            if body != link and body not in self.left_out:
                fixed[link].append(body)
        return fixed

    def parent(self, link: int) -> int:
        """The link that this one hangs on."""
        return self.link_of[int(self.model.body_parentid[link])]

    def below(self, link: int) -> int:
        """How many links hang on this one, and on those."""
        return sum(1 + self.below(child) for child in self.children[link])

    @cached_property
    def centre(self) -> FloatArray:
        roots = [link for link in self.children[0] if not self.floats(link)]
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

    def mass(self, link: int) -> float:
        return float(self.model.body_mass[[link, *self.fixed[link]]].sum())

    def centre_of_mass(self, link: int) -> FloatArray:
        """Of the whole link, where its place would be without a mass."""
        parts = [link, *self.fixed[link]]
        masses, centres = self.model.body_mass[parts], self.pose.xipos[parts]
        offset = self.places[link] - self.pose.xpos[link]
        if masses.sum() <= 0:
            return np.asarray(self.places[link])
        return np.asarray(masses @ centres / masses.sum() + offset)

    def anchor(self, joint: int) -> FloatArray:
        """A point of the joint's axis; for a slide, whose axis has no place, its body's place."""
        body = self.model.jnt_bodyid[joint]
        if self.model.jnt_type[joint] == SLIDE:
            return np.asarray(self.places[body])
        return np.asarray(self.pose.xanchor[joint] - self.pose.xpos[body] + self.places[body])

    def orientation(self, body: int) -> FloatArray:
        return np.asarray(self.pose.xmat[body].reshape(3, 3))

    def joints(self, body: int) -> list[int]:
        start = int(self.model.body_jntadr[body])
        joints = range(start, start + int(self.model.body_jntnum[body]))
        return [joint for joint in joints if joint not in self.ignored_joints]

    def kinds(self, body: int) -> tuple[int, ...]:
        """The kinds of the body's joints."""
        return tuple(map(int, self.model.jnt_type[self.joints(body)]))

    def floats(self, body: int) -> bool:
        return self.kinds(body)[:1] == (FREE,)


def _ignored(model: mujoco.MjModel, names: Sequence[str]) -> tuple[set[int], set[int]]:
    """The bodies that are left out, and the joints that are stiff."""
    bodies = {body_name(model, body): body for body in range(1, model.nbody)}
    joints = {joint_name(model, joint): joint for joint in range(model.njnt)}
    left_out, stiff = set(), set()
    for name in names:
        if name not in bodies and name not in joints:
            known = [*bodies, *joints]
            raise ValueError(f"ignore: no joint and no body is called {name!r}{suggestion(name, known)}")
        if name in joints:
            stiff.add(joints[name])
        else:
            left_out.add(bodies[name])
    for body in range(1, model.nbody):
        if model.body_parentid[body] in left_out:
            left_out.add(body)
    stiff |= {joint for joint in range(model.njnt) if model.jnt_bodyid[joint] in left_out}
    return left_out, stiff
