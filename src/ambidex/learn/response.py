"""The regression behind `identify`: how the joints of an orbit answer their commands, from sums of products.

All that is needed of the transitions are the sums of products of their rows (see `OrbitViews.rows`), which
add up and can be forgotten slowly. What is unknown is a product of an actuator's gain and the orbit's common
response, so least squares alternates between the two.

Not all transitions count alike. A limb in contact answers by a load that is not observed, so it counts a
tenth; and a step that an impact has thrown far from what is to be expected counts the less the farther.
"""

from __future__ import annotations

import numpy as np

from ambidex.learn.views import OrbitViews, Transitions
from ambidex.symmetry.maps import FloatArray

BLOCKS = 8
IN_CONTACT = 0.1  # how much a transition counts whose limb is in contact
OUTLIER = 2.2  # median errors, beyond which a transition counts less (Huber)
LEAST_OUTLIER = 0.1  # of the root mean square error: most errors may be next to nothing
LARGEST_GAIN = 1e3  # of an actuator beside its counterparts: where nothing is known, gains wander off
RIDGE = 1e-6  # of each feature's own size: features that never vary must not matter
REWEIGHTED = 2  # times, until outliers no longer decide what an outlier is
STEPS = 500


def moments(orbit: OrbitViews, transitions: Transitions, expected: FloatArray | None = None) -> FloatArray:
    """Sums of products of what the regression is about: (blocks, views, rows, rows).

    A block has consecutive transitions, so that blocks are nearly independent of each other.

    :param expected: `coefficients` of an earlier fit, from which outliers are told
    """
    blocks = []
    for block in transitions.blocks(BLOCKS):
        sums = []
        for number, view in enumerate(orbit.views):
            rows = orbit.rows(block, view)
            rows *= np.sqrt(_weights(orbit, rows, None if expected is None else expected[number]))[:, None]
            sums.append(rows.T @ rows)
        blocks.append(sums)
    return np.array(blocks)


def robust_moments(orbit: OrbitViews, transitions: Transitions) -> FloatArray:
    """`moments` in which outliers count less, told from the transitions themselves."""
    sums = moments(orbit, transitions)
    for _ in range(REWEIGHTED):
        sums = moments(orbit, transitions, coefficients(orbit, sums.sum(axis=0)))
    return sums


def _weights(orbit: OrbitViews, rows: FloatArray, expected: FloatArray | None) -> FloatArray:
    """How much each transition counts: (T,)."""
    touching = orbit.touching(rows)
    weights = np.where(touching, IN_CONTACT, 1.0)
    if expected is not None:
        errors = np.abs(rows[:, -1] - rows[:, :-1] @ expected)
        for alike in (touching, ~touching):
            if errors[alike].any():
                size = np.sqrt(np.square(errors[alike]).mean())
                usual = max(OUTLIER * float(np.median(errors[alike])), LEAST_OUTLIER * float(size))
                weights[alike] *= usual / np.maximum(errors[alike], usual)
    return weights


def coefficients(orbit: OrbitViews, sums: FloatArray) -> FloatArray:
    """What the fit to these sums multiplies each column of a row by to expect its outcome: (views, rows - 1).

    :param sums: (views, rows, rows)
    """
    gains, response = responses(orbit, sums)
    controls = sums.shape[-1] - len(orbit.degrees) - 1
    found = np.empty((len(orbit.views), sums.shape[-1] - 1))
    for gain, of_member in zip(gains, orbit.views_of_members, strict=True):
        own = sums[of_member].sum(axis=0)
        answer = gain**orbit.degrees * response
        left = own[:controls, -1] - own[:controls, controls:-1] @ answer
        of_controls = np.linalg.solve(_with_ridge(own[:controls, :controls]), left)
        found[of_member] = np.concatenate([of_controls, answer])
    return found


def responses(orbit: OrbitViews, problems: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p of each actuator, of geometric mean 1, and the coefficients of G: (..., m) and (..., features).

    The controls are taken out actuator by actuator. What is left is a product of the actuator's p and the
    orbit's G, fitted by alternating least squares.

    :param problems: (..., views, rows, rows)
    """
    degrees = orbit.degrees
    rest = without_controls(orbit, problems)
    squares, products = rest[..., :-1, :-1], rest[..., :-1, -1]
    gains = np.ones(products.shape[:-1])
    for _ in range(STEPS):
        powers = gains[..., None] ** degrees
        pooled = (powers[..., :, None] * squares * powers[..., None, :]).sum(axis=-3)
        response = np.linalg.solve(_with_ridge(pooled), (powers * products).sum(axis=-2)[..., None])[..., 0]
        expected = powers * response[..., None, :]
        slope = degrees * gains[..., None] ** (degrees - 1) * response[..., None, :]
        error = products - (squares @ expected[..., None])[..., 0]
        curvature = (slope[..., None, :] @ squares @ slope[..., None])[..., 0, 0]
        following = gains + (slope * error).sum(axis=-1) / np.maximum(curvature, np.finfo(float).tiny)
        sizes = np.maximum(np.abs(following), np.finfo(float).tiny)
        following /= np.exp(np.log(sizes).mean(axis=-1, keepdims=True))
        following = np.clip(following, -LARGEST_GAIN, LARGEST_GAIN)
        settled = np.abs(following - gains).max() < 1e-9
        gains = following
        if settled:
            break
    return gains, response


def without_controls(orbit: OrbitViews, problems: FloatArray) -> FloatArray:
    """The moments of response and outcome of each actuator with the controls taken out: (..., m, d, d)."""
    controls = problems.shape[-1] - len(orbit.degrees) - 1
    rest = []
    for of_member in orbit.views_of_members:
        own = problems[..., of_member, :, :].sum(axis=-3)
        taken = np.linalg.solve(_with_ridge(own[..., :controls, :controls]), own[..., :controls, controls:])
        rest.append(own[..., controls:, controls:] - own[..., controls:, :controls] @ taken)
    return np.stack(rest, axis=-3)


def intercepts(
    orbit: OrbitViews, problems: FloatArray, gains: FloatArray, response: FloatArray
) -> FloatArray:
    """The offset of each actuator, (..., m), up to what a common F can hide.

    With p and G known, ``v' - v - p G S a = F - p G S o`` is linear in F and o.
    """
    size, linear = len(orbit.degrees), orbit.feature_count
    controls = problems.shape[-1] - size - 1
    count = len(orbit.members)
    left = np.zeros((*problems.shape[:-3], controls + count, controls + count))
    right = np.zeros((*problems.shape[:-3], controls + count))
    for at, view in enumerate(orbit.views):
        own = problems[..., at, :, :]
        column = controls + int(np.flatnonzero(orbit.members == view.member)[0])
        gain = gains[..., column - controls, None]
        along = -gain * view.sign * response[..., :linear]  # of o_i, by the features
        answer = gain**orbit.degrees * response
        rest = own[..., :controls, -1] - (own[..., :controls, controls:-1] @ answer[..., None])[..., 0]
        left[..., :controls, :controls] += own[..., :controls, :controls]
        crossing = (own[..., :controls, :linear] @ along[..., None])[..., 0]
        left[..., :controls, column] += crossing
        left[..., column, :controls] += crossing
        left[..., column, column] += (crossing[..., :linear] * along).sum(axis=-1)
        right[..., :controls] += rest
        right[..., column] += (rest[..., :linear] * along).sum(axis=-1)
    solution = np.linalg.solve(_with_ridge(left), right[..., None]).astype(np.float64, copy=False)
    return solution[..., controls:, 0]


def _with_ridge(matrix: FloatArray) -> FloatArray:
    sizes = np.diagonal(matrix, axis1=-2, axis2=-1)
    floor: FloatArray = np.maximum(sizes, 1e-9 * sizes.max(axis=-1, keepdims=True) + np.finfo(float).tiny)
    ridged: FloatArray = matrix + RIDGE * floor[..., None] * np.eye(matrix.shape[-1])
    return ridged
