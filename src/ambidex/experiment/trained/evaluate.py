"""Deterministic episodes on the evaluation goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

if TYPE_CHECKING:
    from ambidex.experiment.trained.stored import Which
    from ambidex.verification.policy_symmetry import PolicySymmetry

Act = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Episode:
    """One evaluation episode; ``goal`` is None where the environment has no goals."""

    goal: int | None
    total: float
    length: int


def run_episodes(act: Act, env: gym.Env, count: int) -> list[Episode]:
    """``count`` episodes of a policy; an evaluation environment walks its goals from one to the next.

    :param act: the deterministic, clipped action for an observation
    """
    return [_episode(act, env) for _ in range(count)]


def _episode(act: Act, env: gym.Env) -> Episode:
    observation, info = env.reset()
    goal = info.get("goal")
    total, length, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total += float(reward)
        length += 1
        over = terminated or truncated
    return Episode(None if goal is None else int(goal), total, length)


def evaluate(directory: Path, *, which: Which = "best", episodes: int | None = None) -> list[Episode]:
    """Evaluation episodes of the policy in a run directory.

    :param episodes: how many; as many as at each evaluation of the run by default
    """
    from ambidex.experiment.trained import stored

    policy = stored.load(directory, which)
    try:
        return run_episodes(policy.act, policy.env, episodes or policy.config.evaluation_episodes)
    finally:
        policy.env.close()


def measure_symmetry(
    directory: Path, *, which: Which = "best", episodes: int | None = None
) -> list[PolicySymmetry]:
    """How symmetric a run's policy is, by the robot's geometry; empty where that is unknown."""
    from ambidex.experiment.trained import stored
    from ambidex.learn.relabel.frame import EnvFrame
    from ambidex.verification.policy_symmetry import policy_symmetry

    policy = stored.load(directory, which)
    try:
        count = episodes or policy.config.evaluation_episodes
        if isinstance(policy.env, EnvFrame):
            return policy_symmetry(policy.env.without_memory(policy.act), policy.env.env, episodes=count)
        return policy_symmetry(policy.act, policy.env, episodes=count)
    finally:
        policy.env.close()


def summary(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row for each goal and, with goal None, one for all of them."""
    goals = sorted({episode.goal for episode in episodes if episode.goal is not None})
    parts = [(goal, [episode for episode in episodes if episode.goal == goal]) for goal in goals]
    return [
        {
            "goal": goal,
            "episodes": len(part),
            "mean_return": mean_return(part),
            "lowest_return": min(episode.total for episode in part),
            "highest_return": max(episode.total for episode in part),
            "mean_length": float(np.mean([episode.length for episode in part])),
        }
        for goal, part in [*parts, (None, list(episodes))]
    ]


def mean_return(episodes: Sequence[Episode]) -> float:
    return float(np.mean([episode.total for episode in episodes]))
