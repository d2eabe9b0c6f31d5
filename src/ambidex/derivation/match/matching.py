"""Which body, joint and actuator of a MuJoCo model an isometry carries to which, and so its states.

The model is looked at with all hinges and slides at zero, so that the image of a joint's value is the value
of a joint or its negative, with an offset where the zero pose itself is not symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.actuators import match_actuators
from ambidex.derivation.match.drives import Drives
from ambidex.derivation.match.trees import TreeMatching, Unmatched
from ambidex.derivation.skeleton import BALL, FREE, Skeleton

NEAR = 1e-3


@dataclass(frozen=True)
class Matching:
    """Where an isometry carries the parts of a model, all by their ids.

    What is ignored is carried nowhere: it keeps its value.

    :param skeleton: the model, with what is ignored in it
    :param drives: what its actuators act on
    :param isometry: the 3 x 3 matrix, which acts on the world about ``centre``
    :param centre: the point of the world that stays
    :param bodies: the body that each body is carried to; of bodies without joints only where there is one
    :param joints: the joint that each joint is carried to, and the sign of its value there (1 for free and
        ball joints, see ``frames``)
    :param actuators: the same for actuators
    :param offsets: what is added to the image of a joint's value, where the zero pose is not symmetric
    :param frames: for the body of each free or ball joint, the isometry from its frame to its image's frame
    :param matrices: for each body with an image the isometry of its directions: another one than ``isometry``
        where a joint before it makes up for the zero pose
    :param unmatched: what has no image
    """

    skeleton: Skeleton
    drives: Drives
    isometry: FloatArray
    centre: FloatArray
    bodies: dict[int, int]
    joints: dict[int, tuple[int, float]]
    actuators: dict[int, tuple[int, float]]
    offsets: dict[int, float]
    frames: dict[int, FloatArray]
    matrices: dict[int, FloatArray]
    unmatched: tuple[Unmatched, ...]

    @property
    def model(self) -> mujoco.MjModel:
        return self.skeleton.model

    @property
    def is_complete(self) -> bool:
        return not self.unmatched

    @property
    def is_trivial(self) -> bool:
        """Whether all joints and actuators stay what they are, so that nothing is to be learned from it."""
        pairs = (*self.joints.items(), *self.actuators.items())
        stays = all(image == (part, 1.0) for part, image in pairs)
        return stays and not self.frames and not self.offsets

    def positions(self, qpos: Any) -> FloatArray:
        """The image of a whole position vector ``qpos``."""
        given, image = np.asarray(qpos, dtype=np.float64), np.array(qpos, dtype=np.float64)
        mirror = self.isometry
        for joint, (partner, sign) in self.joints.items():
            at, to = self.model.jnt_qposadr[[joint, partner]]
            kind = self.model.jnt_type[joint]
            if kind == FREE:
                image[to : to + 3] = self.centre + mirror @ (given[at : at + 3] - self.centre)
                orientation = mirror @ _matrix(given[at + 3 : at + 7]) @ self.frames[joint].T
                image[to + 3 : to + 7] = _near(_quaternion(orientation), given[at + 3 : at + 7])
            elif kind == BALL:
                frame = self.frames[joint]
                image[to] = given[at]
                image[to + 1 : to + 4] = np.linalg.det(frame) * frame @ given[at + 1 : at + 4]
            else:
                image[to] = sign * given[at] + self.offsets.get(joint, 0.0)
        return image

    def velocities(self, qvel: Any) -> FloatArray:
        """The image of a whole velocity vector ``qvel`` (or of any vector of its form, such as forces)."""
        given, image = np.asarray(qvel, dtype=np.float64), np.array(qvel, dtype=np.float64)
        for joint, (partner, sign) in self.joints.items():
            at, to = self.model.jnt_dofadr[[joint, partner]]
            kind = self.model.jnt_type[joint]
            if kind == FREE:
                image[to : to + 3] = self.isometry @ given[at : at + 3]
                at, to = at + 3, to + 3
            if kind in (FREE, BALL):
                frame = self.frames[joint]
                image[to : to + 3] = np.linalg.det(frame) * frame @ given[at : at + 3]
            else:
                image[to] = sign * given[at]
        return image

    def controls(self, ctrl: Any) -> FloatArray:
        """The image of a whole control vector ``ctrl``."""
        image = np.array(ctrl, dtype=np.float64)
        for actuator, (partner, sign) in self.actuators.items():
            image[partner] = sign * ctrl[actuator]
        return image


def match(
    model: mujoco.MjModel, isometry: FloatArray, *, near: float = NEAR, ignored: Sequence[str] = ()
) -> Matching:
    """Match the bodies, joints and actuators of a model with their images.

    :param model: the model
    :param isometry: a 3 x 3 orthogonal matrix
    :param near: how far from the image an axis may be, in parts of the robot's size, and from parallel
    :param ignored: the names of joints and bodies that need no image
    """
    isometry = np.asarray(isometry, dtype=np.float64)
    skeleton = Skeleton(model, ignored)
    tree = TreeMatching(skeleton, isometry, near)
    drives = Drives(skeleton)
    actuators, undriven = match_actuators(drives, tree, isometry, near)
    if undriven and not model.nu:  # couplings of one side only
        drives = Drives(skeleton, coupled=False)
        actuators, undriven = match_actuators(drives, tree, isometry, near)
    return Matching(
        skeleton,
        drives,
        isometry,
        tree.centre,
        tree.bodies,
        tree.joints,
        actuators,
        tree.offsets,
        tree.frames,
        tree.matrices,
        (*tree.unmatched, *undriven),
    )


def _matrix(quaternion: FloatArray) -> FloatArray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion / np.linalg.norm(quaternion))
    return matrix.reshape(3, 3)


def _quaternion(matrix: FloatArray) -> FloatArray:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    return quaternion


def _near(quaternion: FloatArray, given: FloatArray) -> FloatArray:
    """Of the two quaternions of one orientation, the one whose scalar part has the given one's sign."""
    return -quaternion if quaternion[0] * given[0] < 0 else quaternion
