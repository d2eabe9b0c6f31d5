"""A closed group of symmetries as arrays: its elements, what they do to vectors, and how they multiply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.spaces import check_group
from ambidex.symmetry.group import IDENTITY, SymmetryGroup
from ambidex.symmetry.maps import DictMap, ObservationMap, block_diagonal

SAME = 1e-6  # two products whose fingerprints, numbers of about 1, agree to this are the same element
NAMED = 5  # a refusal names so many of the products that are missing


@dataclass(frozen=True)
class Representation:
    """The n elements of a group, the identity first, and the matrices by which they act.

    :param names: of the elements
    :param observation: (n, o, o) what each does to an observation
    :param action: (n, a, a) what each does to an action, or to the logits of discrete actions
    :param table: (n, n) ``table[h, k]`` is the element that does k, then h
    :param inverses: (n,) the element that undoes each
    """

    names: tuple[str, ...]
    observation: FloatArray
    action: FloatArray
    table: IntArray
    inverses: IntArray

    @classmethod
    def of(cls, group: SymmetryGroup, keys: Sequence[str] | None = None) -> Representation:
        """The group with its identity; ValueError if a product of two elements is not in it.

        :param keys: the order in which the keys of a Dict observation follow each other in one vector;
            sorted, as Gymnasium does, if it is not given
        """
        check_group(group)
        distinct = {element.key: element for element in reversed(list(group)) if not element.is_identity}
        elements = list(distinct.values())[::-1]
        observation = [_matrix(element.observation_map, keys) for element in elements]
        action = [element.action_map.matrix for element in elements]
        if not elements:
            raise ValueError("the group has no element but the identity, so there is no symmetry to build in")
        names = (IDENTITY, *(element.name for element in elements))
        observations = np.stack([np.eye(len(observation[0])), *observation])
        actions = np.stack([np.eye(len(action[0])), *action])
        table = _multiplication_table(observations, actions)
        _refuse_open(names, table)
        return cls(names, observations, actions, table, np.argmin(table, axis=1))

    def __len__(self) -> int:
        return len(self.names)


def _matrix(observation_map: ObservationMap, keys: Sequence[str] | None) -> FloatArray:
    if not isinstance(observation_map, DictMap):
        return observation_map.matrix
    keys = sorted(observation_map.maps) if keys is None else keys
    if set(keys) != set(observation_map.maps):
        raise ValueError(
            f"the observations have the keys {sorted(keys)}, the group describes {sorted(observation_map)}"
        )
    return block_diagonal([observation_map[key] for key in keys])


def _multiplication_table(observation: FloatArray, action: FloatArray) -> IntArray:
    """(n, n) the element that each product is, -1 where it is none.

    An element is known by a few random functionals ``l rho(h) r`` of both of its matrices together, since
    either alone may be the same for two elements. All products need one product of tall matrices.
    """
    random = np.random.default_rng(0)
    left_parts, right_parts = [], []
    for matrices in (observation, action):
        size = matrices.shape[-1]
        left_parts.append(random.standard_normal((2, size)) / np.sqrt(size) @ matrices)  # (n, 2, size)
        right_parts.append(matrices @ random.standard_normal((size, 2)))  # (n, size, 2)
    left, right = np.concatenate(left_parts, axis=2), np.concatenate(right_parts, axis=1)
    n = len(left)
    products = left.reshape(2 * n, -1) @ right.transpose(1, 0, 2).reshape(-1, 2 * n)
    products = products.reshape(n, 2, n, 2).transpose(0, 2, 1, 3).reshape(n, n, 4)
    known = products[0]  # the identity's products are the elements themselves
    order = np.argsort(known[:, 0])
    after = np.searchsorted(known[order, 0], products[..., 0])
    table = np.full((n, n), -1)
    nearest = np.full((n, n), SAME)
    for candidate in (order[np.clip(after - 1, 0, n - 1)], order[np.clip(after, 0, n - 1)]):
        distance = np.abs(products - known[candidate]).max(axis=-1)
        closer = distance < nearest
        table[closer], nearest[closer] = candidate[closer], distance[closer]
    return table


def _refuse_open(names: tuple[str, ...], table: IntArray) -> None:
    missing = [f"{names[h]} @ {names[k]}" for h, k in np.argwhere(table < 0)]
    if not missing:
        return
    shown = ", ".join(missing[:NAMED])
    rest = f" and {len(missing) - NAMED} more products" if len(missing) > NAMED else ""
    generators = ", ".join(names[1 : 1 + NAMED]) + (", ..." if len(names) > 1 + NAMED else "")
    raise ValueError(
        f"{shown}{rest} {'is' if len(missing) == 1 else 'are'} not in the group, which must be closed; "
        f"use SymmetryGroup.from_generators([{generators}])"
    )
