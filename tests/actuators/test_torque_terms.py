"""The terms of a joint's answer: how they change with the gain, and with which slope."""

from __future__ import annotations

import numpy as np

from ambidex.actuators.torque_terms import TorqueTerms

TERMS = TorqueTerms(2)
GAINS = np.array([-1.7, -0.4, 0.3, 2.5])


def test_powers_are_what_the_gain_makes_of_each_term() -> None:
    features, commands = np.array([[1.0, 3.0], [1.0, -2.0]]), np.array([0.7, -1.2])
    np.testing.assert_allclose(TERMS.of(features, commands)[1], [-1.2, 2.4, 1.2, -2.4, 1.44, -1.44, -1.728])
    for gain, powers in zip(GAINS, TERMS.powers(GAINS), strict=True):
        np.testing.assert_allclose(
            TERMS.of(features, gain * commands), powers * TERMS.of(features, commands), rtol=1e-12
        )


def test_slopes_are_the_derivatives_of_the_powers() -> None:
    step = 1e-6
    expected = (TERMS.powers(GAINS + step) - TERMS.powers(GAINS - step)) / (2 * step)
    np.testing.assert_allclose(TERMS.slopes(GAINS), expected, rtol=1e-6)
