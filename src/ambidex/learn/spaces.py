"""Which spaces a group can act on, refused with the reason otherwise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from gymnasium import spaces

from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup


class DoesNotFit(ValueError):
    """A group that acts on other spaces than the environment's."""


def check_group(group: object) -> None:
    if not isinstance(group, SymmetryGroup):
        raise ValueError(f"symmetries is a SymmetryGroup, got {group!r}; read a file with ambidex.load")


def check_observations(space: spaces.Space[object], group: SymmetryGroup) -> None:
    size = group.observation_size
    if isinstance(space, spaces.Dict):
        if not isinstance(size, dict):
            raise DoesNotFit(
                f"the observations are a Dict of {sorted(space.spaces)}, but the group describes one vector "
                f"of {size}; describe each key (DictMap)"
            )
        if set(space.spaces) != set(size):
            raise DoesNotFit(
                f"the observations have the keys {sorted(space.spaces)}, the group describes {sorted(size)}"
            )
        for key, part in space.spaces.items():
            _check_box(part, size[key], f"observation {key!r}")
    elif isinstance(size, dict):
        raise DoesNotFit(
            f"the group describes the Dict keys {sorted(size)}, but the observations are no Dict"
        )
    else:
        _check_box(space, size, "observation")


def _check_box(space: spaces.Space[object], size: int, what: str) -> None:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise DoesNotFit(f"the {what} is {space}; symmetries act on Box spaces of one dimension")
    if space.shape[0] != size:
        raise DoesNotFit(
            f"the environment's {what} has {space.shape[0]} elements, but the transforms act on {size}"
        )


def check_actions(space: spaces.Space[object], group: SymmetryGroup) -> None:
    """A Box of the group's size, or discrete choices whose logits it permutes."""
    if isinstance(space, spaces.Box):
        _check_box(space, group.action_size, "action")
        return
    blocks = _choices(space)
    if sum(blocks) != group.action_size:
        raise DoesNotFit(
            f"the actions {space} have {sum(blocks)} logits, but the transforms act on {group.action_size}"
        )
    for name in group.names:
        _check_permutation(name, group, blocks)


def _choices(space: spaces.Space[object]) -> list[int]:
    """The number of logits of each independent choice."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        return [int(n) for n in np.ravel(space.nvec)]
    if isinstance(space, spaces.MultiBinary):
        return [1] * int(np.prod(space.shape))
    raise DoesNotFit(f"the action space {space} is not supported")


def _check_permutation(name: str, group: SymmetryGroup, blocks: list[int]) -> None:
    table = group[name].action_map
    if not isinstance(table, IndexMap) or not np.array_equal(table.multipliers, np.ones(table.size)):
        raise ValueError(
            f"transform {name!r}: the symmetry of discrete actions is a permutation of their logits; "
            "every action multiplier must be 1"
        )
    choice = np.repeat(np.arange(len(blocks)), blocks)
    starts = np.cumsum([0, *blocks])
    for block, size in enumerate(blocks):
        sources = choice[table.indices[starts[block] : starts[block + 1]]]
        if len(set(sources.tolist())) > 1 or blocks[sources[0]] != size:
            raise ValueError(
                f"transform {name!r}: the logits of choice {block} come from choices "
                f"{sorted(set(sources.tolist()))}; a choice is read whole from one choice of the same size"
            )


def check_ranges(space: spaces.Space[object], transforms: Iterable[Symmetry]) -> None:
    """Ranges may differ where actuators do, but not exclude each other; choices have none."""
    if isinstance(space, spaces.Box):
        for symmetry in transforms:
            _check_ranges(symmetry, space)


def _check_ranges(symmetry: Symmetry, space: spaces.Box) -> None:
    table = symmetry.action_map
    if not isinstance(table, IndexMap):
        return
    ends = np.stack([table(space.low.astype(np.float64)), table(space.high.astype(np.float64))])
    apart = (ends.max(axis=0) <= space.low) | (ends.min(axis=0) >= space.high)
    for element in np.flatnonzero(apart & (space.low < space.high)):
        source = table.indices[element]
        raise ValueError(
            f"transform {symmetry.name!r}, action {element}: its range is [{space.low[element]:g}, "
            f"{space.high[element]:g}], but that of action {source}, which it is read from, becomes "
            f"[{ends[:, element].min():g}, {ends[:, element].max():g}]; check the multiplier, or shift the "
            "actions so that 0 lies within their ranges"
        )
