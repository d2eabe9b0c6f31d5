"""The gait in a log: how far each joint moves beside its counterpart, and whether it does so in step."""

from __future__ import annotations

import numpy as np

from ambidex.common.arrays import FloatArray

REPEATS = 0.75  # a motion repeats itself where its correlation with itself reaches this
LONGEST = 4000  # rows of an episode that are looked at


def symmetry_index(motion: FloatArray, image: FloatArray) -> FloatArray:
    """(joints,) ``2 (X - X') / (X + X')`` of the excursions (standard deviations) of each joint and of what
    its counterpart makes of it: 0 for the same, 2 where only this one moves.

    :param motion: (rows, joints)
    :param image: (rows, joints) what a transform makes of it
    """
    excursion, partner = motion.std(axis=0), image.std(axis=0)
    index: FloatArray = 2 * (excursion - partner) / np.maximum(excursion + partner, 1e-9)
    return index


def period_of(motion: FloatArray) -> int | None:
    """After how many rows the motion of all joints together repeats itself; None where it does not.

    :param motion: (rows, joints) of one episode
    """
    motion = motion[:LONGEST]
    variance = float(motion.var(axis=0).sum())
    if variance < 1e-12:
        return None
    correlation = np.array(
        [
            1 - _square_distance(motion[lag:], motion[:-lag]) / (2 * variance)
            for lag in range(1, len(motion) // 2)
        ]
    )
    left = np.flatnonzero(correlation < 0.5)
    if not len(left):
        return None
    after = correlation.copy()
    after[: left[0]] = -1
    if after.max() < REPEATS:
        return None
    # The first peak that is nearly as high as the highest: a multiple of the period repeats as well.
    peaks = np.flatnonzero(
        (after[1:-1] >= after[:-2]) & (after[1:-1] >= after[2:]) & (after[1:-1] > 0.95 * after.max())
    )
    return int(peaks[0]) + 2 if len(peaks) else int(after.argmax()) + 1


def delay_of(motion: FloatArray, image: FloatArray, period: int) -> int:
    """After how many rows of a period, in the mean over all joints, the motion is most like its image."""
    motion, image = motion[:LONGEST], image[:LONGEST]
    distances = [_square_distance(motion[lag:], image[: len(image) - lag]) for lag in range(period)]
    return int(np.argmin(distances))


def out_of_step(motion: FloatArray, image: FloatArray, delay: int) -> FloatArray:
    """(joints,) the mean distance of each joint from its image, which it follows by the delay."""
    motion, image = motion[:LONGEST], image[:LONGEST]
    distance: FloatArray = np.abs(motion[delay:] - image[: len(image) - delay]).mean(axis=0)
    return distance


def _square_distance(first: FloatArray, second: FloatArray) -> float:
    return float(np.square(first - second).mean(axis=0).sum())
