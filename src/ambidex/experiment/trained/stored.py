"""A trained policy read back from its run directory, without the training around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import torch

from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.foreign import refuse_foreign_code
from ambidex.experiment.configure.normalization import Normalization
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.trust import policy_file
from ambidex.experiment.one_run.trust.identity import verify
from ambidex.learn.update.fast.rollout import robot_action

Which = Literal["best", "last"]


@dataclass(frozen=True)
class StoredPolicy:
    """A policy of a run, of the kind that its algorithm has, and the environment it is evaluated on.

    :param normalization: of the observations that the policy takes; None where it takes them as they are
    """

    config: RunConfig
    policy: Any
    env: gym.Env
    normalization: Normalization | None = None

    def act(self, observation: Any, *, deterministic: bool = True) -> np.ndarray:
        """The action for an observation of the environment's, clipped to the action space."""
        return robot_action(self.policy, self.seen(observation), deterministic=deterministic)

    def seen(self, observation: Any) -> Any:
        """The observation as the policy takes it."""
        return observation if self.normalization is None else self.normalization(observation)


def load_policy(
    directory: str | Path,
    which: Which = "best",
    *,
    env: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> StoredPolicy:
    """The best or the last policy of a run, with an evaluation environment seeded as in training.

    Torch works on one thread from then on, as in training (`torch.set_num_threads` changes that).
    A robot that changes over its training life is as old as it is at the end of the run. Refused is what is
    not as the run wrote it.

    :param env: another environment than that of the run, by its Gymnasium id
    :param env_args: keyword arguments of the environment, ``render_mode`` say; they win over the run's own
    :param trust: that the run's environment may be code of a module that its `run.json` names
    """
    directory = Path(directory)
    about = record.read(directory)
    config = record.read_own_config(directory)
    named_here = env is not None
    given = dict(env_args or {})
    walked = config.model_copy(
        update={"env": env, "env_args": given, "scenario": None}
        if named_here
        else {"env_args": config.env_args | given}
    )
    path = policy_file.path_of(directory, which)
    if not path.exists():
        raise ValueError(f"{directory} has no {which} policy yet; it is written at the first evaluation")
    identity = verify(directory, about)
    arrays = policy_file.read(directory, which, about, identity)
    refuse_foreign_code(walked, f"{directory}/run.json", trust=trust or named_here)
    torch.set_num_threads(1)
    group = record.read_group(directory)
    made = build.evaluation_environment(walked, group)
    policy = build.build_policy(config, made, group)
    normalization = Normalization.taken_from(arrays, policy.observation_space)
    policy_file.require_fitting(path, arrays, policy.state_dict())
    policy.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    made.reset(seed=config.seed + build.EVALUATION_SEED_OFFSET)
    build.set_age(made, config, about["steps"])
    return StoredPolicy(config, policy, made, normalization)
