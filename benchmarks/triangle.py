"""A training on the triangle robot, as the benchmarks that train share it."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ambidex import SymmetricPPO, load
from ambidex.envs.triangle.robot import TriangleVecEnv


def train(
    robots: int,
    callback: BaseCallback,
    *,
    scenario: str,
    seed: int,
    steps: int,
    policy: str = "MlpPolicy",
    **options: Any,
) -> SymmetricPPO:
    """Train so many robots at once; the options are those of `SymmetricPPO` that are not fixed here."""
    model = SymmetricPPO(
        policy,
        TriangleVecEnv(robots, scenario=scenario, seed=seed),
        symmetries=load("triangle"),
        n_steps=64,
        gae_lambda=0.9,
        clip_range=0.4,
        policy_kwargs={"net_arch": [64, 64], "log_std_init": -1.0, "ortho_init": False},
        seed=seed,
        device="cpu",
        **options,
    )
    return model.learn(steps, callback=callback)
