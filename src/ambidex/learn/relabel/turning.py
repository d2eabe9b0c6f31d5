"""Observations turned into a frame, actions turned back out of it, and the spaces of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.relabel.domain import Domain, Field, Vectors
from ambidex.learn.spaces import check_actions, check_observations
from ambidex.symmetry import DictMap, IndexMap, LinearMap, SymmetryGroup
from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.maps import TOLERANCE

Array = npt.NDArray[Any]


class Turning:
    """What a canonical frame does to the observations and actions of n environments.

    ``observation_space`` and ``action_space`` are what a policy in the frame sees: the smallest boxes that
    hold the images of the environment's own. Where the box of actions is larger than the environment's, an
    action that is turned back is clipped to that.

    :param group: closed
    :param observation_space: of the environments
    :param action_space: of the environments
    :param by: see `CanonicalFrame`
    :param margin: see `CanonicalFrame`
    """

    def __init__(
        self,
        group: SymmetryGroup,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        by: Field | None,
        margin: float,
    ) -> None:
        keys = list(observation_space.spaces) if isinstance(observation_space, spaces.Dict) else None
        self.domain = Domain(group, by, margin, keys)
        representation = self.domain.representation
        check_observations(observation_space, group)
        check_actions(action_space, group)
        elements = [group[name] for name in representation.names[1:]]
        observation_maps = [element.observation_map for element in elements]
        self.observation_space: spaces.Space[Any]
        self._observation_maps: dict[str | None, list[LinearMap]]
        if isinstance(observation_space, spaces.Dict):
            parts = [map.maps for map in observation_maps if isinstance(map, DictMap)]
            self._observation_maps = {key: [maps[key] for maps in parts] for key in observation_space.spaces}
            self.observation_space = spaces.Dict(
                {
                    key: _hull(space, self._observation_maps[key])
                    for key, space in observation_space.spaces.items()
                }
            )
        else:
            self._observation_maps = {None: [map for map in observation_maps if isinstance(map, LinearMap)]}
            self.observation_space = _hull(observation_space, self._observation_maps[None])
        action_maps = _on_actions(action_space, [element.action_map for element in elements])
        self._back = [action_maps[inverse - 1] for inverse in representation.inverses[1:]]
        self._inner_actions = action_space
        is_box = isinstance(action_space, spaces.Box)
        self.action_space = _hull(action_space, action_maps) if is_box else action_space

    def observations(self, elements: IntArray, observations: Vectors) -> Any:
        """f_h of each observation.

        :param elements: (n,) numbers of elements, the identity's is 0
        """
        if isinstance(observations, Mapping):
            return {
                key: _turned(elements, rows, self._observation_maps[key])
                for key, rows in observations.items()
            }
        return _turned(elements, observations, self._observation_maps[None])

    def actions_back(self, elements: IntArray, actions: Array) -> Array:
        """g_h^-1 of each action, within the bounds of the environment.

        :param elements: (n,) numbers of elements, the identity's is 0
        """
        back = _turned(elements, np.asarray(actions), self._back)
        if self.action_space != self._inner_actions:
            assert isinstance(self._inner_actions, spaces.Box)
            back = np.clip(back, self._inner_actions.low, self._inner_actions.high)
        return back


def _turned(elements: IntArray, rows: Array, maps: Sequence[LinearMap]) -> Array:
    """Each row by the map of its element; the identity, which has none, is 0."""
    turned = rows.copy()
    for element in np.unique(elements[elements > 0]):
        own = elements == element
        turned[own] = maps[element - 1](rows[own])
    return turned


def _hull(space: spaces.Space[Any], maps: Sequence[LinearMap]) -> spaces.Space[Any]:
    """The smallest box that holds a box and its images; the space itself where they are no larger."""
    assert isinstance(space, spaces.Box)
    if not np.issubdtype(space.dtype, np.floating):
        raise ValueError(f"{space} has whole numbers; a symmetry turns vectors of floating-point numbers")
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    lowest, highest = low.copy(), high.copy()
    for map in maps:
        first, second = _products(map.matrix, low), _products(map.matrix, high)
        lowest = np.minimum(lowest, np.minimum(first, second).sum(axis=1))
        highest = np.maximum(highest, np.maximum(first, second).sum(axis=1))
    if np.allclose(lowest, low) and np.allclose(highest, high):
        return space
    dtype: Any = space.dtype
    return spaces.Box(lowest.astype(dtype), highest.astype(dtype), dtype=dtype)


def _products(matrix: FloatArray, bounds: FloatArray) -> FloatArray:
    """Each summand of ``matrix @ bounds``; an infinite bound that is not read adds nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(matrix) > TOLERANCE, matrix * bounds, 0.0)


def _on_actions(space: spaces.Space[Any], maps: Sequence[LinearMap]) -> Sequence[LinearMap]:
    """The maps of logits, where actions are discrete, as maps of the choices themselves."""
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return maps
    if np.any(getattr(space, "start", 0)):
        raise ValueError(f"the action space {space} does not count its choices from 0")
    sizes = [int(n) for n in np.ravel(space.n if isinstance(space, spaces.Discrete) else space.nvec)]  # type: ignore[attr-defined]
    return [ChoiceMap(map.indices, sizes) for map in maps if isinstance(map, IndexMap)]
