"""Deterministic episodes on the evaluation goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from ambidex import symmetry

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
    require_finite("observation", observation, 0)
    goal = info.get("goal")
    total, length, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        length += 1
        require_finite("observation", observation, length)
        require_finite("reward", reward, length)
        total += float(reward)
        over = terminated or truncated
    return Episode(None if goal is None else int(goal), total, length)


def require_finite(what: str, value: Any, step: int) -> None:
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


def evaluate(
    directory: Path,
    *,
    which: Which = "best",
    episodes: int | None = None,
    env: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> list[Episode]:
    """Evaluation episodes of the policy in a run directory.

    :param episodes: how many; as many as at each evaluation of the run by default
    :param env: another environment than that of the run, by its Gymnasium id
    :param env_args: keyword arguments of the environment, which win over the run's own
    :param trust: that the run's environment may be code of a module that its `run.json` names
    """
    from ambidex.experiment.trained import stored

    policy = stored.load(directory, which, env=env, trust=trust, **(env_args or {}))
    try:
        return run_episodes(policy.act, policy.env, episodes or policy.config.evaluation_episodes)
    finally:
        policy.env.close()


def measure_symmetry(
    directory: Path,
    *,
    which: Which = "best",
    episodes: int | None = None,
    env: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> list[PolicySymmetry]:
    """How symmetric a run's policy is under the transforms that its description has, by the robot's geometry.

    Empty where the geometry is unknown. Without a description all isometries of the body count.

    :param env: another environment than that of the run, by its Gymnasium id
    :param env_args: keyword arguments of the environment, which win over the run's own
    """
    from ambidex.experiment.trained import stored
    from ambidex.learn.relabel.frame import EnvFrame
    from ambidex.verification.policy_symmetry import policy_symmetry

    policy = stored.load(directory, which, env=env, trust=trust, **(env_args or {}))
    description = directory / "symmetry.yaml"
    described = (
        None
        if not description.exists()
        else {transform.name: transform.isometry for transform in symmetry.load(description)}
    )
    try:
        act: Act = policy.act
        walked = policy.env
        if isinstance(walked, EnvFrame):
            act, walked = walked.without_memory(policy.act), walked.env
        count = episodes or policy.config.evaluation_episodes
        return policy_symmetry(act, walked, episodes=count, transforms=described)
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
