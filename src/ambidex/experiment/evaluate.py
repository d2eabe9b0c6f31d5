"""Deterministic episodes on the evaluation goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

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


def mean_return(episodes: Sequence[Episode]) -> float:
    return float(np.mean([episode.total for episode in episodes]))


def by_goal(episodes: Sequence[Episode]) -> dict[int | None, list[Episode]]:
    """The episodes of each goal, in the order of the goals."""
    goals = sorted({episode.goal for episode in episodes}, key=lambda goal: -1 if goal is None else goal)
    return {goal: [episode for episode in episodes if episode.goal == goal] for goal in goals}
