"""What stands against an isometry besides the tree of bodies: gravity, wind, fixed things, ranges."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.matching import NEAR, Matching
from ambidex.derivation.match.trees import Unmatched
from ambidex.derivation.naming import geom_name, joint_name
from ambidex.derivation.skeleton import HINGE, SLIDE

POSES = 3
ACCUMULATED, LARGEST_DEVIATION = 20.0, 0.05  # of what is near: along a chain small deviations add up


def obstacles(matching: Matching, *, near: float, has_floor: bool) -> Iterator[Unmatched]:
    """Gravity, wind and fixed geoms that the isometry changes by more than ``near`` of their size.

    :param has_floor: whether what is fixed to the world belongs to it; in a URDF file it is the robot's base
    """
    model, isometry = matching.model, matching.isometry
    for name, vector in (("gravity", model.opt.gravity), ("wind", model.opt.wind)):
        image = isometry @ vector
        if np.linalg.norm(image - vector) > near * np.linalg.norm(vector):
            yield Unmatched("world", name, f"{_text(vector)} becomes {_text(image)}")
    skeleton = matching.skeleton
    disabled = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    touches = ((model.geom_contype | model.geom_conaffinity) != 0) & (not disabled)
    fixed = [int(geom) for geom in np.flatnonzero((model.geom_bodyid == 0) & touches) if has_floor]
    tolerance = near * skeleton.size
    for geom in fixed:
        if not any(_is_image(matching, skeleton.pose, geom, other, tolerance) for other in fixed):
            yield Unmatched("world", geom_name(model, geom), "nothing of its type is where its image is")


def closed_ranges(matching: Matching) -> Iterator[Unmatched]:
    """Joints whose image lies wholly outside the range of its joint, as that of a knee that bends back."""
    model = matching.model
    for joint, (partner, sign) in sorted(matching.joints.items()):
        if model.jnt_limited[joint] and model.jnt_limited[partner] and joint not in matching.frames:
            low, high = np.sort(sign * model.jnt_range[joint]) + matching.offsets.get(joint, 0.0)
            lowest, highest = model.jnt_range[partner]
            if high <= lowest or highest <= low:
                reason = (
                    f"its range becomes [{low:.4g}, {high:.4g}], "
                    f"but {joint_name(model, partner)} has [{lowest:.4g}, {highest:.4g}]"
                )
                yield Unmatched("joint", joint_name(model, joint), reason)


def wrong_motion(matching: Matching, *, near: float) -> Iterator[Unmatched]:
    """Links of which some pose's image is not where the pose of the images is: a check of all signs at once.

    The pose and its image are both computed by the simulator; nothing of the matching but the map of
    positions is used.
    """
    model, skeleton = matching.model, matching.skeleton
    generator = np.random.default_rng(0)
    allowed = min(ACCUMULATED * near, LARGEST_DEVIATION) * skeleton.size
    poses = [mujoco.MjData(model) for _ in range(2)]
    qpos = np.array(skeleton.pose.qpos)
    for _ in range(POSES):
        poses[0].qpos[:] = qpos
        for joint in matching.joints:
            if model.jnt_type[joint] in (SLIDE, HINGE):
                reach = 1.0 if model.jnt_type[joint] == HINGE else 0.1 * skeleton.size
                poses[0].qpos[model.jnt_qposadr[joint]] = generator.uniform(-reach, reach)
        poses[1].qpos[:] = matching.positions(poses[0].qpos)
        for pose in poses:
            mujoco.mj_kinematics(model, pose)
        for joint, (partner, _) in sorted(matching.joints.items()):
            if model.jnt_type[joint] not in (SLIDE, HINGE):
                continue
            image = matching.centre + matching.isometry @ (poses[0].xanchor[joint] - matching.centre)
            axis, along = matching.isometry @ poses[0].xaxis[joint], poses[1].xaxis[partner]
            off = image - poses[1].xanchor[partner]
            if model.jnt_type[joint] == SLIDE:
                off = np.zeros(3)  # the axis of a slide has no place
            away = np.linalg.norm(off - (off @ along) * along)
            if away > allowed or abs(axis @ along) < 1 - ACCUMULATED * near:
                name = joint_name(model, joint)
                yield Unmatched("joint", name, f"in other poses its image is {away:.3g} beside its partner")
                return


def _is_image(matching: Matching, pose: mujoco.MjData, geom: int, other: int, tolerance: float) -> bool:
    model, isometry = matching.model, matching.isometry
    if model.geom_type[geom] != model.geom_type[other]:
        return False
    off = isometry @ (pose.geom_xpos[geom] - matching.centre) - (pose.geom_xpos[other] - matching.centre)
    if model.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_PLANE):  # it has no end
        normal, image = pose.geom_xmat[other][2::3], isometry @ pose.geom_xmat[geom][2::3]
        return bool(normal @ image > 1 - NEAR and abs(off @ normal) <= tolerance)
    return bool(np.linalg.norm(off) <= tolerance)


def _text(vector: FloatArray) -> str:
    return f"({', '.join(f'{x:.4g}' for x in np.round(vector, 9) + 0.0)})"
