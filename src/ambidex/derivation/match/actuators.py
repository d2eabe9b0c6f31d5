"""Which actuator an isometry carries to which, given where it carries the joints."""

from __future__ import annotations

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.drives import Drives
from ambidex.derivation.match.trees import TreeMatching, Unmatched
from ambidex.derivation.naming import joint_name


def match_actuators(
    drives: Drives, tree: TreeMatching, isometry: FloatArray, near: float
) -> tuple[dict[int, tuple[int, float]], list[Unmatched]]:
    """The actuator that each one is carried to with the sign of its command there, and what has no image.

    :param drives: what each actuator acts on
    :param tree: where the links and joints are carried to
    :param isometry: a 3 x 3 orthogonal matrix
    :param near: how far from the image a thrust may be, in parts of the robot's size and of the thrust
    """
    model = drives.model
    found: dict[int, tuple[int, float]] = {}
    unmatched = []
    free = [actuator for actuator in range(drives.count) if not drives.is_ignored(actuator)]
    for actuator in list(free):
        kind = drives.kind(actuator)
        alike = [partner for partner in free if drives.kind(partner) == kind]
        driven, thrust = drives.joints(actuator), drives.thrust(actuator)
        signs: dict[int, float | None] = {}
        if thrust is not None:
            reason = "no actuator of its kind pushes where its image does"
            signs = {
                partner: _thrust_sign(drives, tree, isometry, near, actuator, partner) for partner in alike
            }
        elif driven is None:
            reason = "it drives neither joints nor a fixed tendon nor a site; only these can be matched"
        elif not set(driven) <= set(tree.joints):
            reason = "what it drives has no image"
        else:
            image = {tree.joints[joint][0]: tree.joints[joint][1] * gear for joint, gear in driven.items()}
            driven_names = " and ".join(joint_name(model, joint) for joint in image)
            reason = f"no actuator of its kind drives {driven_names}"
            signs = {partner: common_sign(image, drives.joints(partner)) for partner in alike}
        match = next(((partner, sign) for partner, sign in signs.items() if sign is not None), None)
        if match is None:
            unmatched.append(Unmatched("actuator", drives.name(actuator), reason))
        else:
            found[actuator] = match
            free.remove(match[0])
    return found, unmatched


def _thrust_sign(
    drives: Drives, tree: TreeMatching, isometry: FloatArray, near: float, actuator: int, partner: int
) -> float | None:
    """1 or -1 where the partner pushes and turns as the actuator's image does, up to its sign."""
    own, other = drives.thrust(actuator), drives.thrust(partner)
    if own is None or other is None or tree.bodies.get(own.link) != other.link:
        return None
    size = drives.skeleton.size
    force, torque = isometry @ own.force, np.linalg.det(isometry) * isometry @ own.torque
    off = np.linalg.norm(isometry @ own.place - other.place)
    if np.abs(force).max() > 0 and off > near * size:
        return None  # a pure torque acts on the whole body, wherever its site is
    images = np.append(force * size, torque), np.append(other.force * size, other.torque)
    scale = max(float(np.abs(part).max()) for part in images)
    fits = (sign for sign in (1.0, -1.0) if np.abs(images[0] - sign * images[1]).max() <= near * scale)
    return next(fits, None) if scale > 0 else None


def common_sign(image: dict[int, float], driven: dict[int, float] | None) -> float | None:
    """The sign by which all driven joints agree; how strongly they are driven may differ."""
    if driven is None or set(image) != set(driven):
        return None
    signs = {float(np.sign(image[joint] * driven[joint])) for joint in image}
    return signs.pop() if len(signs) == 1 and 0.0 not in signs else None
