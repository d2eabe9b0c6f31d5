"""The MuJoCo ant against PyBullet's geometry, its own mirror images, and itself in another process."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from ambidex.envs import scenarios
from ambidex.envs.ant.body import Pose
from ambidex.envs.ant.mujoco import AntMujocoEnv, MujocoAnt, euler_angles
from ambidex.envs.perturbations import Tilt
from ambidex.symmetry import load

# The goal that each transform makes of goal k: the bearing of goal k is 45 k degrees.
IMAGE_OF_GOAL = {
    "xz": lambda k: -k,
    "yz": lambda k: 4 - k,
    "y=x": lambda k: 2 - k,
    "y=-x": lambda k: -2 - k,
    "r90": lambda k: k + 2,
    "r180": lambda k: k + 4,
    "r270": lambda k: k - 2,
}
EXACT = {"xz", "yz", "r180"}
TILTED = scenarios.Scenario(
    name="tilted",
    env="ambidex/AntMujoco-v0",
    symmetry="ant",
    description="the ground falls toward goal 2",
    perturbations=(Tilt(degrees=5, goal=2),),
)


def random_pose(random: np.random.Generator) -> Pose:
    orientation = random.normal(size=4)
    return Pose(
        position=random.normal(size=3).tolist(),
        orientation=(orientation / np.linalg.norm(orientation)).tolist(),
        linear_velocity=random.normal(size=3).tolist(),
        angular_velocity=random.normal(size=3).tolist(),
        joint_positions=random.uniform(-1, 1, 8).tolist(),
        joint_speeds=random.normal(size=8).tolist(),
    )


@pytest.mark.pybullet
def test_it_has_pybullets_geometry_masses_and_limits() -> None:
    from ambidex.envs.ant.bullet import BulletAnt

    ant, bullet = MujocoAnt(), BulletAnt()
    random = np.random.default_rng(0)
    for _ in range(20):
        pose = random_pose(random)
        ant.place(pose)
        bullet.place(pose)
        ours, theirs = ant.read(), bullet.read()
        for field in ("joint_positions", "joint_speeds", "torso_position", "torso_velocity", "center"):
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=1e-6)
        np.testing.assert_allclose(ours.torso_angles, theirs.torso_angles, atol=1e-6)
    np.testing.assert_allclose(ant.joint_limits, bullet.joint_limits, atol=1e-7)
    torso, hip, leg, foot = 65.44985, 7.83155, 7.83155, 13.51844  # what getDynamicsInfo tells
    np.testing.assert_allclose(ant.model.body_mass[1:], [torso + 4 * hip] + [leg, foot] * 4, rtol=1e-6)
    bullet.close()


def test_a_placed_pose_is_read_back() -> None:
    ant = MujocoAnt()
    pose = random_pose(np.random.default_rng(1))
    ant.place(pose)
    for ours, given in zip(ant.pose(), pose, strict=True):
        np.testing.assert_allclose(ours, given, atol=1e-12)


@pytest.mark.pybullet
def test_euler_angles_are_pybullets() -> None:
    import pybullet

    random = np.random.default_rng(0)
    for _ in range(100):
        w, x, y, z = random.normal(size=4)
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w / norm, x / norm, y / norm, z / norm
        np.testing.assert_allclose(
            euler_angles(w, x, y, z), pybullet.getEulerFromQuaternion((x, y, z, w)), atol=1e-6
        )


def test_a_reading_is_of_the_state_after_the_step() -> None:
    ant = MujocoAnt()
    ant.reset(0.3, [0.0] * 8)
    for _ in range(40):
        ant.step([100.0, -100.0] * 4)
    reading = ant.read()
    fresh = mujoco.MjData(ant.model)
    fresh.qpos[:] = ant.data.qpos
    mujoco.mj_forward(ant.model, fresh)
    parts = [fresh.body(f"{part}_{leg}").xpos for part in ("leg", "foot") for leg in range(4)]
    parts += [fresh.geom(f"{part}_{leg}").xpos for part in ("hip", "leg", "foot") for leg in range(4)]
    center = (np.sum(parts, axis=0) + fresh.body("torso").xpos) / 22
    np.testing.assert_allclose(reading.center, center[:2], atol=1e-12)


def test_feet_touch_the_ground_only_when_they_do() -> None:
    ant = MujocoAnt()
    ant.reset(0.0, [0.0] * 8)
    ant.step([0.0] * 8)
    assert ant.feet_on_ground() == [0.0] * 4
    for _ in range(200):
        ant.step([0.0] * 8)
    assert ant.feet_on_ground() == [1.0] * 4
    standing = ant.pose()
    raised = standing._replace(position=(0.0, 0.0, standing.position[2] + 0.5))
    ant.place(raised)
    ant.step([0.0] * 8)
    assert ant.feet_on_ground() == [0.0] * 4


@pytest.mark.parametrize("transform", IMAGE_OF_GOAL)
def test_mirrored_trajectories_stay_mirrored(transform: str) -> None:
    """All of the body, of the floor's contacts, and the reward; observations up to their Euler angles."""
    symmetry = load("ant")[transform]
    random = np.random.default_rng(3)
    ant, image = AntMujocoEnv(), AntMujocoEnv()
    tilt_error = 0.0
    contacts = 0.0
    for goal in (0, 3):
        start = random.uniform(-0.1, 0.1, 8)
        options = {"goal": goal, "joint_positions": start}
        image_options = {
            "goal": IMAGE_OF_GOAL[transform](goal) % 8,
            "joint_positions": symmetry.action(start),
        }
        ant.reset(options=options)
        image.reset(options=image_options)
        for _ in range(100):
            action = random.uniform(-0.5, 0.5, 8)
            observation, reward, *_ = ant.step(action)
            image_observation, image_reward, *_ = image.step(symmetry.action(action))
            body, image_body = ant.simulator.pose(), image.simulator.pose()
            for field in ("joint_positions", "joint_speeds"):
                expected = symmetry.action(np.array(getattr(body, field)))
                np.testing.assert_allclose(getattr(image_body, field), expected, atol=1e-6)
            assert image_body.position[2] == pytest.approx(body.position[2], abs=1e-6)
            assert image_reward == pytest.approx(reward, abs=1e-5)
            errors = np.abs(image_observation - symmetry.observation(observation))
            assert errors[[0, 5, *range(8, 28)]].max() < 1e-6
            tilt_error = max(tilt_error, errors.max())
            contacts += observation[24:].sum()
    assert contacts > 50
    assert tilt_error < (1e-6 if transform in EXACT else 0.06)


GO_ON = """
import json, sys
import numpy as np
from ambidex.envs.ant.mujoco import AntMujocoEnv

given = json.load(sys.stdin)
env = AntMujocoEnv(given["scenario"])
if given["state"] is None:
    env.reset(seed=5)
else:
    env.set_state({name: np.array(value, dtype) for name, (value, dtype) in given["state"].items()})
random = np.random.default_rng(given["seed"])
rows = []
for _ in range(120):
    observation, reward, terminated, truncated, info = env.step(random.uniform(-0.7, 0.7, 8))
    rows.append([float(reward), *map(float, observation), *env.simulator.data.qpos.tolist()])
    if terminated or truncated:
        env.reset()
print(json.dumps(rows))
"""


def go_on(env: AntMujocoEnv, seed: int) -> list[list[float]]:
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(120):
        observation, reward, terminated, truncated, _ = env.step(random.uniform(-0.7, 0.7, 8))
        rows.append([float(reward), *map(float, observation), *env.simulator.data.qpos.tolist()])
        if terminated or truncated:
            env.reset()
    return rows


def elsewhere(scenario: str, seed: int, state: dict[str, np.ndarray] | None) -> list[list[float]]:
    plain = state and {name: (value.tolist(), str(value.dtype)) for name, value in state.items()}
    text = json.dumps({"scenario": scenario, "seed": seed, "state": plain})
    command = [sys.executable, "-W", "ignore", "-c", GO_ON]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    rows: list[list[float]] = json.loads(done.stdout)
    return rows


def test_the_same_seed_gives_the_same_trajectory_in_another_process() -> None:
    env = AntMujocoEnv("A3.1")
    env.reset(seed=5)
    assert go_on(env, 1) == elsewhere("A3.1", 1, None)


@pytest.mark.parametrize("scenario", ["A4.1", "A6.4"])
def test_a_state_goes_on_to_the_bit_in_another_process(scenario: str) -> None:
    env = AntMujocoEnv(scenario)
    env.reset(seed=2)
    go_on(env, 7)
    while not any(env.simulator.feet_on_ground()):
        env.step(np.full(8, 0.1))
    state = env.get_state()
    assert go_on(env, 1) == elsewhere(scenario, 1, state)


def test_foot_masses_scale_the_inertia_and_can_be_taken_back() -> None:
    ant = MujocoAnt()
    own_mass, own_inertia = ant.model.body_mass.copy(), ant.model.body_inertia.copy()
    own_weights = ant.model.body_invweight0.copy()
    ant.set_foot_masses([None, 27.036881, None, 6.0])
    feet = [ant.model.body(f"foot_{leg}").id for leg in range(4)]
    np.testing.assert_allclose(ant.model.body_mass[feet], [13.51844, 27.036881, 13.51844, 6.0], rtol=1e-6)
    np.testing.assert_allclose(ant.model.body_inertia[feet[1]], 2 * own_inertia[feet[1]], rtol=1e-6)
    np.testing.assert_allclose(ant.model.body_subtreemass[1], own_mass.sum() + 13.51844 - 7.51844, rtol=1e-6)
    assert (ant.model.body_invweight0 != own_weights).any()
    ant.set_foot_masses([None] * 4)
    assert (ant.model.body_mass == own_mass).all()
    assert (ant.model.body_inertia == own_inertia).all()
    np.testing.assert_allclose(ant.model.body_invweight0, own_weights, rtol=1e-12)


def test_a_change_of_masses_leaves_the_movement_as_it_is() -> None:
    ant = MujocoAnt()
    pose = random_pose(np.random.default_rng(0))
    ant.place(pose)
    before = ant.get_state()["physics"]
    ant.set_foot_masses([20.0, None, None, None])
    assert (ant.get_state()["physics"] == before).all()


def test_gravity_tilts_toward_the_goal_of_the_scenario() -> None:
    env = AntMujocoEnv(TILTED)
    env.reset(options={"goal": 3})
    bearing, slope = math.radians(45 * (2 - 3)), math.radians(5)
    expected = [math.sin(slope) * math.cos(bearing), math.sin(slope) * math.sin(bearing), -math.cos(slope)]
    np.testing.assert_allclose(env.simulator.model.opt.gravity, 9.8 * np.array(expected))


def test_multipliers_reach_the_motors() -> None:
    multipliers = np.array(scenarios.get("A3.1").perturbations[0].multipliers, np.float32)
    ideal, driven = AntMujocoEnv(), AntMujocoEnv("A3.1")
    for env in (ideal, driven):
        env.reset(seed=0, options={"goal": 0, "joint_positions": [0.0] * 8})
    random = np.random.default_rng(0)
    for _ in range(20):
        action = random.uniform(-1, 1, 8).astype(np.float32)
        ideal.step(action)
        driven.step(action / multipliers)
        np.testing.assert_allclose(driven.simulator.data.ctrl, 250 * action, rtol=1e-5)
    np.testing.assert_allclose(driven.simulator.pose().position, ideal.simulator.pose().position, atol=1e-4)


def test_it_survives_the_wildest_actions() -> None:
    env = AntMujocoEnv()
    env.reset(seed=0)
    random = np.random.default_rng(0)
    for _ in range(3000):
        observation, _, terminated, truncated, _ = env.step(random.choice([-1.0, 1.0], 8))
        assert np.isfinite(observation).all()
        if terminated or truncated:
            env.reset()
    assert not any(env.simulator.data.warning.number)


def test_a_start_beyond_the_limits_is_brought_to_them() -> None:
    env = AntMujocoEnv()
    env.reset(options={"goal": 0, "joint_positions": [0.1, 0.1, -0.1, 0.1, 0.0, 0.0, 2.0, 1.0]})
    knee = math.radians(30)
    np.testing.assert_allclose(
        env.simulator.pose().joint_positions, [0.1, knee, -0.1, -knee, 0.0, -knee, math.radians(40), 1.0]
    )


def test_without_pybullet_it_walks_but_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    AntMujocoEnv().reset()
    with pytest.raises(ImportError, match=r"ambidex\[pybullet\]"):
        AntMujocoEnv(render_mode="rgb_array")


@pytest.mark.pybullet
@pytest.mark.parametrize("scenario", ["A1.1", "A4.1"])
def test_the_checkers_have_nothing_to_say(scenario: str) -> None:
    env = gymnasium.make("ambidex/AntMujoco-v0", scenario=scenario, render_mode="rgb_array")
    check_env(env.unwrapped)
    check_env_sb3(env.unwrapped)
    env.close()
