"""A group on one vector, as networks take it: some keys of a Dict observation, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ambidex.common.words import listed
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.maps import (
    DictMap,
    IndexMap,
    LinearMap,
    ObservationMap,
    as_simple_as_possible,
    block_diagonal,
)
from ambidex.symmetry.transform import Symmetry


def on_vector(
    group: SymmetryGroup, sizes: Mapping[str, int], pass_through: Sequence[str] = ()
) -> SymmetryGroup:
    """The same transforms of the vector in which the keys follow each other.

    :param group: a description of one vector is that of every key that is not passed through
    :param sizes: how many elements each key has, in the order of the vector
    :param pass_through: keys that no transform changes, if they are there
    """

    def joined(element: Symmetry) -> LinearMap:
        parts = [_part(element, key, size, pass_through) for key, size in sizes.items()]
        return parts[0] if len(parts) == 1 else as_simple_as_possible(block_diagonal(parts))

    return SymmetryGroup(
        [
            Symmetry.from_maps(
                element.name,
                joined(element),
                element.action_map,
                element.kind,
                element.isometry,
            )
            for element in group
        ],
        is_closed=group.is_closed,
    )


def _part(element: Symmetry, key: str, size: int, pass_through: Sequence[str]) -> LinearMap:
    if key in pass_through:
        return IndexMap.identity(size)
    whole: ObservationMap = element.observation_map
    if isinstance(whole, DictMap):
        if key not in whole.maps:
            raise ValueError(
                f"the observations {key!r} are not described (there are {listed(list(whole.maps))}); "
                f"describe them, or name {key!r} in pass_through if no transform changes them"
            )
        part = whole[key]
    else:
        part = whole
    if part.size != size:
        raise ValueError(
            f"transform {element.name!r} acts on {part.size} elements of the observations {key!r}, "
            f"which have {size}"
        )
    return part
