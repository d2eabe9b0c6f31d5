"""The paper's statistics of a curve, and the field's of a set of scores; pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray

WINDOW = 5
FEW_POINTS = 2 * WINDOW
"""Of a curve with fewer, a window is most of it, and says little about when and where it was highest."""
RESAMPLES = 2000
CONFIDENCE = 0.95
_PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Window:
    """Consecutive points of a curve: their mean, population standard deviation and midpoint."""

    mean: float
    deviation: float
    step: float


@dataclass(frozen=True)
class Estimate:
    """An estimate with its confidence interval; none where a single score leaves nothing to resample."""

    value: float
    low: float | None = None
    high: float | None = None


def best_window(steps: npt.ArrayLike, values: npt.ArrayLike) -> Window:
    """The window with the highest mean, the first of equals (tab:stats_A1, Maximum Return).

    A curve shorter than the window is one window.
    """
    x, y = _curve(steps, values)
    return _window(x, y, best_place(y))


def best_place(values: npt.ArrayLike) -> slice:
    """Where the window with the highest mean lies, the first of equals."""
    y = np.asarray(values, dtype=np.float64)
    width = min(WINDOW, len(y))
    start = int(np.argmax(np.lib.stride_tricks.sliding_window_view(y, width).mean(axis=1)))
    return slice(start, start + width)


def passed_at(steps: npt.ArrayLike, values: npt.ArrayLike, level: float) -> float | None:
    """The step at which a window first has a mean above this level; None if none has."""
    x, y = _curve(steps, values)
    width = min(WINDOW, len(y))
    above = np.flatnonzero(np.lib.stride_tricks.sliding_window_view(y, width).mean(axis=1) > level)
    return float(x[above[0] + width - 1]) if above.size else None


def last_window(steps: npt.ArrayLike, values: npt.ArrayLike) -> Window:
    """The window at the end of the curve (tab:stats_A1, Value Distance, last 5pt window)."""
    x, y = _curve(steps, values)
    return _window(x, y, slice(-WINDOW, None))


def first_step_within(steps: npt.ArrayLike, values: npt.ArrayLike, maximum: float) -> float | None:
    """The first step whose value is at most a tenth of the maximum below it, or None.

    For a positive maximum mu this is the paper's "return >= 0.9 mu"; a negative one would be out of reach
    under that wording, so the margin is taken from its absolute value.
    """
    x, y = _curve(steps, values)
    reached = np.flatnonzero(y >= maximum - 0.1 * abs(maximum))
    return float(x[reached[0]]) if reached.size else None


def interquartile_mean(scores: npt.ArrayLike) -> FloatArray:
    """The mean of the scores (the last axis) without the lowest and the highest quarter, rounded down."""
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    count = ordered.shape[-1]
    cut = count // 4
    return np.asarray(ordered[..., cut : count - cut].mean(axis=-1))


def probability_of_improvement(scores: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """How often a score drawn from the first set beats one from the second; a tie counts half."""
    return float(_wins(np.asarray(scores, float)[None], np.asarray(baseline, float)[None])[0])


def interquartile_mean_interval(
    strata: Sequence[npt.ArrayLike],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The interquartile mean of all scores, with a bootstrap that resamples within each stratum.

    :param strata: the seeds' scores, one array per scenario
    """
    arrays = [np.asarray(scores, dtype=np.float64) for scores in strata]
    estimate = float(interquartile_mean(np.concatenate(arrays)))
    if min(map(len, arrays)) < 2:
        return Estimate(estimate)
    drawn = [_resample(scores, generator, resamples) for scores in arrays]
    low, high = _percentiles(interquartile_mean(np.concatenate(drawn, axis=1)), confidence)
    return Estimate(estimate, float(low), float(high))


def improvement_interval(
    strata: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The probability of improvement, the mean over the scenarios, with a stratified bootstrap.

    :param strata: per scenario, the seeds' scores and the baseline's
    """
    pairs = [(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)) for a, b in strata]
    estimate = float(np.mean([probability_of_improvement(a, b) for a, b in pairs]))
    if min(min(len(a), len(b)) for a, b in pairs) < 2:
        return Estimate(estimate)
    drawn = [_wins(_resample(a, generator, resamples), _resample(b, generator, resamples)) for a, b in pairs]
    low, high = _percentiles(np.mean(drawn, axis=0), confidence)
    return Estimate(estimate, float(low), float(high))


def mean_curve_interval(
    curves: npt.ArrayLike,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> tuple[FloatArray, FloatArray] | None:
    """The bootstrap interval, point by point, of the mean of curves (seeds x points); None for one seed."""
    values = np.asarray(curves, dtype=np.float64)
    seeds = len(values)
    if seeds < 2:
        return None
    weights = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds
    low, high = _percentiles(weights @ values, confidence)
    return low, high


def _curve(steps: npt.ArrayLike, values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ValueError(f"a curve is as many values as steps, at least one; got {x.shape} and {y.shape}")
    return x, y


def _window(steps: FloatArray, values: FloatArray, inside: slice) -> Window:
    return Window(float(values[inside].mean()), float(values[inside].std()), float(np.median(steps[inside])))


def _resample(scores: FloatArray, generator: np.random.Generator, resamples: int) -> FloatArray:
    return scores[generator.integers(0, len(scores), size=(resamples, len(scores)))]


def _wins(scores: FloatArray, baseline: FloatArray) -> FloatArray:
    """Row by row how often a score beats one of the baseline; so many rows at once as memory is meant for."""
    rows = max(1, _PAIRS_AT_ONCE // (scores.shape[1] * baseline.shape[1]))
    wins = []
    for start in range(0, len(scores), rows):
        ours, theirs = scores[start : start + rows, :, None], baseline[start : start + rows, None, :]
        wins.append((ours > theirs).mean(axis=(1, 2)) + 0.5 * (ours == theirs).mean(axis=(1, 2)))
    return np.concatenate(wins)


def _percentiles(drawn: FloatArray, confidence: float) -> FloatArray:
    tail = 50 * (1 - confidence)
    return np.asarray(np.percentile(drawn, [tail, 100 - tail], axis=0))
