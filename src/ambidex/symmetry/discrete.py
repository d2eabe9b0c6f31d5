"""Symmetries of discrete actions: a map of logits that also maps the choices themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.symmetry.maps import IndexMap, LinearMap, is_torch


class ChoiceMap(IndexMap):
    """A permutation of the choices of a Discrete or MultiDiscrete action space.

    Floating-point numbers (logits, probabilities) are gathered along the last axis, as by any `IndexMap`.
    Integers are choices and become the symmetric choices: of any shape where there is one decision
    (Discrete), one for each decision along the last axis where there are several (MultiDiscrete).

    :param indices: for each choice, the one whose logit it takes; numbered on from decision to decision
    :param sizes: the number of choices of each decision
    """

    def __init__(
        self,
        indices: Sequence[int] | npt.NDArray[Any],
        sizes: Sequence[int],
        *,
        transform: str = "unnamed",
        side: str = "vector",
    ) -> None:
        super().__init__(indices, np.ones(len(indices)), transform=transform, side=side)
        self.sizes = tuple(int(size) for size in sizes)
        where = f"transform {transform!r}, {side}"
        if not self.sizes or min(self.sizes) < 1 or sum(self.sizes) != self.size:
            raise ValueError(f"{where}: choices of sizes {list(self.sizes)} do not make {self.size} indices")
        self._starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self._inverse = np.argsort(self.indices)
        self._factors = np.zeros(len(self.sizes), dtype=np.int64)  # where each decision is read from
        for factor, start in enumerate(self._starts):
            sources = self.indices[start : start + self.sizes[factor]]
            source = int(np.searchsorted(self._starts, sources[0], side="right")) - 1
            first, size = self._starts[source], self.sizes[source]
            if size != self.sizes[factor] or ((sources < first) | (sources >= first + size)).any():
                raise ValueError(
                    f"{where}: the choices {start} to {start + self.sizes[factor] - 1} belong to one "
                    "decision and must go together to one decision with as many choices"
                )
            self._factors[factor] = source

    def __call__(self, vector: Any) -> Any:
        if is_torch(vector):
            if vector.is_floating_point():
                return super().__call__(vector)
            import torch

            return torch.from_numpy(self._choose(vector.cpu().numpy())).to(vector.device, vector.dtype)
        array = np.asarray(vector)
        if np.issubdtype(array.dtype, np.floating):
            return super().__call__(array)
        return self._choose(array).astype(array.dtype)

    def _choose(self, choices: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if len(self.sizes) > 1 and (choices.ndim == 0 or choices.shape[-1] != len(self.sizes)):
            raise ValueError(f"expected {len(self.sizes)} choices, got shape {choices.shape}")
        limits = np.array(self.sizes if len(self.sizes) > 1 else self.sizes[0])
        if ((choices < 0) | (choices >= limits)).any():
            raise ValueError(f"choices go from 0 to {(limits - 1).tolist()}, got {choices.tolist()}")
        if len(self.sizes) == 1:
            return np.asarray(self._inverse[choices])
        moved = choices[..., self._factors] + self._starts[self._factors]
        return np.asarray(self._inverse[moved] - self._starts)

    def __matmul__(self, other: LinearMap) -> LinearMap:
        product = super().__matmul__(other)
        if isinstance(other, ChoiceMap) and isinstance(product, IndexMap):
            return ChoiceMap(product.indices, self.sizes)
        return product

    def inverse(self) -> ChoiceMap:
        return ChoiceMap(self._inverse, self.sizes)

    def __repr__(self) -> str:
        return f"ChoiceMap({self.indices.tolist()}, sizes={list(self.sizes)})"
