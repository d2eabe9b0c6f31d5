"""The triangle's environments against Stable-Baselines3's own vector, and themselves in another process."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.envs import scenarios
from ambidex.envs.perturbations import FootMasses, SuddenChange, Tilt, Wear
from ambidex.envs.scenarios import Scenario
from ambidex.envs.triangle.perturbations import FrictionRegion, Load, Rust
from ambidex.envs.triangle.robot import TriangleEnv, TriangleVecEnv

SCENARIOS = ["triangle", "triangle-rust", "triangle-weight", "triangle-friction"]


def test_the_vector_keeps_stable_baselines3s_conventions() -> None:
    copies = 3
    reference = DummyVecEnv([lambda: Monitor(TriangleEnv(scenario="triangle-rust"))] * copies)
    reference.seed(0)
    first = reference.reset()
    robots = TriangleVecEnv(copies, scenario="triangle-rust", seed=0)
    robots.reset()
    parts = [wrapped.unwrapped.get_state() for wrapped in reference.envs]
    together = {
        name: np.concatenate([part[name] for part in parts]) for name in ("angles", "targets", "battery")
    }
    robots.set_state({**robots.get_state(), **together})

    random = np.random.default_rng(0)
    for step in range(50):
        actions = random.uniform(-1, 1, (copies, 3)).astype(np.float32)
        expected, rewards, dones, infos = reference.step(actions)
        observations, own_rewards, own_dones, own_infos = robots.step(actions)
        np.testing.assert_allclose(own_rewards, rewards, rtol=1e-6)
        assert own_rewards.dtype == rewards.dtype
        assert observations.dtype == expected.dtype
        assert own_dones.tolist() == dones.tolist() == [step == 49] * copies
        if step < 49:
            np.testing.assert_array_equal(observations, expected)
            assert own_infos == [{}] * copies
    for own, info in zip(own_infos, infos, strict=True):
        np.testing.assert_array_equal(own["terminal_observation"], info["terminal_observation"])
        assert own["TimeLimit.truncated"] is info["TimeLimit.truncated"] is True
        assert own["episode"]["r"] == pytest.approx(info["episode"]["r"], abs=1e-5)
        assert own["episode"]["l"] == info["episode"]["l"] == 50
    assert first.shape == observations.shape
    assert (np.abs(observations[:, :3]) <= 0.1).all()
    assert (observations[:, 3:6] == 0).all()
    assert robots.env_is_wrapped(Monitor) == [True] * copies
    assert robots.get_attr("render_mode", [0, 2]) == [None, None]


def test_the_same_seed_gives_the_same_robots() -> None:
    first, second, third = TriangleVecEnv(5, seed=1), TriangleVecEnv(5), TriangleVecEnv(5, seed=2)
    second.seed(1)
    assert (first.reset() == second.reset()).all()
    assert (first.reset() != third.reset()).any()


GO_ON = """
import json, sys
import numpy as np
from ambidex.envs.triangle.robot import TriangleEnv, TriangleVecEnv

given = json.load(sys.stdin)
rust = "triangle-rust"
env = TriangleEnv(scenario=rust) if given["single"] else TriangleVecEnv(4, scenario=rust)
env.set_state({name: np.array(value, dtype) for name, (value, dtype) in given["state"].items()})
total = 0.0
random = np.random.default_rng(0)
for _ in range(70):
    if given["single"]:
        observation, reward, _, truncated, _ = env.step(random.uniform(-1, 1, 3))
        if truncated:
            observation, _ = env.reset()
    else:
        observation, reward, _, _ = env.step(random.uniform(-1, 1, (4, 3)))
    total += float(np.sum(reward))
print(json.dumps([total, np.asarray(observation, np.float64).tolist()]))
"""


@pytest.mark.parametrize("single", [True, False])
def test_a_state_goes_on_to_the_bit_in_another_process(single: bool) -> None:
    if single:
        env: TriangleEnv | TriangleVecEnv = TriangleEnv(scenario="triangle-rust")
        env.reset(seed=7)
    else:
        env = TriangleVecEnv(4, scenario="triangle-rust", seed=7)
        env.reset()
    for _ in range(20):
        env.step(np.full((3,) if single else (4, 3), 0.1))
    state = env.get_state()
    text = json.dumps(
        {
            "single": single,
            "state": {name: (value.tolist(), str(value.dtype)) for name, value in state.items()},
        }
    )
    total = 0.0
    random = np.random.default_rng(0)
    for _ in range(70):
        if isinstance(env, TriangleEnv):
            observation, reward, _, truncated, _ = env.step(random.uniform(-1, 1, 3))
            if truncated:
                observation, _ = env.reset()
        else:
            observation, reward, _, _ = env.step(random.uniform(-1, 1, (4, 3)))
        total += float(np.sum(reward))
    other = subprocess.run(
        [sys.executable, "-c", GO_ON], input=text, capture_output=True, text=True, check=True
    )
    assert json.loads(other.stdout) == [total, np.asarray(observation, np.float64).tolist()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_checkers_have_nothing_to_say(scenario: str) -> None:
    env = gymnasium.make("ambidex/Triangle-v0", scenario=scenario, render_mode="rgb_array")
    check_env(env.unwrapped)
    check_env_sb3(env.unwrapped)


def test_evaluation_walks_the_same_starts_for_every_seed() -> None:
    first, second = TriangleEnv(evaluation=True), TriangleEnv(evaluation=True)
    starts = [first.reset()[0] for _ in range(32)]
    np.testing.assert_array_equal(starts[:16], starts[16:])
    np.testing.assert_array_equal(starts[0], second.reset(seed=3)[0])
    assert len({tuple(start) for start in starts}) == 16


def test_wear_and_sudden_change_follow_the_training_steps() -> None:
    scenario = Scenario(
        name="mine",
        env="ambidex/Triangle-v0",
        symmetry="triangle",
        description="limb 1 wears out, then a weight",
        perturbations=(
            Wear(actuators=(1,), schedule=((0, 1.0), (100, 0.5))),
            SuddenChange(step=120, change=Load(torques=(0.3, 0, 0))),
        ),
    )
    robots = TriangleVecEnv(10, scenario=scenario, seed=0)
    robots.reset()
    true = []
    for _ in range(14):
        true.append(robots.true_action_maps())
        robots.step(np.zeros((10, 3)))
    multipliers = [maps["d"][0][1] for maps in true]
    np.testing.assert_allclose(multipliers[:11], 1 / np.linspace(1, 0.5, 11))
    np.testing.assert_allclose(multipliers[11:], 2)
    assert [maps["a"][1][0] for maps in true] == pytest.approx([0] * 12 + [-0.6] * 2)

    evaluated = TriangleEnv(scenario=scenario, evaluation=True)
    evaluated.reset()
    evaluated.step(np.zeros(3))
    assert evaluated.training_steps == 0
    evaluated.training_steps = 500
    assert evaluated.true_action_maps()["d"][0][1] == pytest.approx(2)


def test_a_limb_that_is_worn_from_the_start_keeps_its_action_range() -> None:
    scenario = Scenario(
        name="mine",
        env="ambidex/Triangle-v0",
        symmetry="triangle",
        description="limb 1 is worn",
        perturbations=(Wear(actuators=(1,), schedule=((0, 0.6),)),),
    )
    assert TriangleEnv(scenario=scenario).action_space.high.tolist() == [1.0, 1.0, 1.0]


def test_wrong_use_is_named() -> None:
    env = TriangleEnv()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(3))
    env.reset()
    with pytest.raises(ValueError, match=r"shape \(3,\), got \(2,\)"):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match="not finite"):
        env.step(np.array([0, np.nan, 0]))
    with pytest.raises(ValueError, match="'angles' has shape"):
        env.set_state({**env.get_state(), "angles": np.zeros((2, 3))})
    with pytest.raises(ValueError, match="set_state"):
        env.reset(options={"goal": 1})
    with pytest.raises(ValueError, match="limb 1 is 0"):
        Rust(resistances=(1, 0, 1))
    with pytest.raises(ValueError, match="limb 2 is -1"):
        FrictionRegion(resistances=(1, 1, -1))
    with pytest.raises(ValueError, match="rgb_array"):
        TriangleEnv(render_mode="human")


def test_a_perturbation_of_the_triangle_is_refused_by_the_ant() -> None:
    from ambidex.envs.perturbations import conditions_at

    with pytest.raises(ValueError, match="triangle robot"):
        conditions_at([Load(torques=(1, 0, 0))], 0, actuators=8)


def test_scenarios_and_perturbations_of_the_ant_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'A4.1' is one of ambidex/Ant-v0, not of a triangle robot"):
        TriangleEnv(scenario="A4.1")
    ideal = scenarios.get("triangle")
    for perturbation in (FootMasses(masses=(40, None, None, None)), Tilt(degrees=5, goal=0)):
        with pytest.raises(ValueError, match="of the ant only"):
            TriangleVecEnv(2, scenario=ideal.model_copy(update={"perturbations": (perturbation,)}))


@pytest.mark.slow
def test_ppo_learns_it_within_100000_steps() -> None:
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy", TriangleVecEnv(32, seed=0), n_steps=64, batch_size=256, n_epochs=5, learning_rate=1e-3,
        gae_lambda=0.9, clip_range=0.4, policy_kwargs={"log_std_init": -1.0, "ortho_init": False}, seed=0,
        device="cpu",
    )  # fmt: skip
    model.learn(100_000)
    robots = TriangleVecEnv(500, seed=1)
    observations = robots.reset()
    total = np.zeros(500)
    for _ in range(50):
        observations, rewards, *_ = robots.step(model.predict(observations, deterministic=True)[0])
        total += rewards
    assert total.mean() > 48.5  # the best is 49.4, no action 33.5, random actions -50
