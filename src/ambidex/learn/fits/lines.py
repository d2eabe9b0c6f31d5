"""The numerics of the pairwise fit: lines through datasets of pairs and singles, cycle errors, spreads."""

from __future__ import annotations

import warnings

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.relations import Relations


def dataset(
    relations: Relations, pair: int, means: FloatArray, symmetric: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """All inputs x and outputs y of a pair (tab:dataset).

    :param means: (T, n) a-bar
    :param symmetric: (N, T, n) a-bar'
    """
    inputs, outputs = [], []
    for j, i in zip(*np.nonzero(relations.pair == pair), strict=True):
        sign, source = np.sign(relations.multipliers[j, i]), relations.indices[j, i]
        if relations.forward[j, i]:
            inputs.append(sign * means[:, source])
            outputs.append(symmetric[j, :, i])
        else:
            inputs.append(sign * symmetric[j, :, i])
            outputs.append(means[:, source])
    return np.concatenate(inputs), np.concatenate(outputs)


def fit_lines(
    relations: Relations, means: FloatArray, symmetric: FloatArray, through_origin: bool
) -> tuple[FloatArray, FloatArray]:
    """m and b of all pairs by least squares, from sums over the batch; NaN where x does not vary.

    :param means: (T, n) a-bar
    :param symmetric: (N, T, n) a-bar'
    :param through_origin: fit y = mx
    """
    j, i = np.nonzero(relations.pair >= 0)
    source, pair, forward = relations.indices[j, i], relations.pair[j, i], relations.forward[j, i]
    signs = np.sign(relations.multipliers[j, i])
    products = np.einsum("tk,jti->jki", means, symmetric, optimize=True)[j, source, i]
    explored, explored_squares = means.sum(axis=0)[source], np.square(means).sum(axis=0)[source]
    image, image_squares = symmetric.sum(axis=1)[j, i], np.square(symmetric).sum(axis=1)[j, i]

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(pair, values, len(relations.pairs)).astype(np.float64)

    count = total(np.full(len(pair), float(len(means))))
    x = total(signs * np.where(forward, explored, image))
    y = total(np.where(forward, image, explored))
    xx = total(np.where(forward, explored_squares, image_squares))
    xy = total(signs * products)
    with np.errstate(divide="ignore", invalid="ignore"):
        if through_origin:
            return xy / xx, np.zeros_like(xy)  # eq:minimize_mx
        spread = count * xx - x**2
        spread = np.where(spread > 1e-12 * count * xx, spread, np.nan)
        slopes = (count * xy - x * y) / spread  # eq:minimize_mxb
        return slopes, (y - slopes * x) / count


def fit_singles(relations: Relations, means: FloatArray, symmetric: FloatArray) -> FloatArray:
    """b of each single, whose m is -1 (eq:minimize_b)."""
    j, i = np.nonzero(relations.single >= 0)
    single = relations.single[j, i]
    biases = means.mean(axis=0)[i] + symmetric.mean(axis=1)[j, i]
    return np.array([biases[single == number].mean() for number in range(len(relations.singles))])


def cycle_error(steps: list[tuple[float, float, bool]]) -> float:
    """How far from 1 the number 1 comes back after going once around a cycle (eq:cycle_error with k = 1).

    :param steps: in the order of the path: m and b of the pair, and whether it is walked from q to u
    """
    value = 1.0
    for slope, intercept, forward in steps:
        if forward:
            value = slope * value + intercept
        else:
            value = (value - intercept) / slope if slope else float("nan")
    return abs(value - 1.0)


def target_spreads(targets: FloatArray) -> FloatArray:
    """The coefficient of variation of each column; infinite where no target is finite.

    :param targets: (k, parameters), the last targets of each parameter
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a finite number
        finite = np.where(np.isfinite(targets), targets, np.nan)
        spreads = np.nanstd(finite, axis=0) / (np.abs(np.nanmean(finite, axis=0)) + 0.1)  # eq:func_weight
    return np.where(np.isnan(spreads), np.inf, spreads)
