"""`ActionMap`: a transform's current estimator g-hat, and how far each element of it is trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ambidex.symmetry import IndexMap, Symmetry


@dataclass(frozen=True, eq=False)
class ActionMap:
    """``g-hat(a) = multipliers * a[indices] + biases``, each of n elements.

    :param indices: where each action element comes from
    :param multipliers: what it is multiplied by
    :param biases: what is added
    :param weights: w_G, from 0 to 1, how far the element's fit is trusted
    """

    indices: npt.NDArray[np.int64]
    multipliers: npt.NDArray[np.float64]
    biases: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]

    @classmethod
    def given(cls, symmetry: Symmetry) -> ActionMap:
        """The transform as it was described: no bias, full trust."""
        table = symmetry.action_map
        if not isinstance(table, IndexMap):
            raise ValueError(
                f"transform {symmetry.name!r} mixes actions by a matrix; an action map is a table of indices "
                "and multipliers"
            )
        return cls(table.indices, table.multipliers, np.zeros(table.size), np.ones(table.size))

    def __call__(self, action: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        return self.multipliers * action[..., self.indices] + self.biases

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The matrix that does the same as the indices and multipliers, the biases apart."""
        size = len(self.indices)
        dense = np.zeros((size, size))
        dense[np.arange(size), self.indices] = self.multipliers
        return dense
