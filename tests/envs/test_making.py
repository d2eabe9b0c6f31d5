"""Why an environment is not made."""

import pytest
from gymnasium.error import DependencyNotInstalled

from ambidex.envs.making import make, refusal


def test_a_missing_simulator_is_installed_as_an_extra_of_this_package():
    error = DependencyNotInstalled('MuJoCo is not installed, run `pip install "gymnasium[mujoco]"`')
    assert refusal("Ant-v5", error) == (
        "environment 'Ant-v5': MuJoCo is not installed, run `pip install 'ambidex[mujoco]'`"
    )


def test_a_module_that_does_not_register_the_id():
    with pytest.raises(ValueError, match="gymnasium registers none of that name; did you mean 'Pendulum-v1'"):
        make("gymnasium:Pendlum-v1")


@pytest.mark.filterwarnings("ignore:.*is not in the possible render_modes")  # Gymnasium says that as well
def test_a_robot_that_takes_no_render_mode_draws_no_pictures():
    with pytest.raises(ValueError, match=r"own_robot:Cart-v0' does not draw pictures: its constructor takes"):
        make("tests.experiment.own_robot:Cart-v0", render_mode="rgb_array")
