"""Normalising commutes with the symmetry, and is otherwise Stable-Baselines3's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from ambidex.learn import SymmetricVecNormalize
from ambidex.learn.normalize import deviation_of_returns
from ambidex.symmetry import DictMap, IndexMap, MatrixMap, Symmetry, SymmetryGroup


def walk(env: VecNormalize, steps: int = 60) -> None:
    env.seed(0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        env.step(rng.uniform(-1, 1, size=(env.num_envs, *env.action_space.shape)).astype(np.float32))


@pytest.fixture
def ant_env(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> SymmetricVecNormalize:
    env = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)] * 3), symmetries=ant)
    walk(env)
    return env


def test_commutes_with_every_transform(ant: SymmetryGroup, ant_env: SymmetricVecNormalize) -> None:
    observations = np.random.default_rng(1).normal(size=(50, 28)).astype(np.float32)
    for transform in ant:
        np.testing.assert_array_equal(
            ant_env.normalize_obs(transform.observation(observations)),
            transform.observation(ant_env.normalize_obs(observations)),
        )
        assert ant_env.is_symmetric_under(transform)


def test_generators_are_enough(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> None:
    generators = SymmetryGroup([ant["r90"], ant["xz"]])
    env = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), symmetries=generators)
    assert all(env.is_symmetric_under(transform) for transform in ant)
    mirror = SymmetricVecNormalize(
        DummyVecEnv([lambda: make_world(28, 8)]), symmetries=SymmetryGroup([ant["xz"]])
    )
    assert not mirror.is_symmetric_under(ant["r90"])


@pytest.mark.parametrize("batches", [8, 400])
def test_statistics_are_those_of_all_images(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any], batches: int
) -> None:
    """Against feeding every image of every observation to plain statistics, the prior's weight apart."""
    env = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), symmetries=ant)
    observations = np.random.default_rng(1).normal(1.0, 2.0, size=(400, 28))
    for batch in np.split(observations, batches):
        env.obs_rms.update(batch)
    images = np.concatenate([observations, *(transform.observation(observations) for transform in ant)])
    np.testing.assert_allclose(env.obs_rms.mean, images.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(env.obs_rms.var, images.var(axis=0), rtol=1e-5)
    assert env.obs_rms.mean[1] == 0  # the goal's side flips under some transform
    assert env.obs_rms.count == pytest.approx(400)


def test_plain_statistics_do_not_commute(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> None:
    env = VecNormalize(DummyVecEnv([lambda: make_world(28, 8)] * 3))
    walk(env)
    observations = np.random.default_rng(1).normal(size=(50, 28)).astype(np.float32)
    there = env.normalize_obs(ant["xz"].observation(observations))
    assert np.abs(there - ant["xz"].observation(env.normalize_obs(observations))).max() > 0.1


@pytest.mark.parametrize("robots", [1, 3])
def test_rewards_are_normalised_as_by_stable_baselines3(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any], robots: int
) -> None:
    """Step by step the same numbers, in training and with the statistics held still."""
    kwargs = {"gamma": 0.9, "clip_reward": 1.5, "epsilon": 1e-6}
    venvs = [DummyVecEnv([lambda: make_world(28, 8)] * robots) for _ in range(2)]
    ours, theirs = SymmetricVecNormalize(venvs[0], symmetries=ant, **kwargs), VecNormalize(venvs[1], **kwargs)
    for env in (ours, theirs):
        env.seed(0)
        env.reset()
    rng = np.random.default_rng(0)
    rewards = []
    for step in range(80):
        if step == 60:
            ours.training = theirs.training = False
        actions = rng.uniform(-1, 1, size=(robots, 8)).astype(np.float32)
        (_, found, _, _), (_, expected, _, _) = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(ours.get_original_reward(), theirs.get_original_reward())
        rewards.append(found)
    assert np.std(rewards) > 0.1
    for name in ("mean", "var", "count"):
        np.testing.assert_array_equal(getattr(ours.ret_rms, name), getattr(theirs.ret_rms, name))
    assert ours.ret_rms.count >= 60


def test_dict_observations(world: type) -> None:
    space = spaces.Dict(
        {"legs": spaces.Box(-9, 9, (2,), np.float32), "body": spaces.Box(-9, 9, (3,), np.float32)}
    )
    mirror = Symmetry.from_maps(
        "mirror",
        DictMap({"legs": IndexMap([1, 0], [-1, -1]), "body": IndexMap([0, 1, 2], [1, -1, 1])}),
        IndexMap([0], [-1]),
    )
    env = SymmetricVecNormalize(
        DummyVecEnv([lambda: world(space, spaces.Box(-1, 1, (1,), np.float32))]),
        symmetries=SymmetryGroup([mirror]),
        norm_obs_keys=["legs", "body"],
    )
    walk(env)
    rng = np.random.default_rng(2)
    observation = {"legs": rng.normal(size=(9, 2)), "body": rng.normal(size=(9, 3))}
    here, there = env.normalize_obs(observation), env.normalize_obs(mirror.observation(observation))
    for key, expected in mirror.observation(here).items():
        np.testing.assert_array_equal(there[key], expected)
    assert env.obs_rms["legs"].mean[0] == -env.obs_rms["legs"].mean[1] != 0


def test_saved_and_loaded(ant: SymmetryGroup, ant_env: SymmetricVecNormalize, tmp_path: Path) -> None:
    ant_env.save(str(tmp_path / "statistics"))
    loaded = SymmetricVecNormalize.load(str(tmp_path / "statistics"), ant_env.venv)
    assert isinstance(loaded, SymmetricVecNormalize)
    np.testing.assert_array_equal(loaded.obs_rms.mean, ant_env.obs_rms.mean)
    walk(loaded, 5)
    assert all(loaded.is_symmetric_under(transform) for transform in ant)


def test_what_it_cannot_follow(make_world: Callable[[int, int], Any], ant: SymmetryGroup) -> None:
    turn = Symmetry.from_maps("turn", MatrixMap([[0.6, 0.8], [-0.8, 0.6]]), IndexMap([0], [-1]))
    venv = DummyVecEnv([lambda: make_world(2, 1)])
    with pytest.raises(ValueError, match="'turn' does more to observations than swapping and flipping"):
        SymmetricVecNormalize(venv, symmetries=SymmetryGroup([turn]))
    with pytest.raises(ValueError, match="are of shape \\(2,\\), but the transforms act on 28"):
        SymmetricVecNormalize(venv, symmetries=ant)


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_what_never_changes_has_no_variance(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any], rows: int
) -> None:
    """In single precision the square of a mean and the mean of squares part; no variance is below 0."""
    env = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), symmetries=ant)
    always = np.full((rows, 28), 9.81, np.float32)
    for _ in range(4000):
        env.obs_rms.update(always)
    assert 0 <= env.obs_rms.var[0] < 1e-4  # the height, which every transform leaves as it is
    assert np.isfinite(env.normalize_obs(always)).all()


def test_a_broken_element_spoils_its_own_orbit_only(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any]
) -> None:
    env = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), symmetries=ant)
    seen = np.ones((1, 28))
    seen[0, 0] = np.nan  # the height, which every transform leaves where it is
    env.obs_rms.update(seen)
    assert np.flatnonzero(np.isnan(env.obs_rms.var)).tolist() == [0]


def test_rewards_divided_twice_are_in_units_of_both(
    ant: SymmetryGroup, make_world: Callable[[int, int], Any]
) -> None:
    inner = SymmetricVecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), symmetries=ant, norm_obs=False)
    outer = VecNormalize(inner, norm_obs=False)
    walk(outer)
    expected = np.sqrt((inner.ret_rms.var + inner.epsilon) * (outer.ret_rms.var + outer.epsilon))
    assert deviation_of_returns(outer) == pytest.approx(float(expected))
    outer.norm_reward = False
    assert deviation_of_returns(outer) == pytest.approx(float(np.sqrt(inner.ret_rms.var + inner.epsilon)))


@pytest.mark.parametrize("norm_obs", [True, False])
def test_a_name_is_no_group(norm_obs: bool, make_world: Callable[[int, int], Any]) -> None:
    env = DummyVecEnv([lambda: make_world(28, 8)])
    with pytest.raises(ValueError, match=r"symmetries is a SymmetryGroup, got 'ant'; read a file"):
        SymmetricVecNormalize(env, symmetries="ant", norm_obs=norm_obs)  # type: ignore[arg-type]
