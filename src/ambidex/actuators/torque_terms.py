"""The terms by which a joint answers a torque, and how each of them changes with the gain of its actuator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from ambidex.common.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TorqueTerms:
    """What a torque c does: by every feature ``c`` and ``|c|``, then ``c^2``, ``c |c|`` and ``c^3``.

    The even ones, ``|c|`` and ``c^2``, tell a push from a pull: a joint at its stop and a leg on the ground
    give way to one side only.

    :param features: how many there are
    :param kept: the numbers of the terms that are used; None are all
    """

    features: int
    kept: tuple[int, ...] | None = None

    @cached_property
    def degrees(self) -> IntArray:
        return np.array([1] * 2 * self.features + [2, 2, 3])[self._kept]

    @cached_property
    def even(self) -> BoolArray:
        """Which terms are the same for c and -c."""
        even = np.array([False] * self.features + [True] * self.features + [True, False, False])
        return even[self._kept]

    @cached_property
    def _kept(self) -> IntArray:
        return np.arange(2 * self.features + 3) if self.kept is None else np.array(self.kept)

    @cached_property
    def _parts(self) -> tuple[IntArray, IntArray, IntArray]:
        """The features that are used with c, with |c|, and which of the last three terms."""
        ends = np.searchsorted(self._kept, [self.features, 2 * self.features])
        by_command, by_size, last = np.split(self._kept, ends)
        return by_command, by_size - self.features, last - 2 * self.features

    def __len__(self) -> int:
        return len(self._kept)

    def powers(self, gains: FloatArray) -> FloatArray:
        """What multiplies each term where the torque is gain times c: (..., terms)."""
        size = np.abs(gains)
        powers = np.stack([size, size**2, size**3], axis=-1)[..., self.degrees - 1]
        return np.where(self.even, powers, np.sign(gains)[..., None] * powers)

    def slopes(self, gains: FloatArray) -> FloatArray:
        """The derivatives of `powers`."""
        size = np.abs(gains)
        slopes = np.stack([np.ones_like(size), 2 * size, 3 * size**2], axis=-1)[..., self.degrees - 1]
        return np.where(self.even, np.sign(gains)[..., None] * slopes, slopes)

    def of(self, features: FloatArray, commands: FloatArray) -> FloatArray:
        """All terms of some commands: (T, features) and (T,) to (T, terms)."""
        size = np.abs(commands)
        return self._terms(features, commands, size, commands * size)

    def expected(self, features: FloatArray, means: FloatArray, deviation: float) -> FloatArray:
        """What `of` is to be expected of Gaussian commands, up to what the lower terms hold anyway."""
        if deviation == 0:
            return self.of(features, means)
        standardised = means / deviation
        share = 2 * ndtr(standardised) - 1
        density = np.exp(-0.5 * standardised**2) / np.sqrt(2 * np.pi)
        size = means * share + 2 * deviation * density
        signed_square = (means**2 + deviation**2) * share + 2 * means * deviation * density
        return self._terms(features, means, size, signed_square)

    def _terms(
        self, features: FloatArray, command: FloatArray, size: FloatArray, signed_square: FloatArray
    ) -> FloatArray:
        by_command, by_size, last = self._parts
        powers = np.stack([command**2, signed_square, command**3])
        # A term is a contiguous array of its own: most of the work of a fit is to fill them.
        parts = [features.T[by_command] * command, features.T[by_size] * size, powers[last]]
        return np.concatenate(parts).T
