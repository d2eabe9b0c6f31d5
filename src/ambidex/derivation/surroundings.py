"""What stands against an isometry besides the tree of bodies: gravity, wind, fixed things, ranges."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.matching import NEAR, Matching
from ambidex.derivation.match.trees import Unmatched
from ambidex.derivation.naming import geom_name, joint_name
from ambidex.derivation.skeleton import Skeleton


def obstacles(matching: Matching, *, near: float, has_floor: bool) -> Iterator[Unmatched]:
    """Gravity, wind and fixed geoms that the isometry changes by more than ``near`` of their size.

    :param has_floor: whether what is fixed to the world belongs to it; in a URDF file it is the robot's base
    """
    model, isometry = matching.model, matching.isometry
    for name, vector in (("gravity", model.opt.gravity), ("wind", model.opt.wind)):
        image = isometry @ vector
        if np.linalg.norm(image - vector) > near * np.linalg.norm(vector):
            yield Unmatched("world", name, f"{_text(vector)} becomes {_text(image)}")
    skeleton = Skeleton(model)
    touches = (model.geom_contype | model.geom_conaffinity) != 0
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
            low, high = np.sort(sign * model.jnt_range[joint])
            lowest, highest = model.jnt_range[partner]
            if high <= lowest or highest <= low:
                reason = (
                    f"its range becomes [{low:.4g}, {high:.4g}], "
                    f"but {joint_name(model, partner)} has [{lowest:.4g}, {highest:.4g}]"
                )
                yield Unmatched("joint", joint_name(model, joint), reason)


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
