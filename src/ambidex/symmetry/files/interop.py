"""Tables for other code, and from it: Cassie-style lists, cusrl, and the paper's own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.files import write_text
from ambidex.common.reading import read_text
from ambidex.common.yaml import read_yaml
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.maps import IndexMap, LinearMap
from ambidex.symmetry.transform import Symmetry

PAPER_FIELDS = ("obs_indices", "obs_multiplier", "act_indices", "act_multiplier")


def to_signed_list(part: LinearMap) -> list[float]:
    """The signed index list of Cassie-style code: element ``i`` goes to ``abs(list[i])``, with that sign.

    Index 0, which has no sign, is written as 0.1 or -0.1. That code multiplies row vectors by the matrix of
    the list, so the list says where each element *goes*; for reflections that is also where it comes from.
    """
    part = _signed_permutation(part, "a signed index list")
    goes_to = part.inverse()
    return [
        float(sign * (index or 0.1)) for index, sign in zip(goes_to.indices, goes_to.multipliers, strict=True)
    ]


def from_signed_list(values: Sequence[float]) -> IndexMap:
    """The map that Cassie-style code makes of a signed index list; see `to_signed_list`."""
    for element, value in enumerate(values):
        if value == 0:
            raise ValueError(
                f"element {element} of the signed index list is 0, which has no sign (that code then loses "
                "the element); write 0.1 or -0.1"
            )
    goes_to = IndexMap([int(abs(value)) for value in values], [float(np.sign(value)) for value in values])
    return goes_to.inverse()


def to_cusrl(part: LinearMap) -> tuple[list[int], list[int]]:
    """``(destination_indices, flipped_indices)`` of cusrl: gather, then negate the flipped elements."""
    part = _signed_permutation(part, "cusrl's mirror")
    return part.indices.tolist(), np.flatnonzero(part.multipliers < 0).tolist()


def from_cusrl(destination_indices: Sequence[int], flipped_indices: Sequence[int]) -> IndexMap:
    """The map of cusrl's ``(destination_indices, flipped_indices)``."""
    multipliers = np.ones(len(destination_indices))
    for index in flipped_indices:
        if not 0 <= index < len(multipliers):
            raise ValueError(f"flipped_indices: {index} is not from 0 to {len(multipliers) - 1}")
        multipliers[index] = -1
    return IndexMap(destination_indices, multipliers)


def read_paper_file(path: str | Path, names: Sequence[str] | None = None) -> SymmetryGroup:
    """The transforms of a file in the format of the paper's authors.

    Every entry with ``obs_indices``, ``obs_multiplier``, ``act_indices`` and ``act_multiplier`` is one.

    :param names: a name for each transform, in order; ``t1``, ``t2``, ... where none are given
    """
    entries = list(paper_entries(read_yaml(str(path), read_text(Path(path)))))
    if not entries:
        raise ValueError(f"{path}: no entry has all of {', '.join(PAPER_FIELDS)}")
    names = names if names is not None else [f"t{number + 1}" for number in range(len(entries))]
    if len(names) != len(entries):
        raise ValueError(f"{path} has {len(entries)} transforms, but {len(names)} names are given")
    return SymmetryGroup(
        [
            Symmetry(
                name,
                obs_indices=entry["obs_indices"],
                obs_multipliers=entry["obs_multiplier"],
                act_indices=entry["act_indices"],
                act_multipliers=entry["act_multiplier"],
            )
            for name, entry in zip(names, entries, strict=True)
        ]
    )


def write_paper_file(group: SymmetryGroup, path: str | Path) -> None:
    """Write the transforms as a list of entries in the format of the paper's authors."""
    lines = []
    for symmetry in group:
        lines.append(f"# {symmetry.name}")
        start = "- "
        for side, part in (("obs", symmetry.observation_map), ("act", symmetry.action_map)):
            if not isinstance(part, IndexMap):
                raise ValueError(
                    f"transform {symmetry.name!r}: this format has indices and multipliers only, "
                    f"and its {side} map needs a {type(part).__name__}"
                )
            lines.append(f"{start}{side}_indices: {part.indices.tolist()}")
            lines.append(f"  {side}_multiplier: [{', '.join(f'{value:.17g}' for value in part.multipliers)}]")
            start = "  "
    write_text(Path(path), "\n".join(lines) + "\n")


def paper_entries(content: Any) -> Iterator[Mapping[str, Any]]:
    """The transforms in the content of a file of the paper's authors, however deep they stand."""
    if isinstance(content, Mapping):
        if all(field in content for field in PAPER_FIELDS):
            yield content
            return
        content = list(content.values())
    if isinstance(content, list):
        for item in content:
            yield from paper_entries(item)


def _signed_permutation(part: LinearMap, what: str) -> IndexMap:
    if not isinstance(part, IndexMap) or not part.is_signed_permutation:
        raise ValueError(f"{what} knows indices and signs only, and this map has more: {part!r}")
    return part
