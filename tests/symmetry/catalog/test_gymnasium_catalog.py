"""The catalog's descriptions of Gymnasium's robots against Gymnasium's own simulators.

The symmetric state is made by geometry (the world moved by the isometry, joints relabelled by where they
are), never by the tables under test. One step from it with g(a) must give f of the observation after one step
with a.
"""

from __future__ import annotations

import gymnasium
import mujoco
import numpy as np
import pytest

from ambidex.derivation.match.matching import match
from ambidex.symmetry import lint, load
from ambidex.symmetry.isometry import named

STATES = 24
ROBOTS = {
    "ant-v5": ("Ant-v5", 105, 8),
    "humanoid-v5": ("Humanoid-v5", 348, 17),
    "humanoidstandup-v5": ("HumanoidStandup-v5", 348, 17),
    "walker2d-v5": ("Walker2d-v5", 17, 6),
    "swimmer-v5": ("Swimmer-v5", 8, 2),
    "invertedpendulum-v5": ("InvertedPendulum-v5", 4, 1),
    "inverteddoublependulum-v5": ("InvertedDoublePendulum-v5", 9, 1),
}
OTHERS = {
    "reacher-v5": ("Reacher-v5", 10, 2),
    "pendulum-v1": ("Pendulum-v1", 3, 1),
    "cartpole-v1": ("CartPole-v1", 4, 2),
}


ALWAYS_SEEN = {"ant-v5": 27, "humanoid-v5": 45, "humanoidstandup-v5": 45, "inverteddoublependulum-v5": 8}


def make(name):
    environment = gymnasium.make(name).unwrapped
    if hasattr(environment, "model"):
        even_out(environment.model)
    return environment


def even_out(model):
    """Take away the solver's remaining error, and the unevenness of Gymnasium's own models."""
    model.opt.solver, model.opt.tolerance, model.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 0, 100
    model.opt.gravity[:2] = 0
    names = [model.joint(joint).name for joint in range(model.njnt)]
    for joint in ("hip_y", "knee"):
        if f"right_{joint}" in names:
            right, left = model.joint(f"right_{joint}"), model.joint(f"left_{joint}")
            right.armature, right.stiffness, right.range = left.armature, left.stiffness, left.range
    if "cpole" in [model.geom(geom).name for geom in range(model.ngeom)]:
        pole = model.body("pole").id
        model.body_ipos[pole, 0] = 0
        model.body_iquat[pole] = (1, 0, 0, 0)


def one_step_pairs(environment, symmetry, matching):
    """Observations after a step from visited states, f of them, and what came from the symmetric states."""
    generator = np.random.default_rng(0)
    low, high = environment.action_space.low, environment.action_space.high
    expected, found, rewards = [], [], []

    def step_from(qpos, qvel, action):
        environment.data.qacc_warmstart[:] = 0
        environment.set_state(qpos, qvel)
        return environment.step(action)

    for state in range(STATES):
        if state % 8 == 0:
            environment.reset(seed=state)
        for _ in range(4):
            environment.step(generator.uniform(low, high))
        qpos, qvel = environment.data.qpos.copy(), environment.data.qvel.copy()
        action = generator.uniform(low, high)
        image = matching.positions(qpos), matching.velocities(qvel)
        observation, reward, *ending = step_from(*image, symmetry.action(action))
        original, original_reward, *original_ending = step_from(qpos, qvel, action)
        found.append(observation)
        expected.append(symmetry.observation(original))
        rewards.append(reward - original_reward)
        assert ending[:2] == original_ending[:2]
    return np.array(expected), np.array(found), np.array(rewards)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_symmetric_state_moves_as_described(name):
    environment, group = make(ROBOTS[name][0]), load(name)
    for symmetry in group:
        matching = match(environment.model, symmetry.isometry)
        assert matching.is_complete
        expected, found, rewards = one_step_pairs(environment, symmetry, matching)
        off = np.median(np.abs(expected - found), axis=0)
        tolerance = 1e-4 * np.maximum(np.abs(found).max(axis=0), 0.01)
        assert (off < tolerance).all()
        assert np.median(np.abs(rewards)) < 1e-6
        wrong_sign = np.median(np.abs(expected + found), axis=0)
        always_seen = np.arange(found.shape[1]) < ALWAYS_SEEN.get(name, found.shape[1])
        assert (wrong_sign[always_seen] > 10 * tolerance[always_seen]).all()
    environment.close()


@pytest.mark.parametrize("name", ["humanoid-v5", "humanoidstandup-v5", "ant-v5"])
def test_all_external_forces_mirror(name):
    """Each body is pushed and twisted in the air, so that every element of the forces is seen."""
    environment, symmetry = make(ROBOTS[name][0]), load(name)["xz"]
    environment._contact_force_range = (-np.inf, np.inf)
    model, data, mirror = environment.model, environment.data, symmetry.isometry
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    matching = match(model, mirror)
    environment.reset(seed=0)
    generator = np.random.default_rng(1)
    qpos = environment.init_qpos + generator.normal(scale=0.1, size=model.nq)
    qpos[2] += 5
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    qvel = generator.normal(size=model.nv)
    pushes = np.zeros((model.nbody, 6))  # force, then torque
    pushes[1:] = generator.normal(size=(model.nbody - 1, 6))
    images = np.zeros_like(pushes)
    for body, partner in matching.bodies.items():
        images[partner] = np.concatenate([mirror @ pushes[body, :3], -mirror @ pushes[body, 3:]])
    observations = []
    for positions, velocities, wrench in (
        (qpos, qvel, pushes),
        (matching.positions(qpos), matching.velocities(qvel), images),
    ):
        data.xfrc_applied[:] = wrench
        environment.set_state(positions, velocities)
        mujoco.mj_rnePostConstraint(model, data)
        observations.append(environment._get_obs())
    assert np.abs(observations[0][-6 * (model.nbody - 1) :]).min() > 1e-4
    np.testing.assert_allclose(observations[1], symmetry.observation(observations[0]), atol=1e-9)
    environment.close()


@pytest.mark.parametrize(
    ("name", "isometry", "keeps_the_task"),
    [
        ("Ant-v5", "r90", False),
        ("Ant-v5", "yz", False),
        ("Swimmer-v5", "r180", False),
        ("Reacher-v5", "r90", True),
    ],
)
def test_what_the_dynamics_keep_and_the_task_does_not(name, isometry, keeps_the_task):
    """Documented besides the catalog: world rotations under which the robot moves alike."""
    environment = make(name)
    matching = match(environment.model, named(isometry))
    assert matching.is_complete
    generator = np.random.default_rng(4)
    environment.reset(seed=0)
    differences = []
    for _ in range(10):
        qpos, qvel = environment.data.qpos.copy(), environment.data.qvel.copy()
        action = generator.uniform(-1, 1, size=environment.model.nu)
        environment.data.qacc_warmstart[:] = 0
        environment.set_state(matching.positions(qpos), matching.velocities(qvel))
        image_reward = environment.step(matching.controls(action))[1]
        image = environment.data.qpos.copy(), environment.data.qvel.copy()
        environment.data.qacc_warmstart[:] = 0
        environment.set_state(qpos, qvel)
        differences.append(abs(environment.step(action)[1] - image_reward))
        np.testing.assert_allclose(image[0], matching.positions(environment.data.qpos), atol=1e-9)
        np.testing.assert_allclose(image[1], matching.velocities(environment.data.qvel), atol=1e-9)
    assert bool(max(differences) < 1e-9) is keeps_the_task
    environment.close()


REACHES = {  # what each isometry makes of the shoulder's angle, and the sign of the elbow's
    "xz": (lambda angle: -angle, -1),
    "yz": (lambda angle: np.pi - angle, -1),
    "r180": (lambda angle: np.pi + angle, 1),
}


@pytest.mark.parametrize("name", REACHES)
def test_the_reacher_reaches_in_all_directions_alike(name):
    environment, symmetry = make("Reacher-v5"), load("reacher-v5")[name]
    shoulder, sign = REACHES[name]
    generator = np.random.default_rng(2)
    environment.reset(seed=0)
    for _ in range(20):
        angles, target = generator.uniform(-2, 2, size=2), generator.uniform(-0.2, 0.2, size=2)
        speeds, action = generator.normal(size=2), generator.uniform(-1, 1, size=2)
        environment.set_state(np.concatenate([angles, target]), np.concatenate([speeds, [0, 0]]))
        start = environment._get_obs()
        observation, reward, *_ = environment.step(action)
        moved = symmetry.isometry[:2, :2] @ target
        environment.set_state(
            np.array([shoulder(angles[0]), sign * angles[1], *moved]), np.array([*(sign * speeds), 0, 0])
        )
        np.testing.assert_allclose(environment._get_obs(), symmetry.observation(start), atol=1e-9)
        found, found_reward, *_ = environment.step(symmetry.action(action))
        np.testing.assert_allclose(found, symmetry.observation(observation), atol=1e-9)
        assert found_reward == pytest.approx(reward)
    environment.close()


@pytest.mark.parametrize("name", ["pendulum-v1", "cartpole-v1"])
def test_the_classics_mirror(name):
    environment, symmetry = make(OTHERS[name][0]), load(name)["yz"]
    generator = np.random.default_rng(3)
    environment.reset(seed=0)
    for _ in range(50):
        discrete = name == "cartpole-v1"
        state = generator.uniform(-0.1, 0.1, size=4) if discrete else generator.uniform(-3, 3, size=2)
        action = generator.integers(2) if discrete else generator.uniform(-2, 2, size=1)
        environment.state = state
        observation, reward, *ending = environment.step(action)
        environment.state = -state
        environment.steps_beyond_terminated = None
        found, found_reward, *found_ending = environment.step(symmetry.action(action))
        np.testing.assert_allclose(found, symmetry.observation(observation), atol=1e-6)
        assert found_reward == pytest.approx(reward)
        assert found_ending[:2] == ending[:2]
    environment.close()


@pytest.mark.parametrize("name", ROBOTS | OTHERS)
def test_the_description_fits_the_environment(name):
    identifier, observations, actions = (ROBOTS | OTHERS)[name]
    environment, group = gymnasium.make(identifier), load(name)
    assert (group.observation_size, group.action_size) == (observations, actions)
    assert lint(group, environment) == []
    assert group.is_closed
    environment.close()
    model = getattr(environment.unwrapped, "model", None)
    limited = [actuator for actuator in group.layout.actuators if actuator.limits is not None]
    if model is not None:
        for actuator in limited:
            index = group.layout.actuators.index(actuator)
            limits = model.jnt_range[model.actuator_trnid[index, 0]]
            assert actuator.limits == pytest.approx(limits, abs=1e-3)


@pytest.mark.parametrize(("name", "plane"), [("HalfCheetah-v5", "yz"), ("Hopper-v5", "yz")])
def test_half_cheetah_and_hopper_have_no_symmetry_to_learn_from(name, plane):
    environment = gymnasium.make(name).unwrapped
    across = match(environment.model, np.diag([1.0, -1.0, 1.0]))
    assert across.is_complete and across.is_trivial  # flat robots, which this mirror does not change
    assert not match(environment.model, named(plane)).is_complete
    environment.close()
