"""JSON as this package reads and prints it: bounded, without NaN, every key once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ambidex.common.escaping import quoted
from ambidex.common.reading import read_text

MOST_CHARACTERS = 64_000_000  # the grid of a sweep of ten thousand runs is a third of it
DEEPEST = 64


def from_json(text: str) -> Any:
    """The content of a text; a key given twice, NaN, infinity and deep nesting are refused."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text):,} characters of JSON, of which at most {MOST_CHARACTERS:,} are read")
    try:
        value = json.loads(text, object_pairs_hook=_mapping, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    _refuse_depth(value)
    return value


def read_json(path: Path) -> Any:
    """The content of a file as `from_json` reads it; what is wrong with it is said in one sentence."""
    text = read_text(path, MOST_CHARACTERS)
    try:
        return from_json(text)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def to_json(value: Any, indent: int | None = None) -> str:
    """The value as strict JSON; a number that is none (NaN, infinity) becomes null."""
    return json.dumps(strict(value), indent=indent, allow_nan=False)


def strict(value: Any) -> Any:
    """The value with null in the place of numbers that are none, and lists in that of tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: strict(part) for key, part in value.items()}
    return [strict(part) for part in value] if isinstance(value, list | tuple) else value


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quoted(twice)} is given twice")
    return mapping


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            part
            for whole in level
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not level:
            return
    raise ValueError(f"nested more than {DEEPEST} levels deep")
