"""From a configuration to what a model is made of."""

import numpy as np
import pytest
from gymnasium import spaces

from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.experiment.configure.build import (
    build_model,
    evaluation_environment,
    robot_age,
    training_environment,
    unit_of_noise,
)
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


@pytest.mark.parametrize("given", [{"env_args": {"scenario": "triangle-rust"}}, {"stepping": "processes"}])
def test_triangles_are_stepped_as_one_only_where_that_is_the_same(given):
    env = {"env": "ambidex/Triangle-v0", "n_steps": 8, "num_envs": 2, "normalize": False}
    assert isinstance(training_environment(resolve(None, "ppo", env)), TriangleVecEnv)
    config = resolve(None, "ppo", env | given)
    apart = training_environment(config)
    try:
        assert not isinstance(apart, TriangleVecEnv)
        wanted = config.env_args.get("scenario", "triangle")
        assert [scenario.name for scenario in apart.get_attr("scenario")] == [wanted] * 2
    finally:
        apart.close()
    assert robot_age(config, 100) == 50


@pytest.mark.parametrize("name", ["scenario", "evaluation", "disable_env_checker", "id"])
def test_what_a_run_tells_its_environment_is_no_argument_of_the_user_s(name):
    config = resolve("triangle", "ppo", {"env_args": {name: "triangle-rust"}})
    for make in (training_environment, evaluation_environment):
        with pytest.raises(ValueError, match=f"env_args: {name} is what a run tells its environment"):
            make(config)
