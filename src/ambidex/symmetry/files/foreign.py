"""Mirrors as other code writes them, read as raw tables.

A file's keys show its format: Cassie-style lists, cusrl's tables, or that of the paper's authors. A function
``module:function`` is called on unit vectors to see what it does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ambidex.common.words import check_keys, kind_of
from ambidex.common.yaml import from_yaml, problem
from ambidex.symmetry.files.descriptions import KEYS, ParsedDescription, parse, read_text
from ambidex.symmetry.files.interop import paper_entries
from ambidex.symmetry.files.probing import probe
from ambidex.symmetry.group import SymmetryGroup

CASSIE_OBSERVATIONS = ("mirrored_obs", "mirrored_observations")
CASSIE_ACTIONS = ("mirrored_acts", "mirrored_actions")
CUSRL = ("mirror_observation", "mirror_action", "mirror_state")
CUSRL_TABLE = ("destination_indices", "flipped_indices")
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*(,[A-Za-z_]\w*)?")

Entries = dict[str, dict[str, Any]]


def parse_any(
    mirror: str | Path, robot: SymmetryGroup | None = None, *, trust: bool = False
) -> ParsedDescription:
    """A description, or a foreign mirror as if its tables were one.

    :param mirror: a file, a name of the catalog, or ``module:function``
    :param robot: says the sizes on which a function is called
    :param trust: whether to import and call a function
    """
    if isinstance(mirror, str) and FUNCTION.fullmatch(mirror) and not Path(mirror).exists():
        if not trust:
            raise ValueError(f"{mirror}: to see what it does it must be run; add --trust if you trust it")
        if robot is None:
            raise ValueError(f"{mirror}: give the robot (--robot) that says how many elements it acts on")
        return _described(mirror, probe(mirror, robot))
    where, text = read_text(mirror)
    try:
        content = from_yaml(text)
        entries = _foreign(content)
    except yaml.YAMLError as error:
        raise ValueError(f"{where}: not valid YAML: {problem(error)}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return parse(mirror) if entries is None else _described(where, entries)


def _described(where: str, entries: Entries) -> ParsedDescription:
    return ParsedDescription(where, None, entries, False, {}, None, False)


def _foreign(content: Any) -> Entries | None:
    """The tables of a foreign mirror; None if the content has another format."""
    if isinstance(content, Mapping):
        if any(key in content for key in (*CASSIE_OBSERVATIONS, *CASSIE_ACTIONS)):
            return {"mirror": _cassie(content)}
        if any(key in content for key in CUSRL):
            return {"mirror": _cusrl(content)}
        if any(key in content for key in KEYS):
            return None
    entries = list(paper_entries(content))
    if not entries:
        return None
    return {
        f"t{number}": {
            side: {"indices": entry[f"{short}_indices"], "multipliers": entry[f"{short}_multiplier"]}
            for side, short in (("observation", "obs"), ("action", "act"))
        }
        for number, entry in enumerate(entries, start=1)
    }


def _cassie(content: Mapping[str, Any]) -> dict[str, Any]:
    check_keys("signed index lists", content, (*CASSIE_OBSERVATIONS, *CASSIE_ACTIONS))
    entry = {}
    for side, keys in (("observation", CASSIE_OBSERVATIONS), ("action", CASSIE_ACTIONS)):
        given = [key for key in keys if key in content]
        if len(given) != 1:
            raise ValueError(f"signed index lists: give {' or '.join(keys)}, the list of the {side}")
        entry[side] = _signed_list(given[0], content[given[0]])
    return entry


def _signed_list(key: str, values: Any) -> dict[str, list[Any]]:
    """Where each element comes from, of a list that says where each goes.

    A list that is no permutation is left as it stands, for the check of tables to say so.
    """
    if not isinstance(values, list) or not all(isinstance(value, int | float) for value in values):
        raise ValueError(f"{key}: expected a list of numbers, got {kind_of(values)}")
    lost = [element for element, value in enumerate(values) if value == 0]
    if lost:
        raise ValueError(
            f"{key}: element {lost[0]} is 0, which has no sign (that code then loses the element); "
            "write 0.1 or -0.1"
        )
    goes_to, signs = [int(abs(value)) for value in values], [1 if value > 0 else -1 for value in values]
    if sorted(goes_to) != list(range(len(values))):
        return {"indices": goes_to, "multipliers": signs}
    comes_from = sorted(range(len(values)), key=goes_to.__getitem__)
    return {"indices": comes_from, "multipliers": [signs[source] for source in comes_from]}


def _cusrl(content: Mapping[str, Any]) -> dict[str, Any]:
    check_keys("cusrl's mirrors", content, CUSRL)
    for key in CUSRL[:2]:
        if key not in content:
            raise ValueError(f"cusrl's mirrors: {key} is missing")
    tables = {key: _cusrl_table(key, content[key]) for key in content}
    observation: dict[str, Any] = tables["mirror_observation"]
    if "mirror_state" in tables:
        observation = {"observation": observation, "state": tables["mirror_state"]}
    return {"observation": observation, "action": tables["mirror_action"]}


def _cusrl_table(key: str, table: Any) -> dict[str, list[Any]]:
    check_keys(key, table, CUSRL_TABLE)
    destination, flipped = (table.get(part) for part in CUSRL_TABLE)
    if not isinstance(destination, list) or not isinstance(flipped, list):
        raise ValueError(f"{key}: give {' and '.join(CUSRL_TABLE)}, a list each")
    wrong = [index for index in flipped if index not in range(len(destination))]
    if wrong:
        raise ValueError(f"{key}: flipped_indices: {wrong[0]} is not from 0 to {len(destination) - 1}")
    turned = set(flipped)
    return {
        "indices": destination,
        "multipliers": [-1 if element in turned else 1 for element in range(len(destination))],
    }
