"""A policy's symmetry, by geometry alone."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from ambidex.symmetry import load
from ambidex.verification.policy_symmetry import policy_symmetry

TRIANGLE = {"xz": "a", "m120": "b", "m60": "c", "r120": "d", "r240": "e"}


def towards_targets(observation: Any, gains: Any = 1.0) -> Any:
    """Each limb is driven toward its own target: symmetric where all gains are equal."""
    return np.clip(gains * (observation[6:9] - observation[:3]), -1, 1).astype(np.float32)


def test_a_symmetric_policy_measures_zero_under_all_isometries_of_the_robot() -> None:
    env = gymnasium.make("ambidex/Triangle-v0", evaluation=True)
    measured = policy_symmetry(towards_targets, env, episodes=2)
    assert {result.isometry for result in measured} == set(TRIANGLE)
    for result in measured:
        np.testing.assert_allclose(result.canonical, 0, atol=1e-6)
        np.testing.assert_allclose(result.equivariance, 0, atol=1e-6)


def test_a_limb_that_is_driven_harder_shows_where_it_changes_places() -> None:
    env = gymnasium.make("ambidex/Triangle-v0", evaluation=True)
    gains = np.array([1.0, 1.0, 2.0])
    measured = policy_symmetry(lambda observation: towards_targets(observation, gains), env, episodes=16)
    by_name = {result.isometry: result for result in measured}
    mirror = by_name["xz"]  # limb 0 stays, 1 and 2 change places
    assert mirror.equivariance[0] == pytest.approx(0, abs=1e-6)
    assert min(mirror.equivariance[1:]) > 0.1
    assert mirror.canonical[0] == pytest.approx(0, abs=1e-6)
    assert min(mirror.canonical[1:]) > 0.05
    assert mirror.gait[0] == 0
    assert mirror.gait[2] > 0.1  # limb 2 moves further than limb 1
    assert mirror.gait[1] == -mirror.gait[2]


def test_an_equivariance_residual_is_the_mean_over_the_spread() -> None:
    """Against a loop with the paper's table, which the measure itself does not use."""
    env = gymnasium.make("ambidex/Triangle-v0", evaluation=True)
    weights = np.random.default_rng(0).normal(size=(3, 10)) / 10
    seen: list[Any] = []

    def act(observation: Any) -> Any:
        seen.append(np.array(observation))
        return np.clip(weights @ observation, -1, 1).astype(np.float32)

    (result,) = [r for r in policy_symmetry(act, env, episodes=1) if r.isometry == "r120"]
    symmetry = load("triangle")["d"]
    visited = seen[5:50:5]  # of the one episode of 50 steps
    actions = np.array([act(observation) for observation in visited])
    taken = np.array([act(symmetry.observation(observation)) for observation in visited])
    expected = np.abs(taken - symmetry.action(actions)).mean(axis=0) / actions.std(axis=0)
    np.testing.assert_allclose(result.equivariance, expected, rtol=1e-4)


@pytest.mark.pybullet
def test_the_ants_physics_is_left_as_it_is() -> None:
    env = gymnasium.make("ambidex/Ant-v0", evaluation=True)
    measured = policy_symmetry(lambda observation: np.zeros(8, np.float32), env, episodes=1)
    assert {result.isometry for result in measured} == set(load("ant").names)
    assert env.unwrapped.simulator.solver_iterations == 5  # type: ignore[attr-defined]


def test_an_environment_without_known_geometry_is_not_measured() -> None:
    assert policy_symmetry(lambda observation: 0, gymnasium.make("CartPole-v1")) == []


def test_episodes_too_short_to_visit_a_state_are_not_measured() -> None:
    env = gymnasium.wrappers.TimeLimit(gymnasium.make("ambidex/Triangle-v0", evaluation=True), 3)
    assert policy_symmetry(towards_targets, env, episodes=2) == []
