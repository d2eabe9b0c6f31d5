"""Deterministic episodes of a policy, as a run evaluates itself and as it is evaluated afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ambidex.learn.update.fast.rollout import one_blas_thread

Act = Callable[[Any], np.ndarray]

LONGEST = 100_000
"""Steps of an episode that has no end: a robot without a time limit may stand still for ever."""


@dataclass(frozen=True)
class Episode:
    """One evaluation episode; ``goal`` is None where the environment has no goals."""

    goal: int | None
    total: float
    length: int


@one_blas_thread
def run_episodes(act: Act, env: gym.Env, count: int) -> list[Episode]:
    """``count`` episodes of a policy; an evaluation environment walks its goals from one to the next.

    :param act: the deterministic, clipped action for an observation
    """
    return [_episode(act, env) for _ in range(count)]


def mean_return(episodes: Sequence[Episode]) -> float:
    return float(np.mean([episode.total for episode in episodes]))


def _episode(act: Act, env: gym.Env) -> Episode:
    observation, info = env.reset()
    _require_finite("observation", observation, 0)
    goal = info.get("goal")
    total, length, over = 0.0, 0, False
    while not over:
        if length == LONGEST:
            raise ValueError(
                f"an evaluation episode has not ended after {LONGEST:,} steps; register the environment with "
                "max_episode_steps, or let it end"
            )
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        length += 1
        _require_finite("observation", observation, length)
        _require_finite("reward", reward, length)
        total += float(reward)
        over = terminated or truncated
    return Episode(None if goal is None else int(goal), total, length)


def _require_finite(what: str, value: Any, step: int) -> None:
    """Stop an evaluation whose environment answers with NaN or infinity."""
    for name, part in value.items() if isinstance(value, dict) else ((None, value),):
        numbers = np.asarray(part)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            element = tuple(int(i) for i in np.argwhere(~np.isfinite(np.atleast_1d(numbers)))[0])
            called = what if name is None else f"{what} {name!r}"
            place = f", element {', '.join(map(str, element))}," if numbers.ndim else ""
            found = np.atleast_1d(numbers)[element]
            raise FloatingPointError(
                f"the evaluation environment's {called}{place} is {found} after step {step} of an episode"
            )
