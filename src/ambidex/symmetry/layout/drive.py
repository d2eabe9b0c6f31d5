"""`Drive`: what a robot's motors make of a command, so that their torque follows from what is observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from ambidex.common.words import check_keys, suggestion

ACTIONS = ("torque", "position", "velocity")
PER_JOINT = ("kp", "kd", "scale", "limit")
KEYS = ("action", *PER_JOINT, "step")


@dataclass(frozen=True)
class Drive:
    """How commands become torques, the same way for all joints.

    :param action: what a command is: a torque, the position that a joint is to have, or its speed
    :param kp: newton metres per unit of position, for each action; None where they are not known
    :param kd: newton metres per unit of speed, for each action; None where they are not known
    :param scale: what a command of 1 is, for each action: in units of torque, position or speed
    :param limit: the largest torque of each action, infinite where none is known
    :param step: the seconds from one observation to the next; None if they are not known
    """

    action: Literal["torque", "position", "velocity"]
    kp: tuple[float, ...] | None
    kd: tuple[float, ...] | None
    scale: tuple[float, ...]
    limit: tuple[float, ...]
    step: float | None


def read_drive(value: Any, joints: Sequence[str]) -> Drive | None:
    """The section ``drive:`` of a description.

    :param value: ``torque``, ``position`` or ``velocity``, or a mapping with ``action`` and what is known of
        the drive; a number of it is the same for all joints or ``{pattern: number}``
    :param joints: the joint that each action drives
    """
    if value is None:
        return None
    given = check_keys("drive", {"action": value} if isinstance(value, str) else value, KEYS)
    action = given.get("action")
    if action not in ACTIONS:
        meant = suggestion(action, ACTIONS) or f"; it is one of {', '.join(ACTIONS)}"
        raise ValueError(f"drive: unknown action {action!r}{meant}")
    unused = {"torque": ("kp", "kd", "step"), "velocity": ("kp",), "position": ()}[action]
    for key in unused:
        if key in given:
            raise ValueError(f"drive: a drive whose action is a {action} has no {key}; leave it out")
    step = None if given.get("step") is None else _number("step", given["step"])
    values = {key: _per_joint(key, given[key], joints) for key in PER_JOINT if given.get(key) is not None}
    count = len(joints)
    return Drive(
        action,
        values.get("kp"),
        values.get("kd"),
        values.get("scale", (1.0,) * count),
        values.get("limit", (float("inf"),) * count),
        step,
    )


def _per_joint(key: str, value: Any, joints: Sequence[str]) -> tuple[float, ...]:
    if not isinstance(value, Mapping):
        return (_number(key, value),) * len(joints)
    numbers = {str(pattern): _number(f"{key} of {pattern}", one) for pattern, one in value.items()}
    for pattern in numbers:
        if not any(fnmatchcase(joint, pattern) for joint in joints):
            raise ValueError(
                f"drive: {key} is given for {pattern!r}, which is no joint that an action drives"
                f"{suggestion(pattern, joints)}"
            )
    found = []
    for joint in joints:
        matching = [number for pattern, number in numbers.items() if fnmatchcase(joint, pattern)]
        if len(matching) != 1:
            raise ValueError(f"drive: {key} is given {len(matching)} times for joint {joint!r}; give it once")
        found += matching
    return tuple(found)


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"drive: {key} is a positive number, got {value!r}")
    return float(value)
