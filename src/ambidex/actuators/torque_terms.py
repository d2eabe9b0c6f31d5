"""The terms by which a joint answers a torque, and how each of them changes with the gain of its actuator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ambidex.common.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TorqueTerms:
    """What a torque c does: by every feature ``c`` and ``|c|``, then ``c^2``, ``c |c|`` and ``c^3``.

    The even ones, ``|c|`` and ``c^2``, tell a push from a pull: a joint at its stop and a leg on the ground
    give way to one side only.

    :param features: how many there are
    """

    features: int

    @property
    def degrees(self) -> IntArray:
        return np.array([1] * 2 * self.features + [2, 2, 3])

    @property
    def even(self) -> BoolArray:
        """Which terms are the same for c and -c."""
        return np.array([False] * self.features + [True] * self.features + [True, False, False])

    def __len__(self) -> int:
        return 2 * self.features + 3

    def powers(self, gains: FloatArray) -> FloatArray:
        """What multiplies each term where the torque is gain times c: (..., terms)."""
        sign, size = np.sign(gains)[..., None], np.abs(gains)[..., None]
        powers: FloatArray = np.where(self.even, 1.0, sign) * size**self.degrees
        return powers

    def slopes(self, gains: FloatArray) -> FloatArray:
        """The derivatives of `powers`."""
        sign, size = np.sign(gains)[..., None], np.abs(gains)[..., None]
        slopes: FloatArray = np.where(self.even, sign, 1.0) * self.degrees * size ** (self.degrees - 1)
        return slopes

    def of(self, features: FloatArray, commands: FloatArray) -> FloatArray:
        """All terms of some commands: (T, features) and (T,) to (T, terms)."""
        command = commands[:, None]
        return _terms(features, command, np.abs(command), command * np.abs(command))

    def expected(self, features: FloatArray, means: FloatArray, deviation: float) -> FloatArray:
        """What `of` is to be expected of Gaussian commands, up to what the lower terms hold anyway."""
        if deviation == 0:
            return self.of(features, means)
        mean = means[:, None]
        standardised = mean / deviation
        share = 2 * ndtr(standardised) - 1
        density = np.exp(-0.5 * standardised**2) / np.sqrt(2 * np.pi)
        size = mean * share + 2 * deviation * density
        signed_square = (mean**2 + deviation**2) * share + 2 * mean * deviation * density
        return _terms(features, mean, size, signed_square)


def _terms(
    features: FloatArray, command: FloatArray, size: FloatArray, signed_square: FloatArray
) -> FloatArray:
    return np.concatenate(
        [features * command, features * size, command**2, signed_square, command**3], axis=1
    )
