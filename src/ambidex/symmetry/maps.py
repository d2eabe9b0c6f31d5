"""Linear maps of vectors, the one primitive of a symmetry: gather, then multiply.

`IndexMap` carries ``x`` to ``multipliers * x[indices]``. `MatrixMap` is for what an index and a sign cannot
say: a quaternion, or a vector turned by 120 degrees. `DictMap` is one map per key of a Dict observation.
All of them act on numpy arrays and torch tensors of any leading shape, and compose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray, IntArray
from ambidex.symmetry.findings import table_findings

TOLERANCE = 1e-9  # two maps whose numbers agree to this, relative to 1, are the same map
LARGEST_ORDER = 1024


def is_torch(vector: Any) -> bool:
    """Whether ``vector`` is a torch tensor, without importing torch."""
    return type(vector).__module__.partition(".")[0] == "torch"


def _float_type(tensor: Any) -> Any:
    """The type of a map's numbers for this tensor: its own, or torch's default for integers."""
    import torch

    return tensor.dtype if tensor.is_floating_point() else torch.get_default_dtype()


class LinearMap:
    """A map of vectors of one size, applied along the last axis. See `IndexMap` and `MatrixMap`."""

    size: int

    def __call__(self, vector: Any) -> Any:
        raise TypeError("use IndexMap or MatrixMap")

    @property
    def matrix(self) -> FloatArray:
        raise TypeError("use IndexMap or MatrixMap")

    @property
    def order(self) -> int | None:
        """How often the map must be applied to give the identity; None if it never does."""
        power: LinearMap = self
        for n in range(1, LARGEST_ORDER + 1):
            if power.is_identity:
                return n
            power = power @ self
        return None

    @property
    def is_identity(self) -> bool:
        return bool(np.allclose(self.matrix, np.eye(self.size), rtol=0, atol=TOLERANCE))

    @property
    def key(self) -> tuple[Any, ...]:
        """Hashable, equal for equal maps."""
        return (self.size, (np.round(self.matrix, 6) + 0.0).tobytes())

    def __matmul__(self, other: LinearMap) -> LinearMap:
        """``(a @ b)(x) == a(b(x))``."""
        if not isinstance(other, LinearMap):
            return NotImplemented
        return as_simple_as_possible(self.matrix @ other.matrix)

    def inverse(self) -> LinearMap:
        return as_simple_as_possible(np.asarray(np.linalg.inv(self.matrix), dtype=np.float64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearMap):
            return NotImplemented
        return self.size == other.size and bool(
            np.allclose(self.matrix, other.matrix, rtol=TOLERANCE, atol=TOLERANCE)
        )

    def __hash__(self) -> int:
        return hash(self.size)

    def _check_width(self, vector: Any) -> None:
        if vector.ndim == 0 or vector.shape[-1] != self.size:
            raise ValueError(f"expected vectors of {self.size} elements, got shape {tuple(vector.shape)}")


class IndexMap(LinearMap):
    """``out[i] = multipliers[i] * in[indices[i]]``.

    :param indices: where each element comes from, a permutation of 0 ... n-1
    :param multipliers: what it is multiplied by: 1, -1, or the known ratio of an imperfect actuator
    """

    def __init__(
        self,
        indices: Sequence[int] | npt.NDArray[Any],
        multipliers: Sequence[float] | npt.NDArray[Any],
        *,
        transform: str = "unnamed",
        side: str = "vector",
    ) -> None:
        findings = table_findings(transform, side, indices, multipliers)
        if findings:
            raise ValueError("\n".join(map(str, findings)))
        self._set(np.array(indices, dtype=np.int64), np.array(multipliers, dtype=np.float64))

    def _set(self, indices: IntArray, multipliers: FloatArray) -> None:
        self.indices, self.multipliers = indices, multipliers
        self.indices.flags.writeable = False
        self.multipliers.flags.writeable = False
        self.size = len(self.indices)
        self._tensors: dict[Any, Any] = {}

    @classmethod
    def _trusted(cls, indices: IntArray, multipliers: FloatArray) -> IndexMap:
        """A map made of checked ones, which needs no check of its own."""
        made = cls.__new__(cls)
        made._set(indices, multipliers)
        return made

    @classmethod
    def identity(cls, size: int) -> IndexMap:
        return cls._trusted(np.arange(size), np.ones(size))

    def __call__(self, vector: Any) -> Any:
        self._check_width(vector)
        if is_torch(vector):
            indices, multipliers = self._tensors_like(vector)
            return vector.index_select(-1, indices) * multipliers
        dtype = vector.dtype if np.issubdtype(vector.dtype, np.floating) else np.float64
        return vector[..., self.indices] * self.multipliers.astype(dtype)

    def _tensors_like(self, tensor: Any) -> tuple[Any, Any]:
        place = (tensor.device, tensor.dtype)
        if place not in self._tensors:
            import torch

            with torch.inference_mode(False):  # what is kept must serve training too
                self._tensors[place] = (
                    torch.tensor(self.indices, device=tensor.device),
                    torch.tensor(self.multipliers, device=tensor.device, dtype=_float_type(tensor)),
                )
        return self._tensors[place]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tensors": {}}

    @cached_property
    def matrix(self) -> FloatArray:
        dense = np.zeros((self.size, self.size))
        dense[np.arange(self.size), self.indices] = self.multipliers
        return dense

    @property
    def order(self) -> int | None:
        # Once around a cycle of length L multiplies by the product P of its multipliers.
        order = 1
        for cycle in self.cycles():
            product = float(np.prod(self.multipliers[cycle]))
            if abs(abs(product) - 1) > TOLERANCE * len(cycle):
                return None
            order = math.lcm(order, len(cycle) if product > 0 else 2 * len(cycle))
        return order

    def cycles(self) -> list[list[int]]:
        """The elements that map to each other, in the order in which they are read."""
        left = set(range(self.size))
        cycles = []
        while left:
            cycle = [min(left)]
            while (following := int(self.indices[cycle[-1]])) != cycle[0]:
                cycle.append(following)
            left -= set(cycle)
            cycles.append(cycle)
        return cycles

    @property
    def is_identity(self) -> bool:
        return bool(
            (self.indices == np.arange(self.size)).all() and (np.abs(self.multipliers - 1) <= TOLERANCE).all()
        )

    @property
    def is_signed_permutation(self) -> bool:
        """Whether every multiplier is 1 or -1."""
        return bool(np.allclose(np.abs(self.multipliers), 1, rtol=0, atol=TOLERANCE))

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.size, self.indices.tobytes(), (np.round(self.multipliers, 6) + 0.0).tobytes())

    def __matmul__(self, other: LinearMap) -> LinearMap:
        if not isinstance(other, IndexMap):
            return super().__matmul__(other)
        if other.size != self.size:
            raise ValueError(f"cannot compose maps of {self.size} and {other.size} elements")
        return self._trusted(other.indices[self.indices], self.multipliers * other.multipliers[self.indices])

    def inverse(self) -> IndexMap:
        indices = np.argsort(self.indices)
        return self._trusted(indices, 1.0 / self.multipliers[indices])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexMap):
            return super().__eq__(other)
        return bool(
            self.size == other.size
            and (self.indices == other.indices).all()
            and np.allclose(self.multipliers, other.multipliers, rtol=TOLERANCE, atol=TOLERANCE)
        )

    __hash__ = LinearMap.__hash__

    def __repr__(self) -> str:
        return f"IndexMap([{', '.join(map(signed_index, self.multipliers, self.indices))}])"


class MatrixMap(LinearMap):
    """``out = matrix @ in``, for what an index and a multiplier cannot say."""

    def __init__(self, matrix: npt.ArrayLike, *, transform: str = "unnamed", side: str = "vector") -> None:
        dense = np.array(matrix, dtype=np.float64)
        where = f"transform {transform!r}, {side}"
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not dense.size:
            raise ValueError(f"{where}: a matrix map is square, got shape {dense.shape}")
        if not np.isfinite(dense).all():
            raise ValueError(f"{where}: the matrix has elements that are not finite")
        if np.linalg.matrix_rank(dense) < len(dense):
            raise ValueError(f"{where}: the matrix has no inverse, so it is no symmetry")
        dense.flags.writeable = False
        self._matrix: FloatArray = dense
        self._tensors: dict[Any, Any] = {}
        self.size = len(dense)

    @property
    def matrix(self) -> FloatArray:
        return self._matrix

    def __call__(self, vector: Any) -> Any:
        self._check_width(vector)
        if is_torch(vector):
            matrix = self._tensor_like(vector)
            return vector.to(matrix.dtype) @ matrix
        dtype = vector.dtype if np.issubdtype(vector.dtype, np.floating) else np.float64
        return vector @ self._matrix.T.astype(dtype)

    def _tensor_like(self, tensor: Any) -> Any:
        place = (tensor.device, _float_type(tensor))
        if place not in self._tensors:
            import torch

            with torch.inference_mode(False):  # what is kept must serve training too
                self._tensors[place] = torch.tensor(self._matrix.T, device=place[0], dtype=place[1])
        return self._tensors[place]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tensors": {}}

    def __repr__(self) -> str:
        return f"MatrixMap({self.size} x {self.size})"


class DictMap:
    """One map per key of a Dict observation; a key without a map would be a guess, so none may be missing."""

    def __init__(self, maps: Mapping[str, LinearMap]) -> None:
        if not maps:
            raise ValueError("a Dict observation needs at least one key")
        self.maps = dict(maps)

    @property
    def size(self) -> dict[str, int]:
        return {key: part.size for key, part in self.maps.items()}

    def __call__(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        if set(observation) != set(self.maps):
            raise ValueError(f"expected the keys {sorted(self.maps)}, got {sorted(observation)}")
        return {key: part(observation[key]) for key, part in self.maps.items()}

    @property
    def order(self) -> int | None:
        orders = [part.order for part in self.maps.values()]
        return None if None in orders else math.lcm(*(n for n in orders if n is not None))

    @property
    def is_identity(self) -> bool:
        return all(part.is_identity for part in self.maps.values())

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple((key, self.maps[key].key) for key in sorted(self.maps))

    def __matmul__(self, other: DictMap) -> DictMap:
        if not isinstance(other, DictMap) or set(other.maps) != set(self.maps):
            raise ValueError("only maps of the same Dict keys compose")
        return DictMap({key: part @ other.maps[key] for key, part in self.maps.items()})

    def inverse(self) -> DictMap:
        return DictMap({key: part.inverse() for key, part in self.maps.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictMap) and self.maps == other.maps

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.maps)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.maps)

    def __getitem__(self, key: str) -> LinearMap:
        return self.maps[key]

    def __repr__(self) -> str:
        return f"DictMap({self.maps!r})"


ObservationMap = LinearMap | DictMap


def block_diagonal(parts: Sequence[LinearMap]) -> FloatArray:
    """The matrix on one vector in which those that the parts act on follow each other."""
    size = sum(part.size for part in parts)
    whole, start = np.zeros((size, size)), 0
    for part in parts:
        whole[start : start + part.size, start : start + part.size] = part.matrix
        start += part.size
    return whole


def as_simple_as_possible(matrix: FloatArray) -> LinearMap:
    """An `IndexMap` where each row reads one element only, otherwise a `MatrixMap`."""
    used = np.abs(matrix) > TOLERANCE
    if (used.sum(axis=1) == 1).all() and (used.sum(axis=0) == 1).all():
        indices = used.argmax(axis=1)
        multipliers = matrix[np.arange(len(matrix)), indices]
        whole = np.round(multipliers)
        exact = np.where(np.abs(multipliers - whole) < TOLERANCE, whole, multipliers)
        return IndexMap(indices, exact)
    return MatrixMap(matrix)


def signed_index(multiplier: float, index: int) -> str:
    """``+3``, ``-3`` or ``2.5*3``: what an element of an index map reads."""
    if abs(multiplier) == 1:
        return f"{'+' if multiplier > 0 else '-'}{index}"
    return f"{multiplier:g}*{index}"
