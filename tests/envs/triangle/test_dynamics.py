"""The triangle robot's movement against a scalar loop, its symmetries and true maps against the paper's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambidex.envs.scenarios import Scenario
from ambidex.envs.triangle import dynamics
from ambidex.envs.triangle.perturbations import Load, Rust, TriangleConditions
from ambidex.envs.triangle.robot import TriangleEnv, TriangleVecEnv
from ambidex.symmetry import load

# For each transform: which limb each limb reads, and the sign (the paper's section "Setup").
TABLES = {
    "a": ([0, 2, 1], -1),
    "b": ([2, 1, 0], -1),
    "c": ([1, 0, 2], -1),
    "d": ([2, 0, 1], 1),
    "e": ([1, 2, 0], 1),
}


def mirrored(observation: np.ndarray, transform: str) -> np.ndarray:
    limbs, sign = TABLES[transform]
    joints = [sign * observation[..., first:][..., limbs] for first in (0, 3, 6)]
    return np.concatenate([*joints, observation[..., 9:]], axis=-1)


def mirrored_state(state: dict[str, np.ndarray], transform: str) -> dict[str, np.ndarray]:
    limbs, sign = TABLES[transform]
    turned = {name: sign * state[name][:, limbs] for name in ("angles", "speeds", "targets")}
    return {**state, **turned}


def scalar_step(angle: float, speed: float, torque: float) -> tuple[float, float]:
    acceleration = (torque - 0.06 * speed - 0.4 * angle) / 0.004
    speed = min(max(speed + 0.05 * acceleration, -30.0), 30.0)
    angle += 0.05 * speed
    if abs(angle) > 1.5:
        return (1.5 if angle > 0 else -1.5), 0.0
    return angle, speed


def test_a_step_is_that_of_a_scalar_loop() -> None:
    env = TriangleEnv(scenario="triangle-rust")
    observation, _ = env.reset(seed=1)
    state = env.get_state()
    angles, speeds, targets = state["angles"][0].tolist(), [0.0] * 3, state["targets"][0].tolist()
    battery = float(state["battery"][0])
    np.testing.assert_allclose(observation, [*angles, *speeds, *targets, battery], rtol=1e-6)
    random = np.random.default_rng(0)
    for _ in range(50):
        action = random.uniform(-1.2, 1.2, 3)
        torques = [min(max(a, -1.0), 1.0) / r for a, r in zip(action, (1, 2, 3), strict=True)]
        moved = [scalar_step(*limb) for limb in zip(angles, speeds, torques, strict=True)]
        angles, speeds = [angle for angle, _ in moved], [speed for _, speed in moved]
        battery -= 0.02 * sum(torque**2 for torque in torques) / 3
        tracking = 4.0 * sum((a - t) ** 2 for a, t in zip(angles, targets, strict=True)) / 3
        calm = 0.04 * sum(speed**2 for speed in speeds) / 3

        observation, reward, terminated, truncated, info = env.step(action.astype(np.float64))
        np.testing.assert_allclose(observation, [*angles, *speeds, *targets, battery], rtol=1e-6, atol=1e-7)
        assert info == pytest.approx({"tracking_cost": tracking, "speed_cost": calm})
        assert reward == pytest.approx(1 - tracking - calm)
        assert not terminated
    assert truncated


def test_a_held_torque_ends_where_the_spring_balances_it() -> None:
    angles, speeds = np.zeros(3), np.zeros(3)
    for _ in range(200):
        angles, speeds = dynamics.move(angles, speeds, np.array([0.2, -0.1, 1.0]))
    np.testing.assert_allclose(angles, [0.5, -0.25, 1.5], atol=1e-12)
    np.testing.assert_allclose(speeds, 0.0, atol=1e-12)


def test_a_neutral_robot_rests_and_earns_one() -> None:
    env = TriangleEnv()
    env.reset(seed=0)
    state = env.get_state()
    env.set_state({**state, **{name: np.zeros((1, 3)) for name in ("angles", "speeds", "targets")}})
    for _ in range(10):
        observation, reward, *_ = env.step(np.zeros(3, np.float32))
        assert reward == 1.0
        assert not observation[:9].any()


def test_an_empty_battery_drives_nothing_but_a_load_still_pulls() -> None:
    loads = np.array([0.3, 0.0, 0.0])
    conditions = TriangleConditions(gains=np.ones(3), ranges=np.ones(3), loads=loads)
    actions = np.full((2, 3), 0.5)
    torques = dynamics.torques(actions, np.zeros((2, 3)), np.array([0.0, 0.1]), conditions)
    np.testing.assert_allclose(torques, [[0.3, 0, 0], [0.8, 0.5, 0.5]])
    assert (dynamics.drain(np.array([0.0, 1e-9]), torques) == 0).all()


@pytest.mark.parametrize("transform", TABLES)
def test_the_ideal_robot_is_symmetric(transform: str) -> None:
    limbs, sign = TABLES[transform]
    robots, images = TriangleVecEnv(20, seed=3), TriangleVecEnv(20)
    robots.reset()
    images.set_state(mirrored_state(robots.get_state(), transform))
    random = np.random.default_rng(0)
    for _ in range(49):
        actions = random.uniform(-1, 1, (20, 3))
        observations, rewards, *_ = robots.step(actions)
        image_observations, image_rewards, *_ = images.step(sign * actions[:, limbs])
        assert (image_observations[:, :9] == mirrored(observations, transform)[:, :9]).all()
        np.testing.assert_allclose(image_observations[:, 9], observations[:, 9], rtol=1e-6)
        np.testing.assert_allclose(image_rewards, rewards, rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    resistances=st.tuples(*[st.floats(0.5, 3.0)] * 3),
    loads=st.tuples(*[st.floats(-0.3, 0.3)] * 3),
    transform=st.sampled_from(sorted(TABLES)),
)
def test_true_action_maps_restore_the_symmetry_of_a_perturbed_robot(
    resistances: tuple[float, float, float], loads: tuple[float, float, float], transform: str
) -> None:
    limbs, _ = TABLES[transform]
    scenario = Scenario(
        name="mine",
        env="ambidex/Triangle-v0",
        symmetry="triangle",
        description="rust and a weight",
        perturbations=(Rust(resistances=resistances), Load(torques=loads)),
    )
    robots, images = TriangleVecEnv(4, scenario=scenario, seed=1), TriangleVecEnv(4, scenario=scenario)
    robots.reset()
    images.set_state(mirrored_state(robots.get_state(), transform))
    maps = robots.true_action_maps()
    assert maps is not None
    multipliers, biases = maps[transform]
    random = np.random.default_rng(0)
    for _ in range(20):
        actions = random.uniform(-0.05, 0.05, (4, 3))
        observations, rewards, *_ = robots.step(actions)
        image_observations, image_rewards, *_ = images.step(multipliers * actions[:, limbs] + biases)
        np.testing.assert_allclose(image_observations, mirrored(observations, transform), atol=1e-6)
        np.testing.assert_allclose(image_rewards, rewards, atol=1e-5)


def test_true_action_maps_are_the_papers() -> None:
    rust = TriangleEnv(scenario="triangle-rust").true_action_maps()
    weight = TriangleEnv(scenario="triangle-weight").true_action_maps()
    assert rust is not None
    assert weight is not None
    by_hand = {
        "a": [-1, -2 / 3, -3 / 2],
        "b": [-1 / 3, -1, -3],
        "c": [-1 / 2, -2, -1],
        "d": [1 / 3, 2, 3 / 2],
        "e": [1 / 2, 2 / 3, 3],
    }
    for transform, multipliers in by_hand.items():
        np.testing.assert_allclose(rust[transform][0], multipliers)
        np.testing.assert_allclose(rust[transform][1], 0, atol=1e-15)
    np.testing.assert_allclose(weight["a"], ([-1, -1, -1], [-0.6, 0, 0]))  # the paper's y = -x - 6, in tenths
    np.testing.assert_allclose(weight["d"], ([1, 1, 1], [-0.3, 0.3, 0]))
    assert TriangleEnv(scenario="triangle-friction").true_action_maps() is None


def test_the_friction_regions_map_depends_on_the_angle_as_in_the_paper() -> None:
    robots, images = (TriangleVecEnv(200, scenario="triangle-friction", seed=1) for _ in range(2))
    robots.reset()
    state = robots.get_state()
    images.set_state(mirrored_state(state, "a"))
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, (200, 3))
    in_order = state["angles"][:, 0] > 0  # so the image is in the region
    image_actions = -actions[:, [0, 2, 1]]
    image_actions[:, 0] = np.where(in_order, -2 * actions[:, 0], -0.5 * actions[:, 0])
    observations, *_ = robots.step(actions)
    image_observations, *_ = images.step(image_actions)
    np.testing.assert_allclose(image_observations, mirrored(observations, "a"), atol=1e-6)
    assert 50 < in_order.sum() < 150


def test_the_catalogs_description_is_the_robots() -> None:
    group = load("triangle")
    observation = np.random.default_rng(0).normal(size=10)
    action = np.random.default_rng(1).normal(size=3)
    assert set(group.names) == set(TABLES)
    for transform, (limbs, sign) in TABLES.items():
        np.testing.assert_array_equal(
            group[transform].observation(observation), mirrored(observation, transform)
        )
        np.testing.assert_array_equal(group[transform].action(action), sign * action[limbs])


def best_gains(discount: float = 0.99) -> np.ndarray:
    """The best torque of one limb as a linear function of (angle, speed, target), by Riccati iteration."""
    transition = np.array([[0.75, 0.0125, 0.0], [-5.0, 0.25, 0.0], [0.0, 0.0, 1.0]])
    control = np.array([[0.625], [12.5], [0.0]])
    cost = 4.0 * np.outer([1, 0, -1], [1, 0, -1]) + 0.04 * np.diag([0, 1, 0])
    value = np.zeros((3, 3))
    for _ in range(2000):
        total = cost + discount * value
        cross = transition.T @ total @ control
        gains = -np.linalg.solve(control.T @ total @ control, cross.T)
        value = transition.T @ total @ transition + cross @ gains
    return gains[0]


def play(gains: np.ndarray, scenario: str, scale: np.ndarray, shift: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean return of linear feedback, and the largest torque that it asks of each limb."""
    robots = TriangleVecEnv(2000, scenario=scenario, seed=5)
    observations = robots.reset()
    largest = np.zeros(3)
    total = np.zeros(2000)
    for _ in range(50):
        joints = observations[:, :9].reshape(-1, 3, 3).astype(np.float64)
        actions = scale * np.einsum("k,nki->ni", gains, joints) + shift
        largest = np.maximum(largest, np.abs(actions).max(axis=0))
        observations, rewards, *_ = robots.step(actions)
        total += rewards
    return float(total.mean()), largest


def test_the_best_policy_is_linear_shows_the_true_ratios_and_does_not_saturate() -> None:
    gains = best_gains()
    ideal, torques = play(gains, "triangle", np.ones(3), np.zeros(3))
    assert (torques < 1 / 3).all()
    rusty, actions = play(gains, "triangle-rust", np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert rusty == pytest.approx(ideal, abs=1e-6)
    assert (actions < 1).all()
    np.testing.assert_allclose(actions / torques, [1, 2, 3], rtol=1e-6)
    weighed, actions = play(gains, "triangle-weight", np.ones(3), np.array([-0.3, 0.0, 0.0]))
    assert weighed == pytest.approx(ideal, abs=1e-6)
    assert (actions < 1).all()
    for element in range(3):
        for factor in (0.9, 1.1):
            worse = gains.copy()
            worse[element] *= factor
            assert play(worse, "triangle", np.ones(3), np.zeros(3))[0] < ideal
