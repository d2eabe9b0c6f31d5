"""How far what should be equal is apart, in units of how much it varies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray
from ambidex.symmetry import DictMap, LinearMap, Symmetry

PLACED_THRESHOLD = 0.07
"""An observation whose score before any step is above this is described wrongly, or inexactly.

The true tables of both ants stay a factor of three below it, the weakest single wrong sign or index a factor
of three above; ``benchmarks/verify.py`` measures both. What the true tables have is no noise: roll, pitch and
whatever is seen in the frame of the yaw angle do not commute with a quarter turn of a tilted body.
"""

STEP_THRESHOLD = 0.04
"""What a step adds to a score is above this where an action is described wrongly or the robot is imperfect.

The true tables stay a factor of three below it, the weakest wrong action a factor of three above.
"""

DRIFT_THRESHOLD = 0.1
"""Where one step shows nothing, a median residual after the longest horizon above this is an imperfection.

A small push adds up, a slope of 5 degrees to 0.2 and more in ten steps; chaos has not grown to that yet. The
true tables of both ants stay a factor of nine below it, Gymnasium's slightly uneven humanoids of two.
"""

SMALLEST_SPREAD = 1e-9
FEWEST_SAMPLES = 4
"""An element that is zero everywhere else is judged from so many samples."""


def spread_of(*samples: FloatArray) -> FloatArray:
    """The standard deviation of each element over all samples; NaN where it does not vary."""
    rows = np.concatenate([sample.reshape(-1, sample.shape[-1]) for sample in samples])
    rows = rows[np.isfinite(rows).all(axis=1)]
    spread = rows.std(axis=0)
    return np.where(spread > SMALLEST_SPREAD * (1 + np.abs(rows).max(axis=0)), spread, np.nan)


def scores(residuals: FloatArray, spread: FloatArray) -> FloatArray:
    """For each element the mean residual over its spread, each residual counted as at most the spread.

    0 is equality, 1 is no likeness. A mean sees what a median does not, a contact that is rare and has the
    wrong sign; the limit keeps a few chaotic contacts from deciding. NaN where an element does not vary.

    :param residuals: samples x elements; rows with NaN (after an episode's end) do not count
    """
    rows = residuals[~np.isnan(residuals).any(axis=1)]
    if not len(rows):
        return np.full(len(spread), np.nan)
    means: FloatArray = np.minimum(np.abs(rows) / spread, 1.0).mean(axis=0)
    return means


def likeness(first: FloatArray, second: FloatArray, spread: FloatArray) -> FloatArray:
    """The scores of how far two observations are apart, counted where either of them is not zero.

    So the force of a contact counts where there is contact. Where that is hardly ever, all samples count.
    """
    residuals = first - second
    whole = ~np.isnan(residuals).any(axis=1)
    active = ((first != 0) | (second != 0))[whole]
    counts = active.sum(axis=0)
    limited = np.minimum(np.abs(residuals[whole]) / spread, 1.0) * active
    means = limited.sum(axis=0) / np.maximum(counts, 1)
    return np.where(counts >= FEWEST_SAMPLES, means, scores(residuals, spread))


def median_and_worst(residuals: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each element the median and the worst residual over its spread."""
    rows = np.abs(residuals[~np.isnan(residuals).any(axis=1)]) / spread
    if not len(rows):
        return np.full(len(spread), np.nan), np.full(len(spread), np.nan)
    return np.median(rows, axis=0), rows.max(axis=0)


def differs(residuals: FloatArray, spread: FloatArray) -> npt.NDArray[np.bool_]:
    """Which elements are apart in most samples, so that a few chaotic contacts are not the reason."""
    median, _ = median_and_worst(residuals, spread)
    return (scores(residuals, spread) > STEP_THRESHOLD) & (median > STEP_THRESHOLD / 4)


@dataclass(frozen=True)
class Part:
    """One table of an observation map: the whole of it, or that of one key of a Dict observation.

    :param side: what lint calls it, ``"observation"`` or ``"observation[key]"``
    :param elements: where its elements lie in the flat observation
    """

    side: str
    elements: slice
    map: LinearMap


def observation_parts(symmetry: Symmetry) -> list[Part]:
    """The tables of f, in the order of the flat observation."""
    whole = symmetry.observation_map
    if not isinstance(whole, DictMap):
        return [Part("observation", slice(0, whole.size), whole)]
    parts, start = [], 0
    for key in sorted(whole.maps):
        part = whole.maps[key]
        parts.append(Part(f"observation[{key}]", slice(start, start + part.size), part))
        start += part.size
    return parts


def apply(parts: list[Part], observations: FloatArray) -> FloatArray:
    """f of flat observations, of any leading shape."""
    return np.concatenate([part.map(observations[..., part.elements]) for part in parts], axis=-1)
