"""The roll-out against Stable-Baselines3's, on an environment that costs nothing.

    python benchmarks/rollout.py [--quick]

28 observations, 8 actions, separate [256, 256] ReLU networks, one thread, CPU time. The ratio is that of
whole calls of ``collect_rollouts``: DummyVecEnv's own bookkeeping and the advantages are part of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import timing
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from ambidex.learn.update.fast import rollout

LIMIT = 0.3
EPISODE = 1000


class Free(gymnasium.Env[np.ndarray, np.ndarray]):
    """Answers at once, and ends every 1000 steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (28,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (8,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.steps = 0
        self.state = np.linspace(-1, 1, 28, dtype=np.float32)
        return self.state, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.state, 1.0, False, self.steps >= EPISODE, {}


def paper_model(envs: int, steps: int) -> PPO:
    networks = {"net_arch": {"pi": [256, 256], "vf": [256, 256]}, "activation_fn": nn.ReLU}
    return PPO(
        "MlpPolicy",
        DummyVecEnv([Free] * envs),
        n_steps=steps,
        batch_size=64,
        device="cpu",
        seed=0,
        policy_kwargs=networks,
    )


def collectors(envs: int, steps: int) -> dict[str, Callable[[], object]]:
    model = paper_model(envs, steps)
    assert model.env is not None
    _, callback = model._setup_learn(10**9)
    given = (model.env, callback, model.rollout_buffer, steps)
    return {
        "Stable-Baselines3": lambda: model.collect_rollouts(*given),
        "ambidex": lambda: rollout.collect_rollouts(model, *given),
    }


def actors(count: int) -> dict[str, Callable[[], object]]:
    policy = paper_model(1, 64).policy
    act = rollout.mean_actions(policy)
    observation = np.linspace(-1, 1, 28, dtype=np.float32)
    return {
        "Stable-Baselines3": lambda: [policy.predict(observation, deterministic=True) for _ in range(count)],
        "ambidex": lambda: [act(observation) for _ in range(count)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    quick = parser.parse_args().quick
    steps, rounds = (512, 5) if quick else (4096, 7)
    cases = {f"roll-out, {envs} env": (collectors(envs, steps // envs), steps) for envs in (1, 4, 16)}
    cases["mean action"] = (actors(EPISODE), EPISODE)
    print(f"{'':20} {'SB3 us/step':>12} {'ambidex us/step':>16} {'ratio':>7}   range")
    for name, (blocks, count) in cases.items():
        seconds = timing.interleaved(blocks, rounds)
        theirs, ours = (1e6 * np.median(seconds[block]) / count for block in blocks)
        ratio = timing.ratio(seconds, "ambidex", "Stable-Baselines3")
        least, most = timing.spread(seconds, "ambidex", "Stable-Baselines3")
        verdict = f"  (limit {LIMIT})" if name == "roll-out, 1 env" else ""
        print(f"{name:20} {theirs:12.0f} {ours:16.0f} {ratio:7.3f}   {least:.3f}-{most:.3f}{verdict}")


if __name__ == "__main__":
    main()
