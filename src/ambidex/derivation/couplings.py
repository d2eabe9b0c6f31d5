"""What couples the parts of a model besides joints: equality constraints, tendons, excluded contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.differences import Asymmetry, lists, numbers, ranges
from ambidex.derivation.match.actuators import common_sign
from ambidex.derivation.match.drives import joints_of_tendon
from ambidex.derivation.match.matching import Matching
from ambidex.derivation.naming import body_name, joint_name

JOINT = int(mujoco.mjtEq.mjEQ_JOINT)
OF_BODIES = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
SITE = int(mujoco.mjtObj.mjOBJ_SITE)


def couplings(matching: Matching) -> Iterator[Asymmetry]:
    """Those that differ from their image, or have none."""
    yield from _joint_equalities(matching)
    yield from _body_equalities(matching)
    yield from _tendons(matching)
    yield from _excluded_contacts(matching)


def not_compared(model: mujoco.MjModel) -> list[str]:
    """What the model has that no comparison looks at."""
    kinds = model.eq_type[model.eq_active0.astype(np.bool_)].tolist()
    spatial = [tendon for tendon in _acting(model) if joints_of_tendon(model, tendon) is None]
    counts = {
        "the places of equality constraints between bodies": sum(kind in OF_BODIES for kind in kinds),
        "equality constraints of other kinds": sum(kind not in (JOINT, *OF_BODIES) for kind in kinds),
        "spatial tendons": len(spatial),
        "contact pairs": int(model.npair),
    }
    return [f"{what} ({count})" for what, count in counts.items() if count]


def _joint_equalities(matching: Matching) -> Iterator[Asymmetry]:
    model = matching.model
    given = {equality: _coupled(model, equality) for equality in _active(model, (JOINT,))}
    for equality, joints in given.items():
        if not {joint for joint in joints if joint >= 0} <= set(matching.joints):
            continue
        (first, sign), (second, other_sign) = (matching.joints.get(joint, (joint, 1.0)) for joint in joints)
        # With q = s q' of both joints, q1 = sum c_k q2^k becomes q1' = sum s1 s2^k c_k q2'^k.
        image = sign * other_sign ** np.arange(5) * model.eq_data[equality][:5]
        forms = {(first, second): image}
        if second >= 0 and image[1] and not image[[0, 2, 3, 4]].any():
            forms[second, first] = np.array([0, 1 / image[1], 0, 0, 0])  # the same, the other way round
        partner = next((other for other, pair in given.items() if pair in forms), None)
        names = _joint_names(model, joints), _joint_names(model, (first, second))
        if partner is None:
            yield _alone("equality", "coupling", *names)
            continue
        both = f"the coupling of {names[0]}", f"the coupling of {names[1]}"
        yield from _images("equality", both, forms[given[partner]], model.eq_data[partner][:5])
        yield from _solver(model, equality, partner, both)


def _body_equalities(matching: Matching) -> Iterator[Asymmetry]:
    model = matching.model
    for kind in OF_BODIES:
        given = {equality: _connected(model, equality) for equality in _active(model, (kind,))}
        for equality, bodies in given.items():
            if not bodies <= set(matching.bodies):
                continue  # what has no image is told already
            image = frozenset(matching.bodies[body] for body in bodies)
            partner = next((other for other, pair in given.items() if pair == image), None)
            names = _body_names(model, bodies), _body_names(model, image)
            if partner is None:
                yield _alone("equality", "constraint", *names)
            else:
                both = f"the constraint of {names[0]}", f"the constraint of {names[1]}"
                yield from _solver(model, equality, partner, both)


def _tendons(matching: Matching) -> Iterator[Asymmetry]:
    """The fixed tendons that do something by themselves."""
    model = matching.model
    shares = {tendon: joints_of_tendon(model, tendon) for tendon in range(model.ntendon)}
    for tendon in _acting(model):
        own = shares[tendon]
        if own is None or not set(own) <= set(matching.joints):
            continue
        image = {matching.joints[joint][0]: matching.joints[joint][1] * own[joint] for joint in own}
        for partner, theirs in shares.items():
            sign = common_sign(image, theirs)
            if theirs is not None and sign is not None:
                names = _tendon_name(model, tendon), _tendon_name(model, partner)
                expected = np.array([sign * share for share in image.values()])
                came = np.array([theirs[joint] for joint in image])
                yield from _images("tendon", names, expected, came)
                yield from _pair_of_tendons(model, tendon, partner, sign, names)
                break
        else:
            yield _alone(
                "tendon", "tendon", _joint_names(model, tuple(own)), _joint_names(model, tuple(image))
            )


def _pair_of_tendons(
    model: mujoco.MjModel, tendon: int, partner: int, sign: float, names: tuple[str, str]
) -> Iterator[Asymmetry]:
    both = [tendon, partner]
    for quantity, values in (
        ("stiffness", model.tendon_stiffness),
        ("damping", model.tendon_damping),
        ("friction loss", model.tendon_frictionloss),
        ("armature", model.tendon_armature),
    ):
        yield from numbers("tendon", names, quantity, *values[both])
    if model.tendon_stiffness[both].all():
        yield from ranges("tendon", names, "rest length", list(model.tendon_lengthspring[both]), sign)
    limits = [model.tendon_range[i] if model.tendon_limited[i] else None for i in both]
    yield from ranges("tendon", names, "range", limits, sign)


def _excluded_contacts(matching: Matching) -> Iterator[Asymmetry]:
    model = matching.model
    given = [frozenset((int(code) >> 16, int(code) & 0xFFFF)) for code in model.exclude_signature]
    for bodies in given:
        if not bodies <= set(matching.bodies):
            continue
        image = frozenset(matching.bodies[body] for body in bodies)
        if image not in given:
            names = _body_names(model, bodies), _body_names(model, image)
            words = f"{names[0]} are excluded from contact, {names[1]} are not"
            yield Asymmetry("contact", *names, "exclusion", 1.0, words)


def _active(model: mujoco.MjModel, kinds: tuple[int, ...]) -> list[int]:
    return [i for i in range(model.neq) if model.eq_active0[i] and model.eq_type[i] in kinds]


def _acting(model: mujoco.MjModel) -> list[int]:
    forces = (model.tendon_stiffness, model.tendon_damping, model.tendon_frictionloss, model.tendon_armature)
    acts = np.any([force != 0 for force in (*forces, model.tendon_limited)], axis=0)
    return [int(tendon) for tendon in np.flatnonzero(acts)]


def _coupled(model: mujoco.MjModel, equality: int) -> tuple[int, int]:
    """The two joints; the second is -1 where the first is held at a value."""
    return int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])


def _connected(model: mujoco.MjModel, equality: int) -> frozenset[int]:
    ends = model.eq_obj1id[equality], model.eq_obj2id[equality]
    at_sites = model.eq_objtype[equality] == SITE
    return frozenset(int(model.site_bodyid[end] if at_sites else end) for end in ends)


def _images(
    kind: str, names: tuple[str, str], image: FloatArray, coefficients: FloatArray
) -> Iterator[Asymmetry]:
    for item in lists(kind, names, "coefficients", image, coefficients):
        yield replace(item, words=f"the image of {item.words}")


def _solver(
    model: mujoco.MjModel, equality: int, partner: int, names: tuple[str, str]
) -> Iterator[Asymmetry]:
    for quantity, values in (("solref", model.eq_solref), ("solimp", model.eq_solimp)):
        yield from lists("equality", names, quantity, values[equality], values[partner])


def _alone(kind: str, what: str, own: str, image: str) -> Asymmetry:
    words = (
        f"{own} have a {what}, {image} have none" if " and " in own else f"{own} has a {what}, {image} none"
    )
    return Asymmetry(kind, own, image, "presence", 1.0, words)


def _joint_names(model: mujoco.MjModel, joints: tuple[int, ...]) -> str:
    return " and ".join(joint_name(model, joint) for joint in joints if joint >= 0)


def _body_names(model: mujoco.MjModel, bodies: frozenset[int]) -> str:
    return " and ".join(body_name(model, body) for body in sorted(bodies))


def _tendon_name(model: mujoco.MjModel, tendon: int) -> str:
    return str(model.tendon(tendon).name or f"tendon_{tendon}")
