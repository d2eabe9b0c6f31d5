"""The names in a robot model, and what they say: sides, and the words that partners share."""

from __future__ import annotations

import re
from collections.abc import Sequence

import mujoco

SIDES = frozenset(
    ("left", "right", "l", "r", "lf", "rf", "lh", "rh", "lr", "fl", "fr", "hl", "hr", "rl", "rr")
)


def body_name(model: mujoco.MjModel, body: int) -> str:
    """The body's name; one without a name is called after its joint, or by its number."""
    if name := model.body(body).name:
        return str(name)
    if model.body_jntnum[body]:
        return joint_name(model, model.body_jntadr[body])
    return f"body_{body}"


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    return str(model.joint(joint).name or f"joint_{joint}")


def actuator_name(model: mujoco.MjModel, actuator: int) -> str:
    """The actuator's name; one without a name is called after the joint that it drives, or by its number."""
    if name := model.actuator(actuator).name:
        return str(name)
    if model.actuator_trntype[actuator] == int(mujoco.mjtTrn.mjTRN_JOINT):
        return joint_name(model, model.actuator_trnid[actuator, 0])
    return f"actuator_{actuator}"


def words(name: str) -> list[str]:
    """``"frontLeft_leg2"`` as ``["front", "Left", "leg", "2"]``."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)


def are_sides(first: str, second: str) -> bool:
    """Whether two names differ in their side only: left and right, or one of them and nothing."""
    parts = [[word.lower() for word in words(name)] for name in (first, second)]
    stems = [[word for word in part if word not in SIDES] for part in parts]
    return stems[0] == stems[1] and parts[0] != parts[1]


def shared(names: Sequence[str]) -> str:
    """The words that all names have, in their order; empty where there are none."""
    first, *others = [words(name) for name in names]
    return "_".join(word for word in first if all(word in other for other in others))


def distinct(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that occur before."""
    seen: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in seen:
            number += 1
            chosen = f"{name}_{number}"
        seen.append(chosen)
    return seen


def geom_name(model: mujoco.MjModel, geom: int) -> str:
    """The geom's name; one without a name is called after its body."""
    return str(model.geom(geom).name or f"geom {geom} of {body_name(model, model.geom_bodyid[geom])}")
