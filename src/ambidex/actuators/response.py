"""The regression behind `identify`: how the joints of an orbit answer their commands, from sums of products.

All that is needed of the transitions are the sums of products of their rows (see `OrbitViews.rows`), which
add up and can be forgotten slowly. What is unknown is a product of an actuator's gain and the orbit's common
response, so least squares alternates between the two.

Not all transitions count alike. A limb in contact answers by a load that is not observed, so it counts a
tenth; and a step that an impact has thrown far from what is to be expected counts the less the farther.
"""

from __future__ import annotations

import numpy as np

from ambidex.actuators.torque_terms import TorqueTerms
from ambidex.actuators.transitions import OrbitViews, Transitions
from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.common.regression import RIDGE, solve_scaled

BLOCKS = 8
IN_CONTACT = 0.1  # how much a transition counts whose limb is in contact
OUTLIER = 2.2  # median errors, beyond which a transition counts less (Huber)
LEAST_OUTLIER = 0.1  # of the root mean square error: most errors may be next to nothing
LARGEST_GAIN = 1e3  # of an actuator beside its counterparts: where nothing is known, gains wander off
DIRECTION_RIDGE = 1e-3  # of what tells a push from a pull, for `RIDGE`: it takes commands of both signs
REWEIGHTED = 2  # times, until outliers no longer decide what an outlier is
STEPS = 500


def moments(orbit: OrbitViews, transitions: Transitions, expected: FloatArray | None = None) -> FloatArray:
    """Sums of products of what the regression is about: (blocks, distinct views, rows, rows).

    A block has consecutive transitions, so that blocks are nearly independent of each other.

    :param expected: `coefficients` of an earlier fit, from which outliers are told
    """
    sums = np.empty((BLOCKS, len(orbit.distinct), orbit.row_size, orbit.row_size))
    for own, block in zip(sums, transitions.blocks(BLOCKS), strict=True):
        for out, number in zip(own, orbit.distinct, strict=True):
            view = orbit.views[number]
            states = block.observations @ view.observations.T
            rows = orbit.rows(states, block, view)
            plan = None if expected is None else expected[number]
            rows *= np.sqrt(_weights(rows, orbit.touching(states), plan))[:, None]
            np.matmul(rows.T, rows, out=out)
    return sums


def robust_moments(orbit: OrbitViews, transitions: Transitions) -> FloatArray:
    """`moments` in which outliers count less, told from the transitions themselves."""
    sums = moments(orbit, transitions)
    for _ in range(REWEIGHTED):
        sums = moments(orbit, transitions, coefficients(orbit, sums.sum(axis=0)))
    return sums


def _weights(rows: FloatArray, touching: BoolArray, expected: FloatArray | None) -> FloatArray:
    """How much each transition counts: (T,)."""
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

    :param sums: (distinct views, rows, rows)
    """
    rest, taken = without_controls(orbit, sums)
    gains, response = answers(orbit, rest)
    found = np.empty((len(orbit.views), sums.shape[-1] - 1))
    for member, powers, own in zip(orbit.members, orbit.terms.powers(gains), taken, strict=True):
        answer = powers * response
        of_controls = own[:, -1] - own[:, :-1] @ answer
        found[[view.member == member for view in orbit.views]] = np.concatenate([of_controls, answer])
    return found


def answers(orbit: OrbitViews, rest: FloatArray, *, alike: bool = False) -> tuple[FloatArray, FloatArray]:
    """p of each actuator, of geometric mean about 1, and the coefficients of R: (..., m) and (..., terms).

    What is left without the controls is a product of the actuator's p and the orbit's R, fitted by
    alternating least squares: first as if a push and a pull had like effects, which any commands can tell,
    then with what tells them apart. If the commands cannot, the first answer stands.

    :param rest: see `without_controls`
    :param alike: whether to leave it at the first
    """
    terms = orbit.terms
    gains = np.ones(rest.shape[:-2])
    gains, response = _alternate(terms, rest, gains, ~terms.even)
    if not alike:
        gains, response = _alternate(terms, rest, gains, np.ones(len(terms), dtype=bool))
    return gains, response


def _alternate(
    terms: TorqueTerms, rest: FloatArray, gains: FloatArray, used: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Gains and response in turn, by these terms alone, until the gains stay where they are."""
    squares, products = rest[..., :-1, :-1][..., used, :][..., used], rest[..., :-1, -1][..., used]
    ridge = np.where(terms.even, DIRECTION_RIDGE, RIDGE)[used]
    for _ in range(STEPS):
        powers = terms.powers(gains)[..., used]
        pooled = np.einsum("...mi,...mij,...mj->...ij", powers, squares, powers)
        answer = solve_scaled(pooled, (powers * products).sum(axis=-2)[..., None], ridge)[..., 0]
        slope = terms.slopes(gains)[..., used] * answer[..., None, :]
        error = products - (squares @ (powers * answer[..., None, :])[..., None])[..., 0]
        curvature = (slope[..., None, :] @ squares @ slope[..., None])[..., 0, 0]
        following = gains + (slope * error).sum(axis=-1) / np.maximum(curvature, np.finfo(float).tiny)
        sizes = np.maximum(np.abs(following), np.finfo(float).tiny)
        following /= np.exp(np.log(sizes).mean(axis=-1, keepdims=True))
        following = np.clip(following, -LARGEST_GAIN, LARGEST_GAIN)
        settled = np.abs(following - gains).max() < 1e-9
        gains = following
        if settled:
            break
    response = np.zeros((*answer.shape[:-1], len(terms)))
    response[..., used] = answer
    return gains, response


def without_controls(orbit: OrbitViews, problems: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The moments of response and outcome of each actuator with the controls taken out: (..., m, d, d).

    Actuator by actuator; also by what each control was multiplied for it: (..., m, controls, d).

    :param problems: (..., distinct views, rows, rows)
    """
    own = orbit.of_members(problems)
    controls = problems.shape[-1] - len(orbit.terms) - 1
    taken = solve_scaled(own[..., :controls, :controls], own[..., :controls, controls:])
    return own[..., controls:, controls:] - own[..., controls:, :controls] @ taken, taken


def intercepts(
    orbit: OrbitViews, problems: FloatArray, gains: FloatArray, response: FloatArray
) -> FloatArray:
    """The offset of each actuator, (..., m), up to what a common F can hide.

    With p and R known, ``v' - v - R(p S a) = F - p R' S o`` is linear in F and o, with R' the factor of the
    torque itself.

    :param orbit: with every column of every view
    :param gains: p, of a fit in which a push and a pull are alike, and so
    :param response: R
    """
    size, linear = len(orbit.terms), orbit.feature_count
    controls = problems.shape[-1] - size - 1
    count = len(orbit.members)
    left = np.zeros((*problems.shape[:-3], controls + count, controls + count))
    right = np.zeros((*problems.shape[:-3], controls + count))
    powers = orbit.terms.powers(gains)
    for at, view in enumerate(orbit.views):
        own = problems[..., at, :, :]
        member = int(np.flatnonzero(orbit.members == view.member)[0])
        column = controls + member
        along = -gains[..., member, None] * view.sign * response[..., :linear]  # of o_i, by the features
        answer = powers[..., member, :] * response
        rest = own[..., :controls, -1] - (own[..., :controls, controls:-1] @ answer[..., None])[..., 0]
        left[..., :controls, :controls] += own[..., :controls, :controls]
        crossing = (own[..., :controls, :linear] @ along[..., None])[..., 0]
        left[..., :controls, column] += crossing
        left[..., column, :controls] += crossing
        left[..., column, column] += (crossing[..., :linear] * along).sum(axis=-1)
        right[..., :controls] += rest
        right[..., column] += (rest[..., :linear] * along).sum(axis=-1)
    return solve_scaled(left, right[..., None])[..., controls:, 0]
