"""What an estimate's error is, by the definition of the jackknife and against a formula that is exact."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex.actuators.scales import jackknife


def test_the_jackknife_by_hand() -> None:
    # Mean 2, deviations -1, 0, 1: sqrt((3 - 1) / 3 * 2).
    assert jackknife(np.array([[1.0], [2.0], [3.0]])) == pytest.approx([np.sqrt(4 / 3)])


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Leaving out one number at a time, s / sqrt(n) comes out exactly, with s divided by n - 1."""
    numbers = np.random.default_rng(0).normal(size=(8, 3))
    means_without = np.array([np.delete(numbers, left_out, axis=0).mean(axis=0) for left_out in range(8)])
    np.testing.assert_allclose(jackknife(means_without), numbers.std(axis=0, ddof=1) / np.sqrt(8))
