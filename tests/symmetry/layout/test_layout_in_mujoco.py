"""A layout against a simulator: Gymnasium's Ant-v5 moves as its mirrored and its turned self."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from ambidex.symmetry import lint, load
from ambidex.symmetry.isometry import named

STEPS = 40


@pytest.fixture(scope="module")
def ant():
    environment = gymnasium.make("Ant-v5", frame_skip=1, terminate_when_unhealthy=False)
    environment.reset(seed=0)
    yield environment.unwrapped
    environment.close()


def rollout(ant, start, actions):
    """The observations of an open-loop run from a start, whose first 27 observations are the state."""
    qpos = np.concatenate([[0.0, 0.0], start[:13]])
    ant.set_state(qpos, start[13:27])
    ant.data.qacc_warmstart[:] = 0
    return np.array([ant.step(action)[0] for action in actions])


@pytest.mark.parametrize("name", ["xz", "yz", "y=x", "y=-x", "r90", "r180", "r270"])
def test_the_symmetric_run_is_the_run_of_the_symmetric_start(ant, name):
    symmetry = load("ant-v5").layout.symmetry(name, named(name))
    generator = np.random.default_rng(1)
    start = ant.reset(seed=1)[0]
    start[5:13] += generator.uniform(-0.05, 0.05, size=8)
    start[13:27] += generator.normal(scale=0.5, size=14)
    actions = generator.uniform(-1, 1, size=(STEPS, 8))
    run = rollout(ant, start, actions)
    mirrored = rollout(ant, symmetry.observation(start), symmetry.action(actions))
    assert np.abs(run[:, 27:]).max() > 0.1  # feet touch the ground
    assert np.abs(run[-1, :27] - start[:27]).max() > 0.1
    np.testing.assert_allclose(mirrored, symmetry.observation(run), atol=1e-6)


def test_the_description_fits_the_environment(ant):
    group = load("ant-v5")
    assert lint(group, ant) == []
    ranges = {
        joint: tuple(ant.model.joint(f"{joint[6:]}_{joint[4]}").range) for joint in group.layout.body.joints
    }
    for actuator, action in zip(group.layout.actuators, range(8), strict=True):
        name = ant.model.joint(ant.model.actuator(action).trnid[0]).name
        assert actuator.joint == f"leg_{name[-1]}.{name[:-2]}"
        assert actuator.limits == pytest.approx(ranges[actuator.joint], abs=1e-3)
