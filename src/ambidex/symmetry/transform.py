"""`Symmetry`: one transform of a robot, f on its observations and g on its actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.maps import IndexMap, LinearMap, ObservationMap

Kind = Literal["reflection", "rotation"]


class Symmetry:
    """A symmetry transform: ``f`` carries an observation, ``g`` an action, to its symmetric counterpart.

    Each acts as ``out[i] = multipliers[i] * in[indices[i]]``. Two symmetries are equal when they do the same,
    whatever their names.

    :param name: what reports and errors call it
    :param obs_indices: for each observation, the one that it is read from
    :param obs_multipliers: for each observation, what it is multiplied by
    :param act_indices: the same for actions
    :param act_multipliers: the same for actions; other values than 1 and -1 describe a robot whose
        imperfection is known
    :param kind: ``"reflection"`` or ``"rotation"``, where known; follows from ``isometry`` if that is given
    :param isometry: the 3 x 3 orthogonal matrix that moves the robot's body, where known
    """

    def __init__(
        self,
        name: str,
        *,
        obs_indices: Sequence[int] | npt.NDArray[Any],
        obs_multipliers: Sequence[float] | npt.NDArray[Any],
        act_indices: Sequence[int] | npt.NDArray[Any],
        act_multipliers: Sequence[float] | npt.NDArray[Any],
        kind: Kind | None = None,
        isometry: npt.ArrayLike | None = None,
    ) -> None:
        self._set(
            name,
            IndexMap(obs_indices, obs_multipliers, transform=name, side="observation"),
            IndexMap(act_indices, act_multipliers, transform=name, side="action"),
            kind,
            isometry,
        )

    @classmethod
    def from_maps(
        cls,
        name: str,
        observation: ObservationMap,
        action: LinearMap,
        kind: Kind | None = None,
        isometry: npt.ArrayLike | None = None,
    ) -> Symmetry:
        """A symmetry whose maps need more than indices and multipliers (matrices, Dict observations)."""
        symmetry = cls.__new__(cls)
        symmetry._set(name, observation, action, kind, isometry)
        return symmetry

    def _set(
        self,
        name: str,
        observation: ObservationMap,
        action: LinearMap,
        kind: Kind | None,
        isometry: npt.ArrayLike | None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a transform's name is a non-empty text, got {name!r}")
        self.name = name
        self.observation_map = observation
        self.action_map = action
        self.isometry: FloatArray | None = None
        if isometry is not None:
            self.isometry = _orthogonal(name, isometry)
            actual: Kind = "rotation" if np.linalg.det(self.isometry) > 0 else "reflection"
            if kind not in (None, actual):
                raise ValueError(f"transform {name!r} is declared a {kind}, but its isometry is a {actual}")
            kind = actual
        if kind not in (None, "reflection", "rotation"):
            raise ValueError(f"transform {name!r}: kind is 'reflection' or 'rotation', got {kind!r}")
        self.kind = kind

    def observation(self, observation: Any) -> Any:
        """f: the symmetric observation (numpy or torch, any leading shape)."""
        return self._apply(self.observation_map, observation, "observation")

    def action(self, action: Any) -> Any:
        """g: the symmetric action (numpy or torch, any leading shape)."""
        return self._apply(self.action_map, action, "action")

    def _apply(self, linear_map: Any, vector: Any, side: str) -> Any:
        try:
            return linear_map(vector)
        except ValueError as error:
            raise ValueError(f"transform {self.name!r}, {side}: {error}") from None

    def __matmul__(self, other: Symmetry) -> Symmetry:
        """First ``other``, then this: ``(a @ b).observation(x) == a.observation(b.observation(x))``."""
        if not isinstance(other, Symmetry):
            return NotImplemented
        kind: Kind | None = None
        if self.kind and other.kind:
            kind = "rotation" if self.kind == other.kind else "reflection"
        isometry = None
        if self.isometry is not None and other.isometry is not None:
            isometry = self.isometry @ other.isometry
        return Symmetry.from_maps(
            f"{self.name}*{other.name}",
            self.observation_map @ other.observation_map,  # type: ignore[operator]
            self.action_map @ other.action_map,
            kind,
            isometry,
        )

    def inverse(self) -> Symmetry:
        involution = self.order in (1, 2)
        return Symmetry.from_maps(
            self.name if involution else f"{self.name}^-1",
            self.observation_map.inverse(),
            self.action_map.inverse(),
            self.kind,
            None if self.isometry is None else self.isometry.T,
        )

    def renamed(self, name: str) -> Symmetry:
        return Symmetry.from_maps(name, self.observation_map, self.action_map, self.kind, self.isometry)

    @property
    def order(self) -> int | None:
        """How often the transform must be applied to give the identity; None if it never does."""
        orders = self.observation_map.order, self.action_map.order
        return None if None in orders else math.lcm(*(n for n in orders if n is not None))

    @property
    def is_identity(self) -> bool:
        return self.observation_map.is_identity and self.action_map.is_identity

    @property
    def key(self) -> tuple[Any, ...]:
        """Hashable, equal for transforms that do the same."""
        return (self.observation_map.key, self.action_map.key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Symmetry):
            return NotImplemented
        return self.observation_map == other.observation_map and self.action_map == other.action_map

    def __hash__(self) -> int:
        return hash((self.observation_map, self.action_map))

    def __repr__(self) -> str:
        kind = f" ({self.kind})" if self.kind else ""
        return (
            f"<Symmetry {self.name!r}{kind}: order {self.order or 'infinite'}, "
            f"observation {self.observation_map!r}, action {self.action_map!r}>"
        )


def _orthogonal(name: str, isometry: npt.ArrayLike) -> FloatArray:
    matrix = np.array(isometry, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9):
        raise ValueError(f"transform {name!r}: an isometry is a 3 x 3 orthogonal matrix")
    matrix.flags.writeable = False
    return matrix
