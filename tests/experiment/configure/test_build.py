"""From a configuration to what a model is made of."""

import numpy as np
import pytest
from gymnasium import spaces

from ambidex.experiment.configure.build import floor_of_noise


def test_the_floor_of_a_preset_follows_the_range_of_the_actions():
    def box(*half):
        return spaces.Box(-np.array(half, np.float32), np.array(half, np.float32))

    assert floor_of_noise(0.3, box(1, 1)) == pytest.approx(0.3)
    assert floor_of_noise(0.3, box(0.2, 0.8)) == pytest.approx(0.3 * 0.4)  # the geometric mean
    assert floor_of_noise(0.3, box(0.5, np.inf)) == pytest.approx(0.15)
    assert floor_of_noise(0.3, box(2, 2)) == floor_of_noise(0.3, box(np.inf)) == 0.3
    assert floor_of_noise(0.3, spaces.Discrete(3)) is None
