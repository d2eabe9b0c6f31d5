"""What a trained policy is worth on the evaluation goals, and how symmetric it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.episodes import Act, Episode, mean_return, run_episodes
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.stored import Which
from ambidex.learn.relabel.frame import EnvFrame
from ambidex.verification.policy_symmetry import PolicySymmetry, policy_symmetry


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
    policy = stored.load_policy(directory, which, env=env, env_args=env_args, trust=trust)
    with closing(policy.env):
        return run_episodes(policy.act, policy.env, episodes or policy.config.evaluation_episodes)


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
    policy = stored.load_policy(directory, which, env=env, env_args=env_args, trust=trust)
    group = record.read_group(directory)
    described = None if group is None else {transform.name: transform.isometry for transform in group}
    with closing(policy.env):
        act: Act = policy.act
        walked = policy.env
        if isinstance(walked, EnvFrame):
            act, walked = walked.without_memory(policy.act), walked.env
        count = episodes or policy.config.evaluation_episodes
        return policy_symmetry(act, walked, episodes=count, transforms=described)


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
