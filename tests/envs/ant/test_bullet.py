"""PyBullet's ant: states that go on elsewhere, symmetric flights, pictures that change nothing."""

from __future__ import annotations

import hashlib
import inspect
import math
import subprocess
import sys

import numpy as np
import pytest

from ambidex.envs.ant.body import Pose

pytest.importorskip("pybullet", reason="needs PyBullet, which has wheels for Python 3.11 only")

from ambidex.envs.ant.bullet import AntBulletEnv, BulletAnt


def rollout(env, generator, steps):
    """Observations, rewards and endings over several episodes."""
    record = []
    for action in generator.uniform(env.action_space.low, env.action_space.high, (steps, 8)):
        observation, reward, terminated, truncated, _ = env.step(action.astype(np.float32))
        record.append((observation.tobytes(), reward, terminated, truncated))
        if terminated or truncated:
            record.append(env.reset()[0].tobytes())
    return record


def fingerprint(record):
    return hashlib.sha256(repr(record).encode()).hexdigest()


def elsewhere(script, *arguments):
    """The last word that ``script`` prints in a new process, with `rollout` and `fingerprint` at hand."""
    helpers = inspect.getsource(rollout) + inspect.getsource(fingerprint)
    imports = "import hashlib, sys\nimport numpy as np\nfrom ambidex.envs.ant.bullet import AntBulletEnv\n"
    done = subprocess.run(
        [sys.executable, "-c", imports + helpers + script, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()[-1]


def test_a_seed_gives_the_same_episodes_in_every_process():
    script = """
env = AntBulletEnv("A4.1")
env.reset(seed=11)
print(fingerprint(rollout(env, np.random.default_rng(12), 300)))
"""
    env = AntBulletEnv("A4.1")
    env.reset(seed=5)
    rollout(env, np.random.default_rng(6), 50)  # a past that must not matter
    env.reset(seed=11)
    assert fingerprint(rollout(env, np.random.default_rng(12), 300)) == elsewhere(script)
    env.close()


@pytest.mark.parametrize("scenario", ["A1.1", "A4.1", "A6.4"])
def test_a_state_goes_on_to_the_bit_in_another_process(scenario, tmp_path):
    script = """
env = AntBulletEnv(sys.argv[1])
env.set_state(dict(np.load(sys.argv[2], allow_pickle=False)))
print(fingerprint(rollout(env, np.random.default_rng(9), 200)))
"""
    env = AntBulletEnv(scenario)
    env.reset(seed=3)
    rollout(env, np.random.default_rng(8), 137)
    file = tmp_path / "state.npz"
    np.savez(file, **env.get_state())
    here = fingerprint(rollout(env, np.random.default_rng(9), 200))
    assert here == elsewhere(script, scenario, file)
    env.close()


def test_a_state_goes_back_to_the_bit_in_the_same_environment():
    env = AntBulletEnv("A4.1")
    env.reset(seed=0)
    rollout(env, np.random.default_rng(1), 90)
    state = env.get_state()
    first = rollout(env, np.random.default_rng(2), 150)
    env.set_state(state)
    assert rollout(env, np.random.default_rng(2), 150) == first
    env.close()


def test_a_bodys_state_carries_masses_and_gravity_to_a_new_body():
    heavy, fresh = BulletAnt(), BulletAnt()
    heavy.set_foot_masses([40.0, None, 20.0, None])
    heavy.set_gravity((0.5, -0.3, -9.0))
    heavy.reset(0.3, [0.1] * 8)
    for _ in range(20):
        heavy.step([100.0, -50.0] * 4)
    fresh.set_state(heavy.get_state())
    for _ in range(20):
        heavy.step([-80.0, 60.0] * 4)
        fresh.step([-80.0, 60.0] * 4)
    assert fresh.pose() == heavy.pose()
    heavy.close()
    fresh.close()


@pytest.mark.parametrize("way", ["place", "set_state"])
def test_a_body_put_elsewhere_remembers_no_contacts(way):
    walked, fresh, again = BulletAnt(), BulletAnt(), BulletAnt()
    walked.reset(0.0, [0.0, 1.0, 0.0, -1.0] * 2)
    for _ in range(40):
        walked.step([20.0, -10.0] * 4)
    assert sum(walked.feet_on_ground()) > 0
    pose = walked.pose()
    fresh.place(pose)
    if way == "place":
        walked.place(pose)
    else:
        walked.set_state(fresh.get_state())
    again.set_state(fresh.get_state())
    for ant in (walked, fresh, again):
        for _ in range(5):
            ant.step([20.0, -10.0] * 4)
    assert walked.pose() == fresh.pose() == again.pose()
    for ant in (walked, fresh, again):
        ant.close()


def test_foot_masses_can_be_taken_back():
    ours, fresh = BulletAnt(), BulletAnt()
    ours.set_foot_masses([40.0, 20.0, None, None])
    ours.set_foot_masses([None] * 4)
    for ant in (ours, fresh):
        ant.reset(0.0, [0.1] * 8)
        for _ in range(30):
            ant.step([100.0, -50.0] * 4)
    assert ours.pose() == fresh.pose()
    ours.close()
    fresh.close()


SIGNS = {  # world isometry, leg permutation as joint indices, joint signs: written out from the geometry
    "xz": ((1, -1, 1), (6, 7, 4, 5, 2, 3, 0, 1), (-1, 1) * 4),
    "yz": ((-1, 1, 1), (2, 3, 0, 1, 6, 7, 4, 5), (-1,) * 8),
    "r180": ((-1, -1, 1), (4, 5, 6, 7, 0, 1, 2, 3), (1, -1) * 4),
}


def moved(pose, name):
    """The pose of the mirrored or turned body."""
    world, indices, signs = SIGNS[name]
    world, signs = np.array(world, float), np.array(signs, float)
    axial = world.prod() * world
    x, y, z, w = pose.orientation
    return Pose(
        world * pose.position,
        (*(axial * (x, y, z)), w),
        world * pose.linear_velocity,
        axial * pose.angular_velocity,
        signs * np.take(pose.joint_positions, indices),
        signs * np.take(pose.joint_speeds, indices),
    )


@pytest.mark.parametrize("name", SIGNS)
def test_symmetric_flights_stay_symmetric(name):
    generator = np.random.default_rng(0)
    start = Pose(
        (0.3, -0.2, 8.0),
        (0.0, 0.0, math.sin(0.3), math.cos(0.3)),
        (0.5, 0.2, 1.0),
        (0.3, -0.2, 0.4),
        [0.1, 1.1, -0.2, -1.0, 0.05, -1.2, 0.15, 1.15],
        generator.normal(size=8) * 0.2,
    )
    flight, image = BulletAnt(), BulletAnt()
    flight.place(start)
    image.place(moved(start, name))
    _, indices, signs = SIGNS[name]
    for _ in range(25):
        torques = generator.uniform(-20, 20, 8)
        flight.step(torques.tolist())
        image.step((np.array(signs) * torques[list(indices)]).tolist())
    for expected, found in zip(moved(flight.pose(), name), image.pose(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    flight.close()
    image.close()


def test_pictures_follow_the_ant_and_change_nothing():
    drawn, plain = AntBulletEnv(render_mode="rgb_array"), AntBulletEnv()
    drawn.reset(seed=1)
    plain.reset(seed=1)
    first = drawn.render()
    assert first.shape == (360, 480, 3)
    assert first.dtype == np.uint8
    assert first.std() > 20  # something is drawn
    action = np.full(8, 0.5, np.float32)
    for step in range(40):
        if step % 13 == 0:
            drawn.render()
        assert np.array_equal(drawn.step(action)[0], plain.step(action)[0])
    assert not np.array_equal(drawn.render(), first)
    assert plain.render() is None
    drawn.close()
    plain.close()
