"""Raw tables of one transform, as plain lists and mappings: checked, read into a `Symmetry`, and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.words import check_keys
from ambidex.symmetry import isometry as geometry
from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.findings import Finding, table_findings
from ambidex.symmetry.maps import DictMap, IndexMap, LinearMap, MatrixMap, ObservationMap
from ambidex.symmetry.transform import Symmetry

TABLE_KEYS = ("indices", "multipliers", "matrix", "choices")


def check_tables(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse what is no table at all: missing or unknown keys, or something else than lists."""
    for side in ("observation", "action"):
        for label, table in _by_key(side, entry[side]):
            _check_table(name, label, table)


def tables_findings(name: str, entry: Mapping[str, Any]) -> list[Finding]:
    """Everything wrong with the numbers in the tables of one transform, each table on its own."""
    found: list[Finding] = []
    for side in ("observation", "action"):
        for label, table in _by_key(side, entry[side]):
            if "matrix" not in table:
                indices = table["indices"]
                multipliers = table.get("multipliers", [1] * len(indices))
                found += table_findings(name, label, indices, multipliers)
    return found


def read_symmetry(name: str, entry: Mapping[str, Any]) -> Symmetry:
    """The symmetry that tables describe."""
    parts = {
        label: _read_map(name, label, table) for label, table in _by_key("observation", entry["observation"])
    }
    observation: ObservationMap
    if "observation" in parts:
        observation = parts["observation"]
    else:
        observation = DictMap(dict(zip(entry["observation"], parts.values(), strict=True)))
    isometry = entry.get("isometry")
    return Symmetry.from_maps(
        name,
        observation,
        _read_map(name, "action", entry["action"]),
        entry.get("kind"),
        None if isometry is None else geometry.from_description(isometry),
    )


def table_of(symmetry: Symmetry) -> dict[str, Any]:
    """The tables of a symmetry; `read_symmetry` gives it back exactly."""
    observation = symmetry.observation_map
    entry: dict[str, Any] = {
        "observation": {key: _write_map(part) for key, part in observation.maps.items()}
        if isinstance(observation, DictMap)
        else _write_map(observation),
        "action": _write_map(symmetry.action_map),
    }
    if symmetry.isometry is not None:
        name = geometry.name_of(symmetry.isometry)
        exact = name is not None and (geometry.named(name) == symmetry.isometry).all()
        entry["isometry"] = name if exact else symmetry.isometry.tolist()
    elif symmetry.kind is not None:
        entry["kind"] = symmetry.kind
    return entry


def _by_key(side: str, table: Any) -> list[tuple[str, Any]]:
    """The one table of a side, or for Dict observations the table of each key, with a label for errors."""
    if side == "observation" and isinstance(table, Mapping) and table and _is_dict_of_tables(table):
        return [(f"observation[{key}]", part) for key, part in table.items()]
    return [(side, table)]


def _is_dict_of_tables(table: Mapping[str, Any]) -> bool:
    return all(isinstance(part, Mapping) for part in table.values())


def _check_table(name: str, side: str, table: Any) -> None:
    where = f"transform {name!r}, {side}"
    check_keys(where, table, TABLE_KEYS)
    if "matrix" in table:
        if len(table) > 1:
            raise ValueError(f"{where}: give a matrix, or indices and multipliers, not both")
        return
    if "choices" in table and "multipliers" in table:
        raise ValueError(f"{where}: choices have no multipliers")
    for key in ("indices", "choices" if "choices" in table else "multipliers"):
        if not isinstance(table.get(key), list):
            raise ValueError(f"{where}: {key} is missing or not a list; give one number per element")


def _read_map(name: str, side: str, table: Any) -> LinearMap:
    if "matrix" in table:
        return MatrixMap(table["matrix"], transform=name, side=side)
    if "choices" in table:
        return ChoiceMap(table["indices"], table["choices"], transform=name, side=side)
    return IndexMap(table["indices"], table["multipliers"], transform=name, side=side)


def _write_map(part: LinearMap) -> dict[str, Any]:
    if isinstance(part, ChoiceMap):
        return {"choices": list(part.sizes), "indices": part.indices.tolist()}
    if isinstance(part, IndexMap):
        return {"indices": part.indices.tolist(), "multipliers": _numbers(part.multipliers)}
    return {"matrix": [_numbers(row) for row in part.matrix]}


def _numbers(values: FloatArray) -> list[int | float]:
    return [int(value) if value == np.round(value) else float(value) for value in values]
