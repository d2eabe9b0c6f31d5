"""The short roll-out against Stable-Baselines3's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CheckpointCallback,
    EvalCallback,
    StopTrainingOnMaxEpisodes,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from ambidex.learn.update.fast import rollout
from ambidex.learn.update.fast.plain_mlp import why_not_plain


class Drifting(gymnasium.Env[np.ndarray, np.ndarray]):
    """Falls (terminates) or runs out of time (truncates); its goals take turns."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (5,), np.float32)
    action_space = gymnasium.spaces.Box(-0.7, 0.4, (3,), np.float32)

    def __init__(self, first_goal: int = 0) -> None:
        self.goal = first_goal

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.goal += 1
        self.time = 0
        self.state = self.np_random.normal(size=5).astype(np.float32)
        return self.state, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.time += 1
        noise = self.np_random.normal(size=5).astype(np.float32)
        self.state = (0.9 * self.state + 0.3 * noise).astype(np.float32)
        self.state[:3] += action
        reward = float(1 - np.abs(self.state).sum() / 10)
        info = {"goal": self.goal, "is_success": self.goal % 2 == 0}
        return self.state, reward, bool(self.state[4] > 0.7), self.time >= 9, info


def copied(value: Any) -> np.ndarray:
    return value.numpy().copy() if isinstance(value, torch.Tensor) else np.array(value)


class Recorder(BaseCallback):
    """Keeps a copy of the locals that a callback of Stable-Baselines3 may read."""

    names = ("n_steps", "obs_tensor", "actions", "values", "log_probs", "clipped_actions", "new_obs", "dones")

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__()
        self.seen: list[dict[str, np.ndarray]] = []
        self.events: list[str] = []
        self.stop_after = stop_after

    def _on_rollout_start(self) -> None:
        self.events.append("start")

    def _on_step(self) -> bool:
        assert self.locals["self"] is self.model
        assert self.locals["infos"] and len(self.locals["rewards"]) == self.training_env.num_envs
        assert torch.is_grad_enabled()
        stored = {"stored": self.model.rollout_buffer.values.copy()}
        self.seen.append({name: copied(self.locals[name]) for name in self.names} | stored)
        return self.stop_after is None or self.n_calls < self.stop_after

    def _on_rollout_end(self) -> None:
        self.events.append("end")
        self.seen.append({name: copied(self.locals[name]) for name in ("n_steps", "values", "dones")})


class ShortRollouts(PPO):
    def collect_rollouts(self, *args: Any, **kwargs: Any) -> bool:
        return rollout.collect_rollouts(self, *args, **kwargs)


def algorithm(base: type[PPO], envs: int, **policy_kwargs: Any) -> PPO:
    env = DummyVecEnv([lambda first=first: Monitor(Drifting(first)) for first in range(envs)])
    return base("MlpPolicy", env, n_steps=32, batch_size=16, n_epochs=2, seed=7, device="cpu",
                policy_kwargs=policy_kwargs)  # fmt: skip


def buffers(model: PPO, rollouts: int, callback: BaseCallback | None = None) -> list[dict[str, np.ndarray]]:
    """The contents of the roll-out buffer after each of several roll-outs, with training between them."""
    _, callback = model._setup_learn(10_000, callback)
    kept = []
    for _ in range(rollouts):
        assert model.env is not None
        assert model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        contents = vars(model.rollout_buffer)
        kept.append({k: v.copy() for k, v in contents.items() if isinstance(v, np.ndarray)})
        model.train()
    return kept


@pytest.mark.parametrize("envs", [1, 3, 8])
@pytest.mark.parametrize(
    "policy_kwargs",
    [
        {"net_arch": {"pi": [32, 16], "vf": [24]}, "activation_fn": nn.ReLU},
        {"net_arch": [16, 16, 16], "activation_fn": nn.Tanh, "log_std_init": -0.5},
        {"net_arch": [], "share_features_extractor": False},
    ],
)
def test_buffer_and_locals_are_those_of_stable_baselines(envs: int, policy_kwargs: dict[str, Any]) -> None:
    ours, theirs = Recorder(), Recorder()
    short = algorithm(ShortRollouts, envs, **policy_kwargs)
    short_buffers = buffers(short, 4, ours)
    plain = algorithm(PPO, envs, **policy_kwargs)  # seeds torch and numpy anew
    plain_buffers = buffers(plain, 4, theirs)
    for a, b in zip(short_buffers, plain_buffers, strict=True):
        assert a.keys() == b.keys() and {"advantages", "returns", "log_probs", "episode_starts"} <= a.keys()
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-5, atol=5e-6, err_msg=name)
    assert ours.events == theirs.events == ["start", "end"] * 4
    for seen, expected in zip(ours.seen, theirs.seen, strict=True):
        for name in expected:
            assert seen[name].dtype == expected[name].dtype and seen[name].shape == expected[name].shape
            np.testing.assert_allclose(seen[name], expected[name], rtol=1e-5, atol=5e-6, err_msg=name)
    assert short.num_timesteps == plain.num_timesteps
    without_time = [
        [{k: v for k, v in episode.items() if k != "t"} for episode in model.ep_info_buffer]
        for model in (short, plain)
    ]
    assert len(without_time[0]) == len(without_time[1]) > 3
    for ours_of_episode, theirs_of_episode in zip(*without_time, strict=True):
        assert ours_of_episode == pytest.approx(theirs_of_episode, abs=1e-5)
    assert list(short.ep_success_buffer) == list(plain.ep_success_buffer)


def test_a_callback_that_reads_values_changes_nothing() -> None:
    watched = buffers(algorithm(ShortRollouts, 3), 2, Recorder())
    alone = buffers(algorithm(ShortRollouts, 3), 2)
    for ours, theirs in zip(watched, alone, strict=True):
        for name in theirs:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_a_part_of_a_buffer_is_filled_as_by_stable_baselines() -> None:
    kept = []
    for base in (ShortRollouts, PPO):
        _, callback = (model := algorithm(base, 3))._setup_learn(100)
        buffers(model, 1)  # so that there is something left in it
        assert model.collect_rollouts(model.env, callback, model.rollout_buffer, 20)  # type: ignore[arg-type]
        kept.append(model.rollout_buffer)
    for name in ("values", "advantages", "returns"):
        ours, theirs = (getattr(buffer, name) for buffer in kept)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=5e-6, err_msg=name)
    assert not kept[0].values[20:].any()


class Blind(BaseCallback):
    reads_values = False

    def _on_step(self) -> bool:
        self.has_values = "values" in self.locals
        return True


@pytest.mark.parametrize("beside", [[], [Recorder()]])
def test_values_of_each_step_are_there_for_whoever_may_read_them(beside: list[BaseCallback]) -> None:
    blind = Blind()
    _, callback = (model := algorithm(ShortRollouts, 1))._setup_learn(100, [blind, *beside])
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 32)  # type: ignore[arg-type]
    assert blind.has_values == bool(beside)


class Sheets(gymnasium.Env[np.ndarray, np.ndarray]):
    """Observations and actions of two dimensions, of double precision."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3, 2), np.float64)
    action_space = gymnasium.spaces.Box(-0.5, 0.5, (2, 2), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.normal(size=(3, 2)), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        return self.np_random.normal(size=(3, 2)) + action[0], 1.0, False, self.np_random.random() < 0.1, {}


def test_spaces_of_any_shape_and_precision() -> None:
    kept = []
    for base in (ShortRollouts, PPO):
        env = DummyVecEnv([Sheets, Sheets])
        model = base("MlpPolicy", env, n_steps=32, batch_size=16, n_epochs=2, seed=7, device="cpu")
        kept.append(buffers(model, 2))
    for ours, theirs in zip(*kept, strict=True):
        for name in theirs:
            assert ours[name].dtype == theirs[name].dtype
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, atol=5e-6, err_msg=name)


class Notches(Drifting):
    """Actions that are whole numbers, by its own account."""

    action_space = gymnasium.spaces.Box(-3, 3, (3,), np.int64)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.got = action
        return super().step(np.zeros(3, np.int64))


def test_whole_numbers_are_left_to_the_environment() -> None:
    """Stable-Baselines3 sends what it drew, rounded by nobody, and so do we."""
    got = []
    for base in (ShortRollouts, PPO):
        env = DummyVecEnv([Notches])
        base("MlpPolicy", env, n_steps=8, batch_size=8, n_epochs=1, seed=7, device="cpu").learn(8)
        got.append(env.envs[0].unwrapped.got)  # type: ignore[attr-defined]
    assert not np.array_equal(got[1], np.round(got[1]))
    np.testing.assert_allclose(*got, rtol=1e-5)


def test_truncated_episodes_bootstrap_and_fallen_ones_do_not() -> None:
    model = algorithm(ShortRollouts, 1)
    model.gamma = 0.5
    rewards = []

    class Rewards(BaseCallback):
        def _on_step(self) -> bool:
            info = self.locals["infos"][0]
            cut_off = self.locals["dones"][0] and info["TimeLimit.truncated"]
            rewards.append((float(self.locals["rewards"][0]), cut_off, info.get("terminal_observation")))
            return True

    _, callback = model._setup_learn(10_000, Rewards())
    assert model.env is not None
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 32)
    assert any(cut_off for _, cut_off, _ in rewards)
    assert any(last is not None and not cut_off for _, cut_off, last in rewards)
    for stored, (reward, cut_off, last) in zip(model.rollout_buffer.rewards[:, 0], rewards, strict=True):
        value = model.policy.predict_values(torch.as_tensor(last[None])).item() if cut_off else 0.0
        assert stored == pytest.approx(reward + 0.5 * value, abs=1e-6)


def test_a_callback_ends_the_training() -> None:
    model = algorithm(ShortRollouts, 2)
    model.learn(1000, callback=Recorder(stop_after=5))
    assert model.num_timesteps == 10
    model = algorithm(ShortRollouts, 2)
    model.learn(1000, callback=StopTrainingOnMaxEpisodes(4))
    assert model.num_timesteps < 100


def test_callbacks_that_evaluate_and_save(tmp_path: Path) -> None:
    evaluation = EvalCallback(
        DummyVecEnv([lambda: Monitor(Drifting())]),
        eval_freq=20,
        best_model_save_path=str(tmp_path),
        callback_on_new_best=StopTrainingOnRewardThreshold(1e9, verbose=0),
        verbose=0,
    )
    model = algorithm(ShortRollouts, 2)
    model.learn(128, callback=[evaluation, CheckpointCallback(16, str(tmp_path), name_prefix="at")])
    assert model.num_timesteps == 128
    assert np.isfinite(evaluation.last_mean_reward)
    assert {path.name for path in tmp_path.iterdir()} >= {
        "best_model.zip",
        "at_32_steps.zip",
        "at_128_steps.zip",
    }


def test_a_double_policy_rolls_out() -> None:
    model = algorithm(ShortRollouts, 2)
    model.policy.double()
    _, callback = model._setup_learn(10_000)
    assert model.env is not None
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 32)
    buffer = model.rollout_buffer
    policy = model.policy.float()
    with torch.no_grad():
        states, actions = torch.as_tensor(buffer.observations), torch.as_tensor(buffer.actions)
        values, log_probs, _ = policy.evaluate_actions(states.flatten(0, 1), actions.flatten(0, 1))
    np.testing.assert_allclose(buffer.values.flatten(), values.flatten(), atol=1e-5)
    np.testing.assert_allclose(buffer.log_probs.flatten(), log_probs, atol=1e-5)


def test_the_first_actions_agree_to_rounding() -> None:
    ours, theirs = Recorder(stop_after=1), Recorder(stop_after=1)
    networks = {"net_arch": [256, 256], "activation_fn": nn.ReLU}
    algorithm(ShortRollouts, 1, **networks).learn(32, callback=ours)
    algorithm(PPO, 1, **networks).learn(32, callback=theirs)
    np.testing.assert_allclose(ours.seen[0]["actions"], theirs.seen[0]["actions"], rtol=0, atol=3e-7)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ELU])
def test_mean_actions_are_the_deterministic_ones_of_stable_baselines(activation: type[nn.Module]) -> None:
    policy = algorithm(PPO, 1, activation_fn=activation).policy
    with torch.no_grad():
        policy.action_net.weight *= 300  # so that some actions are clipped
    act = rollout.mean_actions(policy)
    batch = np.random.default_rng(0).normal(size=(50, *policy.observation_space.shape)).astype(np.float32)
    expected, _ = policy.predict(batch, deterministic=True)
    is_clipped = (expected == policy.action_space.low) | (expected == policy.action_space.high)
    assert 0 < is_clipped.mean() < 1
    np.testing.assert_allclose(act(batch), expected, rtol=0, atol=1e-4)
    assert act(batch[0]).shape == policy.action_space.shape
    np.testing.assert_allclose(act(batch[0]), expected[0], rtol=0, atol=1e-4)


def test_the_flag_of_invalid_numbers_is_no_warning() -> None:
    """OpenBLAS may raise it for finite numbers; Stable-Baselines3's way, by torch, knows no such warning."""
    policy = algorithm(PPO, 1).policy
    with np.errstate(invalid="raise"):
        actions = rollout.mean_actions(policy)(np.array([np.inf, -np.inf, 0, 0, 0], np.float32))
    assert np.isnan(actions).all()


def test_a_callback_may_change_the_policy_when_the_roll_out_starts() -> None:
    class Quieter(BaseCallback):
        def _on_rollout_start(self) -> None:
            with torch.no_grad():
                self.model.policy.log_std.fill_(-3.0)

        def _on_step(self) -> bool:
            return True

    model = algorithm(ShortRollouts, 1)
    model.learn(32, callback=Quieter())
    # Three actions with log-std -3: on average 3 (3 - 1/2 - log(2 pi) / 2); with 0 it is below 0.
    assert model.rollout_buffer.log_probs.mean() == pytest.approx(4.7, abs=1.0)


def test_what_is_not_plain_is_said_in_words() -> None:
    assert why_not_plain(algorithm(PPO, 1).policy) is None
    assert "ELU" in str(why_not_plain(algorithm(PPO, 1, activation_fn=nn.ELU).policy))
    frozen = algorithm(PPO, 1).policy
    frozen.log_std.requires_grad_(False)
    assert "frozen" in str(why_not_plain(frozen))
    env = DummyVecEnv([Drifting])
    exploring = PPO("MlpPolicy", env, n_steps=8, batch_size=8, use_sde=True, device="cpu").policy
    assert "state-dependent" in str(why_not_plain(exploring))
    half = algorithm(PPO, 1).policy
    half.half()
    assert "float16" in str(why_not_plain(half))
