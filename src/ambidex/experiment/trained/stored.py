"""A trained policy read back from its run directory, without the training around it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from ambidex import symmetry
from ambidex.common.files import read_arrays
from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.one_run import record

Which = Literal["best", "last"]


@dataclass(frozen=True)
class StoredPolicy:
    """A policy of a run and the environment it is evaluated on."""

    config: RunConfig
    policy: ActorCriticPolicy
    env: gym.Env

    def act(self, observation: Any) -> np.ndarray:
        """The deterministic action, clipped to the action space."""
        return self.policy.predict(observation, deterministic=True)[0]


def load(directory: Path, which: Which = "best", **env_options: Any) -> StoredPolicy:
    """The best or the last policy of a run, with an evaluation environment seeded as in training.

    A robot that changes over its training life is as old as it is at the end of the run.

    :param env_options: for the environment, such as ``render_mode``
    """
    config = record.read_own_config(directory)
    path = directory / f"policy-{which}.safetensors"
    if not path.exists():
        raise ValueError(f"{directory} has no {which} policy yet; it is written at the first evaluation")
    torch.set_num_threads(1)
    description = directory / "symmetry.yaml"
    group = symmetry.load(description) if description.exists() else None
    env = build.evaluation_environment(config, group, **env_options)
    policy = build.build_policy(config, env, group)
    arrays = read_arrays(path)
    policy.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    env.reset(seed=config.seed + build.EVALUATION_SEED_OFFSET)
    if hasattr(env.unwrapped, "training_steps"):
        env.unwrapped.training_steps = build.robot_age(config, record.read(directory)["steps"])
    return StoredPolicy(config, policy, env)
