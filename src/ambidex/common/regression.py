"""Least squares from sums of products, and a smooth regression in the place of an unknown function."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ambidex.common.arrays import FloatArray

RIDGE = 1e-8  # of each column's own size: what never varies must not matter
KINKS, SMOOTHNESS = 200, 1e-3
PARTS = 8  # each is predicted from all the others


def expected_from(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """What each row of the outputs was to be expected from its inputs, told from all the other parts.

    :param inputs: (T, i) in the order in which they were visited
    :param outputs: (T, o)
    """
    spread = inputs.std(axis=0)
    varying = (inputs - inputs.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    random = np.random.default_rng(0)
    directions = random.standard_normal((varying.shape[1], KINKS)) / np.sqrt(max(varying.shape[1], 1))
    hidden = np.maximum(varying @ directions + random.standard_normal(KINKS), 0.0)
    terms = np.concatenate([np.ones((len(inputs), 1)), varying, hidden], axis=1)
    ends = np.linspace(0, len(terms), PARTS + 1).astype(int)
    parts = [slice(start, end) for start, end in pairwise(ends)]
    squares = np.stack([terms[part].T @ terms[part] for part in parts])
    products = np.stack([terms[part].T @ outputs[part] for part in parts])
    ridge = SMOOTHNESS * len(terms) * np.eye(terms.shape[1])
    weights = np.linalg.solve(squares.sum(axis=0) - squares + ridge, products.sum(axis=0) - products)
    return np.concatenate([terms[part] @ own for part, own in zip(parts, weights, strict=True)])


def solve_scaled(squares: FloatArray, right: FloatArray, ridge: float | FloatArray = RIDGE) -> FloatArray:
    """Least squares from sums of products, whatever the units of its columns.

    :param squares: (..., c, c) sums of products of the columns with each other
    :param right: (..., c, r) with what they are to explain
    """
    # What was projected out may leave a little less than 0.
    sizes = np.sqrt(np.maximum(np.diagonal(squares, axis1=-2, axis2=-1), 0.0))
    units = np.where(sizes > 0, sizes, 1.0)
    scaled = squares / (units[..., :, None] * units[..., None, :])
    scaled += ridge * np.eye(squares.shape[-1])
    solution: FloatArray = np.linalg.solve(scaled, right / units[..., None]) / units[..., None]
    return solution
