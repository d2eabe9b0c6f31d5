"""A draft of a description from the terms of an observation manager, as Isaac Lab and mjlab print them.

What follows from a term's name and size is filled in. What does not is marked ``unknown``, with a hint, and
`lint` does not pass before it is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ambidex.common.words import suggestion
from ambidex.common.yaml import from_yaml, to_yaml
from ambidex.symmetry.files.descriptions import description_text, load
from ambidex.symmetry.group import SymmetryGroup

Terms = Sequence[tuple[str, int]]

_TITLE = re.compile(r"Active Observation Terms in Group: '(?P<group>[^']+)'")
_ROW = re.compile(r"\|\s*\d+\s*\|\s*(?P<name>\S+)\s*\|\s*\(?(?P<shape>\d+(\s*,\s*\d*)*)\)?\s*\|")

_KNOWN: list[tuple[str, int, list[dict[str, Any]]]] = [  # a name, its size, and what it is
    (r"(lin(ear)?_(vel(ocity)?|acc(eleration)?)|gravity)(_[bw])?$", 3, [{"": "vector"}]),
    (r"(ang(ular)?_vel(ocity)?|gyro)(_[bw])?$", 3, [{"": "pseudovector"}]),
    (r"velocity_commands?$", 3, [{"_linear": {"vector": ["x", "y"]}}, {"_yaw": {"pseudovector": ["z"]}}]),
    (r"base_(height|pos_z)$", 1, [{"": "scalar"}]),
]
_JOINTS = {
    r"joint_pos(ition)?s?(_rel)?$": "position",
    r"joint_vel(ocit(y|ies))?(_rel)?$": "velocity",
    r"joint_(torques?|efforts?)$": "torque",
    r"^((last|prev|previous)_)?actions?$": "previous_action",
}
_HINTS = {
    r"quat|orientation": "{quaternion: wxyz} or {quaternion: xyzw}",
    r"phase|clock": "{phase: [sin, cos]} in its order; and phase: half or same under the transform",
    r"height|scan": "{heights: {shape: [rows, columns], rows: x, columns: y}}",
    r"contact|air_time": "{contact: , of: [limbs in their order]}",
}
_ANY = "scalar, vector, pseudovector, angles, ... as the page on describing lists them"
_ORDER = "give the joints in the simulator's order"


def read_terms(printed: str) -> dict[str, list[tuple[str, int]]]:
    """The terms of each group, with their sizes, of the tables that an observation manager prints."""
    groups: dict[str, list[tuple[str, int]]] = {}
    terms: list[tuple[str, int]] | None = None
    for line in printed.splitlines():
        if title := _TITLE.search(line):
            terms = groups.setdefault(title["group"], [])
        elif "Active " in line:  # the table of another manager
            terms = None
        elif terms is not None and (row := _ROW.search(line)):
            size = 1
            for count in re.findall(r"\d+", row["shape"]):
                size *= int(count)
            terms.append((row["name"], size))
    if not any(groups.values()):
        raise ValueError("no table of observation terms found; print the environment's observation manager")
    return groups


def draft(
    terms: Terms | Mapping[str, Terms],
    robot: str | Path | SymmetryGroup,
    joints: Sequence[str] | None = None,
) -> str:
    """A description of these observations of a robot, with marks where something is left to say.

    :param terms: the terms' names and sizes in their order, or those of each group
    :param robot: gives the limbs, joints and transforms; a description's file or catalog name, or a group
    :param joints: the joints in the simulator's order, without which joint terms are marked
    """
    group = robot if isinstance(robot, SymmetryGroup) else load(robot)
    if group.layout is None:
        raise ValueError("the robot's description has tables only; it needs limbs or joints by name")
    content = from_yaml(description_text(group))
    order = None if joints is None else [_joint(name, list(group.layout.body.joints)) for name in joints]
    hints: dict[str, str] = {}
    if isinstance(terms, Mapping):
        content["observations"] = {key: _fields(each, order, hints) for key, each in terms.items()}
    else:
        content["observations"] = _fields(terms, order, hints)
    if order is not None:
        content["actions"] = [{"action": {"joint": "command", "of": order}}]
    else:
        content["actions"] = [{"action": {"unknown": group.action_size}}]
        hints["action"] = f"{{joint: command, of: [...]}}; {_ORDER}"
    lines = []
    for line in to_yaml(content).splitlines():
        marked = re.match(r"\s*- (?P<name>\S+): \{unknown: \d+\}$", line)
        lines.append(f"{line}  # say: {hints[marked['name']]}" if marked else line)
    return "\n".join(lines) + "\n"


def _fields(terms: Terms, order: list[str] | None, hints: dict[str, str]) -> list[dict[str, Any]]:
    return [field for name, size in terms for field in _term(name, size, order, hints)]


def _term(name: str, size: int, order: list[str] | None, hints: dict[str, str]) -> list[dict[str, Any]]:
    for pattern, base, parts in _KNOWN:
        if re.search(pattern, name) and size % base == 0:
            return _with_history(
                [{f"{name}{end}": kind for end, kind in part.items()} for part in parts], size // base
            )
    for pattern, quantity in _JOINTS.items():
        if re.search(pattern, name):
            if order is not None and size % len(order) == 0:
                return _with_history([{name: {"joint": quantity, "of": order}}], size // len(order))
            hints[name] = f"{{joint: {quantity}, of: [...]}}; {_ORDER}"
            return [{name: {"unknown": size}}]
    hints[name] = next((hint for pattern, hint in _HINTS.items() if re.search(pattern, name)), _ANY)
    return [{name: {"unknown": size}}]


def _with_history(fields: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """Both simulators write a term's past before its present."""
    return fields if steps == 1 else [{"history": steps, "newest": "last", "fields": fields}]


def _joint(name: str, known: list[str]) -> str:
    """``left_leg.hip`` of ``left_leg_hip_joint``."""
    plain = {re.sub(r"[._-]", "", joint.lower()): joint for joint in known}
    wanted = re.sub(r"[._-]", "", name.lower())
    found = plain.get(wanted) or plain.get(wanted.removesuffix("joint"))
    if found is None:
        raise ValueError(
            f"the robot has no joint {name!r}{suggestion(name, known)} (it has {', '.join(known)})"
        )
    return found
