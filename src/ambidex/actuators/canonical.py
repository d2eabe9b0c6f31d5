"""The linear problem behind `calibrate`: scales and offsets under which actuators obey their ideal symmetry.

Actuator i has a scale s and an offset o: its command is ``a_i = o_i + s_i c_i``, and the canonical commands
obey the given symmetry exactly, ``c' = S_j c``. With ``p = 1/s`` and ``q = -o/s`` each action element of each
transform is one relation, linear and homogeneous in the unknowns: ``p_i a'_i + q_i = S (p_k a_k + q_k)``.
Here those relations, the sums of products that they need, and the solution for one orbit of actuators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.symmetry import IndexMap, SymmetryGroup

Noise = Literal["any", "proportional"]
RANK_ONE_STEPS = 200
SUMS = ("w", "y", "x", "yy", "xx", "yx")  # the rows of the array of sums


@dataclass(frozen=True)
class ElementRelations:
    """Every action element of every transform: ``a'[target]`` answers ``multiplier * a[source]``.

    They are numbered transform by transform, so that an array over them reshapes to (transforms, n).
    """

    names: tuple[str, ...]
    size: int
    target: IntArray
    source: IntArray
    multiplier: FloatArray

    @classmethod
    def of(cls, group: SymmetryGroup) -> ElementRelations:
        maps = []
        for symmetry in group:
            if not isinstance(symmetry.action_map, IndexMap):
                raise ValueError(
                    f"transform {symmetry.name!r} mixes actuators (its action map is a matrix); "
                    "actuators can be compared only where each action is read from one other action"
                )
            maps.append(symmetry.action_map)
        return cls(
            names=group.names,
            size=group.action_size,
            target=np.tile(np.arange(group.action_size), len(maps)),
            source=np.concatenate([part.indices for part in maps]),
            multiplier=np.concatenate([part.multipliers for part in maps]),
        )

    def orbits(self, used: BoolArray) -> list[IntArray]:
        """The actuators that the ``used`` relations carry into each other, as sorted groups."""
        label = np.arange(self.size)
        while True:
            joined = label.copy()
            np.minimum.at(joined, self.target[used], label[self.source[used]])
            np.minimum.at(joined, self.source[used], label[self.target[used]])
            if (joined == label).all():
                return [np.flatnonzero(label == first) for first in np.unique(label)]
            label = joined


@dataclass(frozen=True)
class OrbitProblem:
    """The actuators of one orbit and the relations between them."""

    relations: ElementRelations
    members: IntArray
    used: BoolArray

    @cached_property
    def inside(self) -> IntArray:
        """The numbers of the orbit's relations."""
        return np.flatnonzero(self.used & np.isin(self.relations.target, self.members))

    @cached_property
    def shift_direction(self) -> FloatArray | None:
        """The canonical commands that every relation keeps, ``h_i = S h_k``; None if only zero does.

        Along it the offsets have a gauge freedom: moving them all together changes no action map.
        """
        target, source = self._picking
        eigenvalues, vectors = np.linalg.eigh((target - source).T @ (target - source))
        return vectors[:, 0] if eigenvalues[0] < 1e-9 else None

    @cached_property
    def _picking(self) -> tuple[FloatArray, FloatArray]:
        """(relations, members) each: picks the target's unknown, and S times the source's."""
        of_target = self.relations.target[self.inside, None] == self.members
        of_source = self.relations.source[self.inside, None] == self.members
        return of_target.astype(np.float64), of_source * self.relations.multiplier[self.inside, None]

    @cached_property
    def is_determined_by_covariances(self) -> bool:
        """Whether the covariances of the relations alone fix the scales, whatever the noise.

        They do when each actuator is reached from another one by way of relations that share a source or a
        target; two actuators that only mirror each other are not.
        """
        target, source = (np.abs(picked) for picked in self._picking)
        shares_source = (target.T @ source) @ (target.T @ source).T > 0
        reached = np.linalg.matrix_power(shares_source.astype(np.int64), len(self.members))
        return bool((reached > 0).all())

    def solve(
        self, sums: FloatArray, *, offsets: bool, noise: Noise
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The p and q that obey the relations best, and the eigenvalues of the p-block in rising order.

        The eigenvalues measure disobedience in units of the actuators' variances: 0 where the relations hold
        exactly, 1 where the commands of the actuators are unrelated.

        :param sums: (..., 6, relations), the rows of `SUMS`; leading axes are independent problems
        :param offsets: whether q is free; otherwise all offsets are 0
        :param noise: ``"proportional"`` takes the smallest generalised eigenvector of the p-block against the
            actuators' variances; ``"any"`` prefers the covariances where they determine the scales
        """
        target, source = self._picking
        w, y, x, yy, xx, yx = np.moveaxis(sums[..., self.inside], -2, 0)

        def form(left: FloatArray, weight: FloatArray, right: FloatArray) -> FloatArray:
            product: FloatArray = (left.T * weight[..., None, :]) @ right
            return product

        cross = form(target, yx, source)
        disobedience = form(target, yy, target) + form(source, xx, source) - cross - _transposed(cross)
        if offsets:
            of_targets, of_sources = form(target - source, y, target), form(source - target, x, source)
            among_offsets = form(target - source, w, target - source)
            # A gauge freedom of the offsets makes this block singular.
            eliminate = np.linalg.pinv(among_offsets, rcond=1e-9, hermitian=True) @ (of_targets + of_sources)
            disobedience = disobedience - _transposed(of_targets + of_sources) @ eliminate
            counted = np.maximum(w, np.finfo(float).tiny)
            yy, xx, yx = yy - y * y / counted, xx - x * x / counted, yx - y * x / counted
        variance = yy @ target**2 + xx @ source**2
        unit = 1.0 / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        eigenvalues, vectors = np.linalg.eigh(unit[..., :, None] * disobedience * unit[..., None, :])
        p = unit * vectors[..., :, 0]
        p *= np.where(p.sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        if noise == "any" and self.is_determined_by_covariances:
            covariance = form(target, yx / np.maximum(w, np.finfo(float).tiny), source)
            counts = target.T @ source**2
            p = unit / _rank_one(covariance * unit[..., :, None] * unit[..., None, :], counts, unit / p)
        q = -(eliminate @ p[..., None])[..., 0] if offsets else np.zeros_like(p)
        return p, q, eigenvalues


def _transposed(matrix: FloatArray) -> FloatArray:
    return np.swapaxes(matrix, -1, -2)


def _rank_one(sums: FloatArray, counts: FloatArray, start: FloatArray) -> FloatArray:
    """The column u of the best ``sums = counts * u v`` by alternating least squares, of geometric mean 1.

    The covariance of a target and its source is ``s_i (s_k V_k)`` with V_k the variance of the canonical
    command. Independent noise, however large on either side, adds nothing to it.

    :param sums: (..., m, m) sums of covariances between target (row) and source (column)
    :param counts: (m, m) how many covariances each sum has
    :param start: (..., m) where to begin
    """
    u = start
    for _ in range(RANK_ONE_STEPS):
        v = (sums * u[..., :, None]).sum(axis=-2) / (u**2 @ counts)
        following = (sums * v[..., None, :]).sum(axis=-1) / (v**2 @ counts.T)
        sizes = np.maximum(np.abs(following), np.finfo(float).tiny)
        following = following / np.exp(np.log(sizes).mean(axis=-1, keepdims=True))
        settled = np.abs(following - u).max() < 1e-10
        u = following
        if settled:
            break
    return u


def relation_sums(y: FloatArray, x: FloatArray, weights: FloatArray, starts: IntArray) -> FloatArray:
    """The sums of `SUMS` over blocks of consecutive states: (blocks, 6, relations).

    :param y: (T, relations), the targets' means at the symmetric states
    :param x: (T, relations), the sources' means
    :param weights: (T, relations)
    :param starts: the first state of each block
    """
    wy, wx = weights * y, weights * x
    products = (weights, wy, wx, wy * y, wx * x, wy * x)
    return np.stack([np.add.reduceat(product, starts, axis=0) for product in products], axis=1)
