"""Which views of an actuator are mirror images of each other, and what of them need not be added up.

A symmetry that keeps the reference in its place makes of every view another one of the same actuator. If it
only swaps and negates the columns of a row, the sums of products of the second view are those of the first,
swapped and negated; and a column that it negates while it keeps the outcome (or keeps while it negates the
outcome) has nothing to say about the outcome: over both views their product adds up to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray, IntArray

ALIKE = 1e-9  # of the length of a column: two columns that differ by less are the same


@dataclass(frozen=True, eq=False)
class Relabelling:
    """What a row becomes: ``row[indices] * signs``.

    :param indices: (d,)
    :param signs: (d,)
    :param views: of each view, which one it becomes
    """

    indices: IntArray
    signs: FloatArray
    views: IntArray

    @property
    def idle(self) -> BoolArray:
        """Which columns have nothing to say about the last one."""
        unmoved = self.indices == np.arange(len(self.indices))
        idle: BoolArray = unmoved & (self.signs != self.signs[-1])
        return idle

    def only(self, columns: IntArray) -> Relabelling:
        """The same for rows of these columns, which it keeps among themselves."""
        return Relabelling(np.searchsorted(columns, self.indices[columns]), self.signs[columns], self.views)

    def __call__(self, sums: FloatArray) -> FloatArray:
        """Sums of products of rows, (..., d, d), of the rows that they become."""
        size = len(self.indices)
        places = (self.indices[:, None] * size + self.indices).ravel()
        moved = np.take(sums.reshape(*sums.shape[:-2], size * size), places, axis=-1)
        moved *= (self.signs[:, None] * self.signs).ravel()
        return moved.reshape(sums.shape)


def columns_that_become(before: FloatArray, after: FloatArray) -> tuple[IntArray, FloatArray] | None:
    """Indices and signs with ``after = before[:, indices] * signs``, or None if there are none.

    :param before: (T, d) rows of transitions that are as general as can be
    :param after: (T, d) the same transitions in another view
    """
    lengths = [np.linalg.norm(rows, axis=0) for rows in (before, after)]
    empty = [np.flatnonzero(length == 0) for length in lengths]
    if len(empty[0]) != len(empty[1]):
        return None
    first, second = (
        rows / np.where(length > 0, length, 1.0)
        for rows, length in zip((before, after), lengths, strict=True)
    )
    likeness = second.T @ first
    indices = np.abs(likeness).argmax(axis=1)
    signs = np.sign(likeness[np.arange(len(indices)), indices])
    indices[empty[1]], signs[empty[1]] = empty[0], 1.0
    if len(np.unique(indices)) < len(indices):
        return None
    different = np.abs(after - before[:, indices] * signs).max(axis=0)
    return (indices, signs) if (different <= ALIKE * lengths[1]).all() else None
