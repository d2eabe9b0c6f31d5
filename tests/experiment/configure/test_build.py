"""From a configuration to what a model is made of."""

import numpy as np
import pytest
from gymnasium import spaces

from ambidex.experiment.configure.build import build_model, training_environment, unit_of_noise
from ambidex.experiment.configure.presets import resolve


def test_the_unit_of_noise_follows_the_range_of_the_actions():
    def box(*half):
        return spaces.Box(-np.array(half, np.float32), np.array(half, np.float32))

    assert unit_of_noise(box(1, 1)) == pytest.approx(1)
    assert unit_of_noise(box(0.2, 0.8)) == pytest.approx(0.4)  # the geometric mean
    assert unit_of_noise(box(0.5, 0)) == pytest.approx(0.5)
    assert unit_of_noise(box(2, 2)) == unit_of_noise(box(0)) == 1


def test_a_robot_with_narrow_ranges_starts_with_less_noise_and_has_a_lower_floor():
    humanoid = {"env": "Humanoid-v5", "log_std_init": -0.5, "std_floor": 0.3}  # its actions are within 0.4
    config = resolve(None, "ppo", humanoid)
    model = build_model(config, training_environment(config), None)
    assert model.policy.log_std.exp().detach().numpy() == pytest.approx(0.4 * np.exp(-0.5))
    assert model.std_floor == pytest.approx(0.12)


def test_choices_have_no_noise():
    config = resolve(None, "ppo", {"env": "CartPole-v1", "std_floor": 0.3})
    assert build_model(config, training_environment(config), None).std_floor is None
