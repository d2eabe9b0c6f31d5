"""Maps as Python source: for each element, what it is read from and what it is multiplied by."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ambidex.symmetry.maps import TOLERANCE, DictMap, IndexMap, LinearMap, ObservationMap

WIDTH = 110

Term = tuple[list[int], list[float]]


def terms(part: LinearMap) -> list[Term]:
    """The map as a sum of terms ``multipliers * x[indices]``: one for an index map, a few for a matrix.

    Where an element needs fewer terms than another one, the rest are its first with the multiplier 0.
    """
    if isinstance(part, IndexMap):
        return [(part.indices.tolist(), part.multipliers.tolist())]
    rows = [np.flatnonzero(np.abs(row) > TOLERANCE).tolist() for row in part.matrix]
    found: list[Term] = []
    for number in range(max(map(len, rows))):
        indices = [row[number] if number < len(row) else row[0] for row in rows]
        multipliers = [
            float(part.matrix[element, index]) if number < len(row) else 0.0
            for element, (index, row) in enumerate(zip(indices, rows, strict=True))
        ]
        found.append((indices, multipliers))
    return found


def by_group(part: ObservationMap, groups: Sequence[str]) -> dict[str, LinearMap]:
    """The map of each group of observations; a description of one vector is that of all ``groups``."""
    return dict(part.maps) if isinstance(part, DictMap) else dict.fromkeys(groups, part)


def source(value: Any, indent: str = "") -> str:
    """A value of dictionaries, lists, tuples, texts and numbers as Python source, wrapped."""
    line = _one_line(value)
    if len(indent) + len(line) <= WIDTH - 20:
        return line
    inner = f"{indent}    "
    if isinstance(value, Mapping):
        entries = [f"{inner}{_one_line(key)}: {source(part, inner)}," for key, part in value.items()]
        return "\n".join(["{", *entries, f"{indent}}}"])
    opening, closing = "()" if isinstance(value, tuple) else "[]"
    if all(isinstance(part, int | float | str) for part in value):
        text = f"{line[1:-1].removesuffix(',')},"
        wrapped = textwrap.fill(
            text, WIDTH, initial_indent=inner, subsequent_indent=inner, break_on_hyphens=False
        )
        return f"{opening}\n{wrapped}\n{indent}{closing}"
    return "\n".join([opening, *(f"{inner}{source(part, inner)}," for part in value), f"{indent}{closing}"])


def _one_line(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_one_line(key)}: {_one_line(part)}' for key, part in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_one_line, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_one_line, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value:.17g}"
