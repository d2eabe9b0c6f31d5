"""A training on the triangle robot and its learning curve, as the benchmarks that train share them."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ambidex import SymmetricPPO, load
from ambidex.envs.triangle.robot import TriangleVecEnv


class Curve(BaseCallback):
    """The mean return of 100 robots under the policy's mean actions, before every update: (steps, return)."""

    def __init__(self, scenario: str) -> None:
        super().__init__()
        self.scenario = scenario
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        robots = TriangleVecEnv(100, scenario=self.scenario, seed=1)
        observations = robots.reset()
        total = 0.0
        for _ in range(50):
            observations, rewards, *_ = robots.step(self.model.predict(observations, deterministic=True)[0])
            total += float(rewards.mean())
        self.points.append((self.num_timesteps, total))


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
