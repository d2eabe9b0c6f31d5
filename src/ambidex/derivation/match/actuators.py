"""Which actuator an isometry carries to which, given where it carries the joints."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from ambidex.derivation.match.trees import Unmatched
from ambidex.derivation.naming import actuator_name, joint_name
from ambidex.derivation.skeleton import HINGE, SLIDE

JOINT_DRIVES = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def match_actuators(
    model: mujoco.MjModel, joints: Mapping[int, tuple[int, float]]
) -> tuple[dict[int, tuple[int, float]], list[Unmatched]]:
    """The actuator that each one is carried to with the sign of its command there, and what has no image.

    :param joints: the joint that each joint is carried to, and the sign of its value there
    """
    found: dict[int, tuple[int, float]] = {}
    unmatched = []
    free = list(range(model.nu))
    for actuator in range(model.nu):
        driven = _driven(model, actuator)
        if driven is None:
            reason = "it drives neither a joint nor a fixed tendon; only these can be matched"
        elif not set(driven) <= set(joints):
            reason = "what it drives has no image"
        else:
            image = {joints[joint][0]: joints[joint][1] * gear for joint, gear in driven.items()}
            kind = _kind(model, actuator)
            signs = {
                partner: common_sign(image, _driven(model, partner))
                for partner in free
                if _kind(model, partner) == kind
            }
            match = next(((partner, sign) for partner, sign in signs.items() if sign is not None), None)
            if match is not None:
                found[actuator] = match
                free.remove(match[0])
                continue
            driven_names = " and ".join(joint_name(model, joint) for joint in image)
            reason = f"no actuator of its kind drives {driven_names}"
        unmatched.append(Unmatched("actuator", actuator_name(model, actuator), reason))
    return found, unmatched


def _driven(model: mujoco.MjModel, actuator: int) -> dict[int, float] | None:
    """The joints that an actuator drives, and with which sign and share."""
    kind, target = model.actuator_trntype[actuator], int(model.actuator_trnid[actuator, 0])
    gear = float(model.actuator_gear[actuator, 0])
    if kind in JOINT_DRIVES:
        return {target: gear} if model.jnt_type[target] in (SLIDE, HINGE) else None
    if kind == int(mujoco.mjtTrn.mjTRN_TENDON):
        shares = joints_of_tendon(model, target)
        return None if shares is None else {joint: gear * share for joint, share in shares.items()}
    return None


def joints_of_tendon(model: mujoco.MjModel, tendon: int) -> dict[int, float] | None:
    """The joints that a fixed tendon runs over, and their shares of its length; None for a spatial tendon."""
    start = model.tendon_adr[tendon]
    wraps = slice(start, start + model.tendon_num[tendon])
    if set(model.wrap_type[wraps]) != {int(mujoco.mjtWrap.mjWRAP_JOINT)}:
        return None
    shares = zip(model.wrap_objid[wraps], model.wrap_prm[wraps], strict=True)
    return {int(joint): float(share) for joint, share in shares}


def _kind(model: mujoco.MjModel, actuator: int) -> tuple[int, ...]:
    """How a command becomes a force; the feedback tells a servo of positions from one of speeds."""
    kinds = (model.actuator_dyntype, model.actuator_gaintype, model.actuator_biastype)
    feedback = model.actuator_biasprm[actuator, :3] != 0
    return (*(int(kind[actuator]) for kind in kinds), *map(int, feedback))


def common_sign(image: dict[int, float], driven: dict[int, float] | None) -> float | None:
    """The sign by which all driven joints agree; how strongly they are driven may differ."""
    if driven is None or set(image) != set(driven):
        return None
    signs = {float(np.sign(image[joint] * driven[joint])) for joint in image}
    return signs.pop() if len(signs) == 1 and 0.0 not in signs else None
