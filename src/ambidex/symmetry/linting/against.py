"""A mirror held against a robot: which elements disagree, in the robot's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.files.descriptions import ParsedDescription
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.fields import Block
from ambidex.symmetry.layout.quantities import (
    Clock,
    HeightMap,
    JointValue,
    Quaternion,
    Scalar,
    Tensor,
    Vector,
)
from ambidex.symmetry.linting.algebra import ACTION, BODY, parts_of
from ambidex.symmetry.show.account import in_words, reading
from ambidex.symmetry.transform import Symmetry

MOST_SHOWN = 24  # elements listed one by one
NEAR = 1e-4  # matrices of functions are known to float32 only
ROLES = (("observation", "policy", "actor"), ("state", "critic"))  # groups that go by several names

Matrices = dict[str, FloatArray]


def hold_against(mirror: ParsedDescription, robot: SymmetryGroup) -> list[Finding]:
    """What each transform of a mirror does otherwise than the robot's transform that is most like it.

    :param mirror: tables that are sound each on its own
    :param robot: the group of a description that is trusted
    """
    expected = {element.name: _matrices_of(element) for element in robot}
    found: list[Finding] = []
    for name, table in mirror.tables.items():
        given = _aligned(_table_matrices(table), expected[robot.names[0]])
        sizes = list(_other_sizes(name, given, expected[robot.names[0]]))
        found += sizes
        wrong = {finding.side for finding in sizes}
        given = {side: matrix for side, matrix in given.items() if side not in wrong}
        if given:
            likest = min(robot, key=lambda element: len(_differing(given, expected[element.name])))
            found += _differences(name, given, expected[likest.name], likest, robot)
    return found


def _matrices_of(element: Symmetry) -> Matrices:
    (parts,) = parts_of([element]).values()
    return {side: part.matrix for side, part in parts.items() if side != BODY}


def _table_matrices(entry: Mapping[str, Any]) -> Matrices:
    observed = entry["observation"]
    if all(isinstance(part, Mapping) for part in observed.values()):
        tables = {f"observation[{key}]": part for key, part in observed.items()}
    else:
        tables = {"observation": observed}
    return {side: _matrix(table) for side, table in {**tables, ACTION: entry["action"]}.items()}


def _matrix(table: Mapping[str, Any]) -> FloatArray:
    if "matrix" in table:
        return np.array(table["matrix"], dtype=np.float64)
    indices = table["indices"]
    dense = np.zeros((len(indices), len(indices)))
    dense[np.arange(len(indices)), indices] = table.get("multipliers", 1)
    return dense


def _aligned(given: Matrices, expected: Matrices) -> Matrices:
    """The mirror's sides under the robot's names for them."""
    names = {side: side for side in given}
    for role in ROLES:
        labels = [role[0], *(f"observation[{key}]" for key in role)]
        theirs = next((label for label in labels if label in given), None)
        ours = next((label for label in labels if label in expected), None)
        if theirs is not None and ours is not None:
            names[theirs] = ours
    return {names[side]: matrix for side, matrix in given.items()}


def _other_sizes(name: str, given: Matrices, expected: Matrices) -> Iterator[Finding]:
    for side in dict.fromkeys([*expected, *given]):
        if side not in expected:
            yield Finding("size", "the robot has no such observations.", name, side)
        elif side not in given:
            yield Finding("size", "the mirror says nothing of these.", name, side, fix="mirror them too")
        elif len(given[side]) != len(expected[side]):
            yield Finding(
                "size",
                f"acts on {len(given[side])} elements, the robot has {len(expected[side])}; not compared.",
                name,
                side,
                fix=f"correct the mirror, or say under {side.partition('[')[0]}s: in the robot's description "
                "what its elements are",
            )


def _differing(given: Matrices, expected: Matrices) -> list[tuple[str, int]]:
    """The sides and elements that are read otherwise."""
    return [
        (side, int(element))
        for side, matrix in given.items()
        for element in np.flatnonzero((np.abs(matrix - expected[side]) > NEAR).any(axis=1))
    ]


def _differences(
    name: str, given: Matrices, expected: Matrices, likest: Symmetry, robot: SymmetryGroup
) -> Iterator[Finding]:
    differing = _differing(given, expected)
    labels = _labels(robot, expected)
    blocks = _blocks(robot)
    for side, element in differing[:MOST_SHOWN]:
        found, right = (reading(matrices[side][element], labels[side]) for matrices in (given, expected))
        numbers = [str(number) for number in range(len(labels[side]))]
        reason = _reason(blocks.get((side, element)))
        yield Finding(
            "unlike-the-robot",
            f"{labels[side][element]} is read from {found or 'nothing'}; in the robot's {likest.name} "
            f"({in_words(likest)}) it is {right}{reason}.",
            name,
            side,
            element,
            f"read {side} {element} from {reading(expected[side][element], numbers)}",
        )
    if len(differing) > MOST_SHOWN:
        total = sum(map(len, given.values()))
        yield Finding(
            "more",
            f"{len(differing)} of {total} elements differ from the robot's {likest.name}; is the robot's "
            "description in the order of the observations and actions that the mirror is for?",
            name,
        )


def _labels(robot: SymmetryGroup, expected: Matrices) -> dict[str, list[str]]:
    """The names of elements; their numbers where there is no layout."""
    labels = {side: [f"[{number}]" for number in range(len(matrix))] for side, matrix in expected.items()}
    if robot.layout is not None:
        observed = robot.layout.observation_names
        if isinstance(observed, dict):
            labels |= {f"observation[{key}]": list(names) for key, names in observed.items()}
        else:
            labels["observation"] = list(observed)
        labels[ACTION] = list(robot.layout.action_names)
    return labels


def _blocks(robot: SymmetryGroup) -> dict[tuple[str, int], Block]:
    if robot.layout is None:
        return {}
    return {
        (side, element): block
        for side, blocks in robot.layout.blocks_by_side.items()
        for element, block in enumerate(block for block in blocks for _ in range(block.size))
    }


def _reason(block: Block | None) -> str:
    quantity = None if block is None else block.quantity
    if isinstance(quantity, Clock):
        return ": the sine and cosine of a gait's phase change sign together or not at all"
    if isinstance(quantity, Vector):
        if quantity.pseudo:
            return ": a turning rate or angle, which turns the other way in a mirror"
        return ": a component of a vector"
    if isinstance(quantity, JointValue):
        return ": as its joint's axis goes" if not quantity.unsigned else ": it has no sign"
    if isinstance(quantity, Scalar):
        return ": a scalar, which keeps its sign"
    if isinstance(quantity, Quaternion):
        return ": a quaternion, whose vector part turns as a spin does"
    if isinstance(quantity, Tensor):
        return ": a component of a tensor"
    return ": a height, which moves with its place" if isinstance(quantity, HeightMap) else ""
