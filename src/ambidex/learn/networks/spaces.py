"""Which observations and actions an equivariant policy takes, refused with the reason otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ambidex.learn.networks.representation import Representation
from ambidex.symmetry.group import SymmetryGroup


def check_observations(space: spaces.Space[Any], group: SymmetryGroup) -> None:
    """Of a group whose keys, where it has any, are those of the observations (`Representation.of`)."""
    size = group.observation_size
    if isinstance(space, spaces.Dict) != isinstance(size, dict):
        raise ValueError(
            f"the observations are {space}, but the group describes {size} elements; describe each key of a "
            "Dict (DictMap), and one vector otherwise"
        )
    parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}
    sizes = size if isinstance(size, dict) else {"": size}
    for key, part in parts.items():
        _check_box(f"observation {key!r}" if key else "observation", part, sizes[key])


def check_actions(space: spaces.Space[Any], group: Representation) -> None:
    size = group.action.shape[-1]
    if isinstance(space, spaces.Box):
        _check_box("action", space, size)
        return
    choices = _choices(space)
    _check_size("action", sum(choices), size)
    _check_permutations(choices, group)


def _check_box(what: str, space: spaces.Space[Any], size: int) -> None:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise ValueError(f"the {what} is {space}; symmetries act on Box spaces of one dimension")
    _check_size(what, space.shape[0], size)


def _check_size(what: str, size: int, expected: int) -> None:
    if size != expected:
        raise ValueError(
            f"the environment's {what} has {size} elements, but the transforms act on {expected}"
        )


def _choices(space: spaces.Space[Any]) -> list[int]:
    """The number of logits of each independent choice."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        return [int(n) for n in np.ravel(space.nvec)]
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return [1] * space.shape[0]
    raise ValueError(f"the action space {space} is not supported")


def _check_permutations(sizes: list[int], group: Representation) -> None:
    """Logits are permuted, those of one choice together."""
    choice = np.repeat(np.arange(len(sizes)), sizes)
    for name, matrix in zip(group.names, group.action, strict=True):
        sources = matrix.argmax(axis=1)
        if not np.array_equal(matrix, np.eye(len(matrix))[sources]):
            raise ValueError(
                f"transform {name!r}: the symmetry of discrete actions is a permutation of their logits; "
                "every action multiplier must be 1"
            )
        for index, size in enumerate(sizes):
            read = set(choice[sources[choice == index]].tolist())
            if len(read) > 1 or sizes[min(read)] != size:
                raise ValueError(
                    f"transform {name!r}: the logits of choice {index} come from choices {sorted(read)}; a "
                    "choice is read whole from one choice of the same size"
                )
