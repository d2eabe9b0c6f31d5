"""`identify` against robots whose actuators are known, whatever the policy."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest

from ambidex import SymmetryGroup, identify, load
from ambidex.actuators.identification import expected_after_clipping
from ambidex.actuators.response import answers, moments, without_controls
from ambidex.actuators.transitions import Transitions, orbit_views
from ambidex.common.regression import expected_from
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.symmetry.layout.layout import Layout

TRIANGLE = load("triangle")
Policy = Callable[[np.ndarray], np.ndarray]


def logged(
    scenario: str, steps: int = 125, noise: float = 0.5, policy: Policy | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Observations, actions, next observations and means of 16 triangles."""
    rng = np.random.default_rng(0)
    env = TriangleVecEnv(16, scenario=scenario, seed=seed)
    states = env.reset()
    rows = []
    for _ in range(steps):
        means = np.zeros((16, 3)) if policy is None else policy(states)
        actions = means + noise * rng.standard_normal((16, 3))
        actions = np.clip(actions, env.action_space.low, env.action_space.high).astype(np.float32)
        following, _, done, _ = env.step(actions)
        rows.append([array[~done] for array in (states, actions, following, means)])
        states = following
    observations, taken, after, expected = (np.concatenate(column) for column in zip(*rows, strict=True))
    return observations, taken, after, expected


def map_errors(found: object, scenario: str) -> tuple[float, float]:
    """The largest error of a multiplier and of a bias over all action maps."""
    true = TriangleVecEnv(1, scenario=scenario).true_action_maps()
    assert true is not None
    maps = {name: found.action_map(name) for name in true}  # type: ignore[attr-defined]
    return (
        max(np.abs(maps[name].multipliers - m).max() for name, (m, _) in true.items()),
        max(np.abs(maps[name].biases - b).max() for name, (_, b) in true.items()),
    )


def test_rust_is_found_in_two_thousand_random_steps() -> None:
    found = identify(TRIANGLE, *logged("triangle-rust")[:3])
    multiplier, bias = map_errors(found, "triangle-rust")
    assert multiplier < 0.03  # the true ratios are 2, 3 and 1.5
    assert bias < 0.005
    assert found.identifiable.all()
    assert found.transitions == len(logged("triangle-rust")[0])


def test_a_constant_torque_is_found_as_an_offset() -> None:
    found = identify(TRIANGLE, *logged("triangle-weight")[:3], offsets=True)
    multiplier, bias = map_errors(found, "triangle-weight")
    assert multiplier < 0.06
    assert bias < 0.03  # of 0.3
    without = identify(TRIANGLE, *logged("triangle-weight")[:3])
    assert not without.offset.any()
    assert not without.offset_identifiable.any()


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found = identify(TRIANGLE, *logged("triangle")[:3], offsets=True)
    low, high = found.interval.scale.T
    assert ((low < 1) & (high > 1)).all()
    np.testing.assert_allclose(found.scale, 1, atol=0.01)
    np.testing.assert_allclose(found.offset, 0, atol=0.005)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    inside = []
    for seed in range(20):
        found = identify(TRIANGLE, *logged("triangle", steps=40, seed=seed)[:3], confidence=0.9)
        inside += list((found.interval.scale[:, 0] < 1) & (found.interval.scale[:, 1] > 1))
    assert 0.75 < np.mean(inside) < 0.99


def test_a_policy_that_answers_the_state_does_not_bias_it() -> None:
    """It pushes the weighed-down limb back, the more the nearer it is to its stop."""

    def policy(states: np.ndarray) -> np.ndarray:
        return -0.4 * np.tanh(3 * states[:, :3] + 0.2 * states[:, 3:6]) + 0.3 * (states[:, :3] < -0.4)

    observations, actions, following, means = logged("triangle-weight", 300, 0.15, policy)
    known = identify(TRIANGLE, observations, actions, following, means=means, offsets=True)
    assert map_errors(known, "triangle-weight")[0] < 0.02
    guessed = identify(TRIANGLE, observations, actions, following)
    assert map_errors(guessed, "triangle-weight")[0] < 0.06
    blind = identify(TRIANGLE, observations, actions, following, means=np.zeros_like(actions))
    assert map_errors(blind, "triangle-weight")[0] > 2 * map_errors(known, "triangle-weight")[0]


def test_expected_actions_do_not_know_the_noise() -> None:
    def policy(states: np.ndarray) -> np.ndarray:
        return -0.3 * np.tanh(2 * states[:, :3] - states[:, 6:9])

    observations, actions, _, means = logged("triangle", 250, 0.1, policy)
    expected = expected_from(observations.astype(float), actions.astype(float))
    noise = actions - means
    assert np.sqrt(np.mean((expected - means) ** 2)) < 0.35 * noise.std()
    assert abs(np.corrcoef((expected - means).ravel(), noise.ravel())[0, 1]) < 0.1


def test_a_robot_that_is_only_told_what_to_do_by_its_state_tells_nothing() -> None:
    def policy(states: np.ndarray) -> np.ndarray:
        return np.tanh(states[:, :3] + 0.5 * states[:, 6:9])

    observations, actions, following, means = logged("triangle-rust", 125, 0.0, policy)
    found = identify(TRIANGLE, observations, actions, following, means=means)
    assert not found.identifiable.any()
    assert all(found.reasons)
    np.testing.assert_array_equal(found.scale, 1)


def test_a_command_that_never_varies_is_named() -> None:
    observations, actions, following, _ = logged("triangle-rust")
    actions[:, 1] = 0.2
    found = identify(TRIANGLE, observations, actions, following)
    assert found.reasons[1].startswith("commands that follow from the state alone")
    assert all("the commands of a counterpart" in found.reasons[one] for one in (0, 2))


def test_a_log_in_which_nothing_moves_is_named() -> None:
    """Of joints that are locked, or of a program that logged the same array twice."""
    observations, actions, _, _ = logged("triangle-rust")
    found = identify(TRIANGLE, observations, actions, observations)
    assert not found.identifiable.any()
    assert all("never changes; are the next observations" in reason for reason in found.reasons)


def test_too_few_transitions_are_named() -> None:
    observations, actions, following, _ = logged("triangle-rust", 3)
    found = identify(TRIANGLE, observations, actions, following)
    assert not found.identifiable.any()
    assert found.reasons[0] == "there are 48 transitions; 190 are the least that can tell"


def two_limbs(axis: str) -> SymmetryGroup:
    """Mirrored limbs of one joint each; about x their commands have opposite signs, about y the same."""
    layout = Layout(
        {
            "limbs": {
                "left": {"at": [0, 1], "joints": {"hip": axis}},
                "right": {"at": [0, -1], "joints": {"hip": axis}},
            },
            "observations": [{"angles": {"joint": "position"}}, {"speeds": {"joint": "velocity"}}],
            "actions": [{"torque": "joint"}],
        }
    )
    return SymmetryGroup([layout.symmetry("xz", np.diag([1.0, -1.0, 1.0]))], layout=layout)


def moved(
    group: SymmetryGroup,
    *,
    gains: tuple[float, float] = (1.0, 0.5),
    offsets: tuple[float, float] = (0.0, 0.0),
    means: tuple[float, float] = (0.0, 0.0),
    noise: float = 0.2,
    lean: float = 0.0,
    disturbance: float = 0.05,
) -> dict[str, np.ndarray]:
    """4,000 steps of two limbs that answer a push 1 + lean and a pull 1 - lean times their torque."""
    rng = np.random.default_rng(0)
    side = np.array([1.0, group["xz"].action_map.multipliers[0]])  # type: ignore[union-attr]
    rows = []
    for step in range(4000):
        if step % 50 == 0:
            state = rng.standard_normal(4)
        action = means + noise * rng.standard_normal(2)
        torque = np.array(gains) * (action - offsets)
        effect = torque + lean * side * np.abs(torque) + disturbance * rng.standard_normal(2)
        speed = 0.9 * state[2:] - 0.1 * state[:2] + 0.2 * effect
        following = np.concatenate([state[:2] + 0.1 * speed, speed])
        rows.append((state, action, following))
        state = following
    names = ("observations", "actions", "next_observations")
    arrays = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return arrays | {"means": np.tile(means, (4000, 1))}


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("means", [(0.0, 0.0), (0.3, 0.3), (0.9, 0.9), (0.9, -0.9), (-0.6, -0.6)])
def test_commands_that_lean_to_one_side_do_not_hide_a_weak_motor(
    axis: str, means: tuple[float, float]
) -> None:
    group = two_limbs(axis)
    found = identify(group, **moved(group, means=means))
    assert found.identifiable.all()
    assert found.scale[1] / found.scale[0] == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_limbs_that_answer_a_push_and_a_pull_differently(axis: str) -> None:
    group = two_limbs(axis)
    arrays = moved(group, means=(0.2, 0.2), noise=0.4, lean=0.5)
    found = identify(group, **arrays)
    assert found.scale[1] / found.scale[0] == pytest.approx(2, rel=0.06)
    (orbit,) = orbit_views(group)
    sums = moments(orbit, Transitions(**arrays)).sum(axis=0)
    (left, right), _ = answers(orbit, without_controls(orbit, sums)[0], alike=True)
    told_apart = axis == "x"  # where one limb is pushed while the other is pulled
    assert (abs(left / right - 2) > 0.5) == told_apart


@pytest.mark.parametrize("means", [(0.0, 0.0), (0.9, 0.9)])
def test_offsets_of_limbs_whose_commands_lean_to_one_side(means: tuple[float, float]) -> None:
    """Only the difference is known: both may be moved along (1, 2), their scales."""
    group = two_limbs("y")
    found = identify(group, **moved(group, offsets=(0.2, -0.2), means=means), offsets=True)
    assert found.offset_identifiable.all()
    np.testing.assert_allclose(found.offset, [0.24, -0.12], atol=0.03)


def test_the_units_of_speed_do_not_matter() -> None:
    group = two_limbs("y")
    arrays = moved(group)
    counts = {
        name: array * (np.array([1, 1, 1e5, 1e5]) if "observations" in name else 1)
        for name, array in arrays.items()
    }
    np.testing.assert_allclose(identify(group, **counts).scale, identify(group, **arrays).scale, rtol=1e-3)


@pytest.mark.parametrize("lean", [0.0, 0.5])
def test_a_reversed_motor_is_named(lean: float) -> None:
    group = two_limbs("y")
    found = identify(group, **moved(group, gains=(1.0, -0.5), lean=lean))
    assert "the other way round: is its motor" in found.reasons[1]
    assert "a counterpart of it" in found.reasons[0]
    assert not found.identifiable.any()


@pytest.mark.parametrize("disturbance", [0.0, 0.1])
def test_a_dead_motor_is_named(disturbance: float) -> None:
    group = two_limbs("y")
    found = identify(group, **moved(group, gains=(1.0, 0.0), disturbance=disturbance))
    assert found.reasons[1] == "its joint hardly answers its command"
    assert "a counterpart of it" in found.reasons[0]
    assert not found.identifiable.any()


def test_commands_that_come_together_are_told_apart() -> None:
    """A limb whose speed also answers its neighbour's command, and commands that are correlated."""
    rng = np.random.default_rng(0)
    observations, actions, following, _ = logged("triangle")
    actions = actions + 0.5 * rng.standard_normal((len(actions), 1))  # now they share a part
    speeds = slice(3, 6)
    following = observations.copy()
    following[:, speeds] += actions + 0.5 * np.roll(actions, 1, axis=1) + 0.5 * np.roll(actions, 2, axis=1)
    found = identify(TRIANGLE, observations, actions, following)
    np.testing.assert_allclose(found.scale, 1, atol=1e-3)


def test_the_expected_clipped_action_is_the_mean_of_many() -> None:
    means, deviation = np.array([[0.2, -2.0, 5.0, 0.3]]), np.array([0.5, 1.0, 0.7, 0.4])
    low, high = np.array([-1.0, -1.5, -np.inf, -np.inf]), np.array([0.4, 3.0, 5.5, np.inf])
    drawn = means + deviation * np.random.default_rng(0).standard_normal((400_000, 4))
    np.testing.assert_allclose(
        expected_after_clipping(means, deviation, low, high)[0],
        np.clip(drawn, low, high).mean(axis=0),
        atol=5e-3,
    )


def test_gymnasiums_ant_with_two_weak_motors() -> None:
    """A robot of somebody else, without contacts: leg_1's hip at half, leg_4's ankle at 0.7 of its gain."""
    group = load("ant-v5")
    gains = np.ones(8)
    gains[[1, 2]] = 0.7, 0.5
    env = gym.make("Ant-v5")
    rng = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    rows = []
    for _ in range(3000):
        action = np.clip(0.4 * rng.standard_normal(8), -1, 1)
        following, _, terminated, truncated, _ = env.step(gains * action)
        rows.append((state, action, following))
        state = env.reset()[0] if terminated or truncated else following
    found = identify(group, *map(np.array, zip(*rows, strict=True)), offsets=False)
    assert found.identifiable.all()
    assert found.scale[2] / found.scale[0] == pytest.approx(2.0, rel=0.1)
    assert found.scale[1] / found.scale[3] == pytest.approx(1 / 0.7, rel=0.1)
    np.testing.assert_allclose(found.scale[4:], 1, atol=0.06)


def test_wrong_input_is_named() -> None:
    observations, actions, following, _ = logged("triangle", 8)
    with pytest.raises(ValueError, match="there are no transitions"):
        identify(TRIANGLE, observations[:0], actions[:0], following[:0])
    with pytest.raises(ValueError, match="actions: expected a row of 3 per transition"):
        identify(TRIANGLE, observations, actions[:, :2], following)
    with pytest.raises(ValueError, match=r"next_observations has 127 rows, but there are 128 observations"):
        identify(TRIANGLE, observations, actions, following[:-1])
    actions[5, 1] = np.nan
    with pytest.raises(ValueError, match="actions: row 5, element 1 is nan"):
        identify(TRIANGLE, observations, actions, following)
    with pytest.raises(ValueError, match="confidence"):
        identify(TRIANGLE, observations, actions, following, confidence=1.0)
