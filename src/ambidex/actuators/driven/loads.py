"""Whether a limb answers less because it carries something, and not because its motors are weak.

A weak motor moves all joints of its limb less, by the same factor: a column of A diag(p) (see `strengths`).
A load adds to the limb's inertia: every joint answers its own torque less, and others' torques by other
factors. So the strength of each motor is read from every joint's answer separately: these agree where motors
are weak, and do not where a limb is heavier.
"""

from __future__ import annotations

import numpy as np

from ambidex.actuators.driven.limbs import LimbViews
from ambidex.actuators.driven.strengths import strengths_given
from ambidex.actuators.scales import CHANCE, jackknife
from ambidex.common.arrays import FloatArray, IntArray

SURE = 3.5  # one in a hundred, since many pairs of joints are looked at
SHARE = 0.3  # of the largest logarithm of a strength: what the regression itself leaves between joints


def loaded_limb(
    limb: LimbViews,
    squares: FloatArray,
    products: FloatArray,
    gains: FloatArray,
    response: FloatArray,
    left_out: float,
) -> IntArray | None:
    """The actuators of the limb that carries a load, if there is one.

    :param squares: see `strengths.projected`; the first problem has all data, the others lack a block each
    :param gains: the strengths, (problems, members)
    :param response: A, as `strengths.strengths` gives it
    :param left_out: the standard error of the logarithms of strengths that is no noise
    """
    members = np.unique(limb.members)
    limbs = np.unique(limb.members, axis=0)
    if len(limbs) < 2 or len(limb.joints) < 2 or (gains <= 0).any():
        return None
    logs = np.log(gains)
    of_each = np.eye(len(limb.joints))  # the answer of one joint at a time
    told = [strengths_given(limb, squares, products, response, one) for one in of_each]
    at = np.searchsorted(members, limbs)  # (limbs, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        unlike = (np.log(np.stack(told, axis=1)) - logs[:, None])[..., at]  # (problems, answers, limbs, n)
    unlike -= unlike.mean(axis=2, keepdims=True)
    own_joint = np.eye(len(limb.joints), dtype=bool)  # it decides about its motor, so it agrees in any case
    for number, own in enumerate(at):
        errors = np.hypot(jackknife(logs[1:, own]), left_out)
        is_off = np.abs(logs[0, own]) > CHANCE * errors
        is_weaker = logs[0, own] < 0
        if (is_off & is_weaker).sum() < 2 or (is_off & ~is_weaker).any():
            continue
        between = unlike[:, :, number][:, ~own_joint]
        beyond = np.abs(between[0]) - SURE * jackknife(between[1:])
        if np.nanmax(beyond, initial=0.0) > SHARE * np.abs(logs[0, own]).max():
            loaded: IntArray = limbs[number]
            return loaded
    return None
