"""A readable account of a group: its elements, their products, and what each does to which joint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.files.raw_tables import table_of
from ambidex.symmetry.group import IDENTITY, SymmetryGroup
from ambidex.symmetry.isometry import name_of
from ambidex.symmetry.maps import TOLERANCE, DictMap, LinearMap
from ambidex.symmetry.transform import Symmetry

WIDEST = 120  # characters; a wider table names elements by their numbers
MOST_ROWS = 60  # a table of more rows is cut; height maps have hundreds


def describe(group: SymmetryGroup) -> str:
    """The account as text."""
    return "\n".join(
        [
            *_heading(group),
            "",
            *_transforms(group),
            "",
            *_products(group),
            *(line for side in sides(group) for line in ("", *_side(group, *side))),
        ]
    )


def description_data(group: SymmetryGroup) -> dict[str, Any]:
    """The account as data for a program."""
    return {
        "robot": group.layout.robot if group.layout else None,
        "observation_names": group.layout.observation_names if group.layout else None,
        "action_names": group.layout.action_names if group.layout else None,
        "observation_size": group.observation_size,
        "action_size": group.action_size,
        "is_closed": group.is_closed,
        "transforms": [
            {
                "name": element.name,
                "kind": element.kind,
                "order": element.order,
                "words": in_words(element),
                **table_of(element),
            }
            for element in group
        ],
        "products": [
            {"first": second, "then": first, "is": product}
            for (first, second), product in group.multiplication_table().items()
        ],
    }


def in_words(symmetry: Symmetry) -> str:
    """``"rotation about z by 90 degrees"``, as far as the transform is known."""
    if symmetry.isometry is None:
        return symmetry.kind or "kind not declared"
    name = name_of(symmetry.isometry)
    if name is None:
        return f"{symmetry.kind}, slanted"
    if name == "inversion":
        return "inversion at the centre"
    if match := re.fullmatch(r"r([xy]?)(.+)", name):
        return f"rotation about {match[1] or 'z'} by {match[2]} degrees"
    if name.startswith("m"):
        return f"reflection in the vertical plane at {name[1:]} degrees"
    return f"reflection in the plane {name}"


def sides(group: SymmetryGroup) -> Iterator[tuple[str, tuple[str, ...], list[LinearMap]]]:
    """Actions, then observations (each key of a Dict): a title, the elements' names, each transform's map."""
    layout = group.layout
    names = layout.action_names if layout else _numbers(group.action_size)
    yield "actions", names, [element.action_map for element in group]
    size = group.observation_size
    known = layout.observation_names if layout else None
    if isinstance(size, dict):
        for key, count in size.items():
            names = known[key] if isinstance(known, dict) else _numbers(count)
            yield f"observations {key!r}", names, [_keyed(element, key) for element in group]
    else:
        names = known if isinstance(known, tuple) else _numbers(size)
        yield "observations", names, [_whole(element) for element in group]


def _keyed(element: Symmetry, key: str) -> LinearMap:
    assert isinstance(element.observation_map, DictMap)
    return element.observation_map[key]


def _whole(element: Symmetry) -> LinearMap:
    assert isinstance(element.observation_map, LinearMap)
    return element.observation_map


def _numbers(count: int) -> tuple[str, ...]:
    return ("",) * count


def _heading(group: SymmetryGroup) -> list[str]:
    robot = f"{group.layout.robot}: " if group.layout and group.layout.robot else ""
    size = group.observation_size
    observations = sum(size.values()) if isinstance(size, dict) else size
    closed = "with the identity a whole group" if group.is_closed else "not claiming to be a whole group"
    transforms = f"{len(group)} transform{'s' if len(group) > 1 else ''} ({closed})"
    return [f"{robot}{observations} observations, {group.action_size} actions, {transforms}"]


def _transforms(group: SymmetryGroup) -> list[str]:
    rows = [[element.name, f"order {element.order or 'infinite'}", in_words(element)] for element in group]
    return _aligned(rows)


def _products(group: SymmetryGroup) -> list[str]:
    table = group.multiplication_table()
    shown = {IDENTITY: "1", None: "?"}
    rows = [["", *group.names]]
    for first in group.names:
        products = (table[first, second] for second in group.names)
        rows.append([first, *(shown.get(product, str(product)) for product in products)])
    lines = ["Products: first the transform of the column, then that of the row (1 is the identity)"]
    if None in table.values():
        lines[0] = f"{lines[0][:-1]}, ? leaves the set)"
    return [*lines, *_aligned(rows)]


def _side(group: SymmetryGroup, title: str, names: tuple[str, ...], maps: Sequence[LinearMap]) -> list[str]:
    matrices = [part.matrix for part in maps]
    size = len(names)
    unchanged = [i for i in range(size) if all(_is_unit_row(matrix, i) for matrix in matrices)]
    changed = [i for i in range(size) if i not in unchanged]
    numbers = [str(i) for i in range(size)]
    by_name = any(names) and (len(group) + 1) * (max(map(len, names)) + 3) <= WIDEST
    rows = [["", "", *group.names]]
    for i in changed[:MOST_ROWS]:
        readings = (reading(matrix[i], names if by_name else numbers) for matrix in matrices)
        rows.append([numbers[i], names[i], *readings])
    what = "the element" if by_name else "the number of the element"
    lines = [f"{title.capitalize()}: for each element, {what} that it is read from and the sign"]
    lines += _aligned(rows) if changed else []
    if len(changed) > MOST_ROWS:
        lines.append(f"  ... and {len(changed) - MOST_ROWS} more (all of them with --json)")
    if unchanged:
        listed = ", ".join(f"{i} {names[i]}".strip() for i in unchanged[:MOST_ROWS])
        lines.append(
            f"  unchanged by every transform: {listed}{' ...' if len(unchanged) > MOST_ROWS else ''}"
        )
    return lines


def _is_unit_row(matrix: FloatArray, row: int) -> bool:
    return bool(np.abs(matrix[row] - np.eye(len(matrix))[row]).max() < TOLERANCE)


def reading(row: FloatArray, labels: Sequence[str]) -> str:
    """``-3``, ``+0.5*3`` or ``-0.5*3+0.866*4``: what an element is read from."""
    terms = []
    for index in np.flatnonzero(np.abs(row) > TOLERANCE).tolist():
        size = "" if abs(abs(row[index]) - 1) < TOLERANCE else f"{abs(row[index]):.3g}*"
        terms.append(f"{'-' if row[index] < 0 else '+'}{size}{labels[index]}")
    return "".join(terms)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [f"  {line}".rstrip() for line in lines]
