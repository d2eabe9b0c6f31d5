"""The regression behind `identify` for robots whose drive is described: how strong each motor is.

The impulses J that sound motors would give (see `impulses`) change the speeds of a limb's joints by

    v' - v = F(s) + A(s) diag(p) J,

with A, the limb's inverse inertia, common to the limbs that a symmetry relates, and p the strength of each
motor. A weak motor makes one column of A small, in all rows; a limb that is heavier changes A itself. J
depends on what happens in the step, so ordinary least squares would take a push from outside for an answer
to a command. The part of the commands that does not follow from the state stands in for it (instrumental
variables, two-stage least squares): it was drawn at random, so what goes with it is its own doing.
"""

from __future__ import annotations

import numpy as np

from ambidex.actuators.driven.limbs import LimbViews
from ambidex.actuators.response import BLOCKS
from ambidex.actuators.transitions import Transitions, consecutive
from ambidex.common.arrays import FloatArray
from ambidex.common.regression import solve_scaled

ON_THE_GROUND = 0.1  # how much a transition counts whose limb is in contact, or about to be
OUTLIER = 3.5  # median errors, beyond which a transition counts less (Huber)
RESPONSE_RIDGE = 1e-6
REWEIGHTED = 2  # times, until outliers no longer decide what an outlier is
STEPS = 200


def limb_moments(limb: LimbViews, transitions: Transitions, expected: FloatArray | None = None) -> FloatArray:
    """Sums of products of what the regression is about: (blocks, views, rows, rows).

    :param expected: `limb_coefficients` of an earlier fit, from which outliers are told
    """
    sums = np.empty((BLOCKS, len(limb.views), limb.row_size, limb.row_size))
    for number, (view, landing) in enumerate(zip(limb.views, limb.landing(transitions), strict=True)):
        rows, air = limb.rows(transitions, view, landing)
        weights = ON_THE_GROUND + (1 - ON_THE_GROUND) * air
        if expected is not None:
            weights *= _inliers(limb, rows, air, expected[number])
        rows *= np.sqrt(weights)[:, None]
        for block, place in enumerate(consecutive(len(rows), BLOCKS)):
            part = rows[place]
            np.matmul(part.T, part, out=sums[block, number])
    return sums


def robust_limb_moments(limb: LimbViews, transitions: Transitions) -> FloatArray:
    """`limb_moments` in which outliers count less, told from the transitions themselves."""
    sums = limb_moments(limb, transitions)
    for _ in range(REWEIGHTED):
        sums = limb_moments(limb, transitions, limb_coefficients(limb, sums.sum(axis=0)))
    return sums


def limb_coefficients(limb: LimbViews, sums: FloatArray) -> FloatArray:
    """What to expect of a step that has not been made yet: controls and instruments to changes of speed.

    :param sums: (views, rows, rows)
    :return: (views, controls + instruments, n)
    """
    known = limb.control_count + limb.terms
    answers = sums[..., :known, known + limb.terms :]
    return solve_scaled(sums[..., :known, :known], answers)


def _inliers(limb: LimbViews, rows: FloatArray, air: FloatArray, expected: FloatArray) -> FloatArray:
    """How much each transition counts beside others that are as free in the air: (T,)."""
    errors = np.abs(rows[:, -len(limb.joints) :] - rows[:, : len(expected)] @ expected)
    weights = np.ones(len(rows))
    for alike in (air > 0.5, air <= 0.5):
        if errors[alike].any():
            usual = np.maximum(np.median(errors[alike], axis=0), np.finfo(float).tiny)
            weights[alike] = OUTLIER / np.maximum((errors[alike] / usual).max(axis=1), OUTLIER)
    return weights


def projected(limb: LimbViews, problems: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The second stage of two-stage least squares, with the controls taken out.

    :param problems: (..., views, rows, rows)
    :return: the squares of the impulses as the instruments tell them (..., views, k, k), their products with
        the changes of speed (..., views, k, n), the mean squares of those changes (..., n), and the share of
        each joint's impulse that the instruments explain (..., views, n)
    """
    count, terms = limb.control_count, limb.terms
    taken = solve_scaled(problems[..., :count, :count], problems[..., :count, count:])
    rest = problems[..., count:, count:] - problems[..., count:, :count] @ taken
    crossing = rest[..., :terms, terms:]
    told = np.swapaxes(crossing[..., :terms], -1, -2) @ solve_scaled(rest[..., :terms, :terms], crossing)
    whole, explained = np.diagonal(rest, axis1=-2, axis2=-1), np.diagonal(told, axis1=-2, axis2=-1)
    plain = slice(0, terms, limb.feature_count)  # the impulses themselves, not by a feature
    shares = explained[..., plain] / np.maximum(whole[..., terms : 2 * terms][..., plain], 1e-300)
    return told[..., :terms], told[..., terms:], whole[..., 2 * terms :].sum(axis=-2), shares


def strengths(
    limb: LimbViews, squares: FloatArray, products: FloatArray, left: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """p of each actuator, of geometric mean 1 over its orbit, and A: (..., members), (..., n, features, n).

    Alternating least squares: A given p is linear, and so is p given A.

    :param squares: see `projected`
    """
    joints, features = len(limb.joints), limb.feature_count
    members = np.unique(limb.members)
    where = np.searchsorted(members, limb.members)  # (views, n)
    orbits = (where[:, :, None] == np.arange(len(members))).any(axis=0)  # of each joint, (n, members)
    weights = 1 / np.maximum(left, np.finfo(float).tiny)
    shape = squares.shape[:-3]
    gains = np.ones((*shape, len(members)))
    for _ in range(STEPS):
        own = np.repeat(gains[..., where], features, axis=-1)  # (..., views, k)
        pooled = np.einsum("...vi,...vij,...vj->...ij", own, squares, own)
        response = solve_scaled(pooled, np.einsum("...vi,...vij->...ij", own, products), RESPONSE_RIDGE)
        response = response.reshape(*shape, joints, features, joints)
        following = strengths_given(limb, squares, products, response, weights)
        sizes = np.log(np.maximum(np.abs(following), 1e-3))
        for one in orbits:
            following[..., one] /= np.exp(sizes[..., one].mean(axis=-1, keepdims=True))
        settled = np.abs(following - gains).max() < 1e-7
        gains = following
        if settled:
            break
    blocks = squares.reshape(*shape, len(where), joints, features, joints, features)
    for joint, one in enumerate(orbits):  # a torque moves its own joint forward, so that is no motor's doing
        # On average over what was seen; a constant alone is the answer in a pose that may never occur.
        answer = np.einsum("...vg,...g->...", blocks[..., joint, 0, joint, :], response[..., joint, :, joint])
        gains[..., one] *= np.where(answer < 0, -1.0, 1.0)[..., None]
    return gains, response


def strengths_given(
    limb: LimbViews, squares: FloatArray, products: FloatArray, response: FloatArray, weights: FloatArray
) -> FloatArray:
    """p by least squares where A is known: (..., members).

    :param weights: of the joints whose answers count, (..., n)
    """
    joints, features = len(limb.joints), limb.feature_count
    members = np.unique(limb.members)
    where = np.searchsorted(members, limb.members)
    shape = squares.shape[:-3]
    blocks = squares.reshape(*shape, len(where), joints, features, joints, features)
    answers = products.reshape(*shape, len(where), joints, features, joints)
    curvature = np.einsum(
        "...kfj,...vkflg,...lgj,...j->...vkl", response, blocks, response, weights, optimize=True
    )
    slope = np.einsum("...kfj,...vkfj,...j->...vk", response, answers, weights, optimize=True)
    left_side = np.zeros((*shape, len(members), len(members)))
    right_side = np.zeros((*shape, len(members)))
    for view, at in enumerate(where):
        left_side[..., at[:, None], at] += curvature[..., view, :, :]
        right_side[..., at] += slope[..., view, :]
    return solve_scaled(left_side, right_side[..., None])[..., 0]
