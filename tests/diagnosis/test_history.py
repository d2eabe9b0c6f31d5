"""What the training logged, against hand-computed numbers."""

from __future__ import annotations

import numpy as np

from ambidex.diagnosis.history import Movement, scales_of_maps
from ambidex.experiment.many_runs.reading import Series
from tests.diagnosis.known_robots import RELATIVE_SCALE, TRIANGLE


def test_scales_that_maps_imply() -> None:
    """By hand: m = s_u / s_q for limbs that need 1, 2 and 3 times, up to the geometric mean."""
    maps = {"a": np.array([-1, -2 / 3, -3 / 2]), "d": np.array([1 / 3, 2, 3 / 2])}
    np.testing.assert_allclose(scales_of_maps(TRIANGLE, maps), RELATIVE_SCALE)
    np.testing.assert_array_equal(scales_of_maps(TRIANGLE, {}), 1)


def test_movement_settles_when_it_stays_near_the_end() -> None:
    series = Series(np.array([10.0, 20, 30, 40, 50]), np.array([1.0, 1.6, 1.95, 2.04, 2.0]))
    assert Movement.of(series) == Movement(1.0, 2.0, 30)
    still = Series(np.array([10.0, 20]), np.array([1.0, 1.0]))
    assert Movement.of(still) == Movement(1.0, 1.0, 10)
