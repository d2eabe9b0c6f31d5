"""A training on the triangle robot and its learning curve, as the benchmarks that train share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ambidex import SymmetricPPO, load
from ambidex.envs.triangle.robot import TriangleVecEnv

ACTOR_CRITIC = {"net_arch": [64, 64], "log_std_init": -1.0, "ortho_init": False}
PPO = {"n_steps": 64, "gae_lambda": 0.9, "clip_range": 0.4}


class Curve(BaseCallback):
    """The mean return of 100 robots under the policy's mean actions, before updates: (steps, return).

    :param every: not before so many steps more
    """

    def __init__(self, scenario: str, every: int = 0) -> None:
        super().__init__()
        self.scenario = scenario
        self.every = every
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps < self.every * (len(self.points) + 1):
            return
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
    algorithm: Callable[..., Any] = SymmetricPPO,
    **options: Any,
) -> Any:
    """Train so many robots at once; the options are those of the algorithm that are not fixed here."""
    if algorithm is SymmetricPPO:
        options = PPO | options
    model = algorithm(
        policy,
        TriangleVecEnv(robots, scenario=scenario, seed=seed),
        symmetries=load("triangle"),
        seed=seed,
        device="cpu",
        **{"policy_kwargs": ACTOR_CRITIC, **options},
    )
    return model.learn(steps, callback=callback)
