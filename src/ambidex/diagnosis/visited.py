"""Letting a stored policy act as in training, and logging what it meets on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ambidex.diagnosis.logged import Log, Observations

if TYPE_CHECKING:
    from ambidex.experiment.trained.stored import StoredPolicy


def visit(stored: StoredPolicy, states: int) -> Log:
    """Let a policy act as in training, with its noise, until it has seen so many states."""
    import torch

    torch.manual_seed(stored.config.seed)
    visited: list[Any] = []
    actions: list[Any] = []
    following: list[Any] = []
    observation, _ = stored.env.reset()
    while len(visited) < states:
        visited.append(observation)
        action = stored.act(observation, deterministic=False)
        observation, _, terminated, truncated, _ = stored.env.step(action)
        actions.append(action)
        following.append(observation)
        if terminated or truncated:
            observation, _ = stored.env.reset()
    return Log(_stacked(visited), np.stack(actions).astype(np.float64), _stacked(following))


def _stacked(observations: list[Any]) -> Observations:
    if isinstance(observations[0], dict):
        return {
            key: np.stack([one[key] for one in observations]).astype(np.float32) for key in observations[0]
        }
    return np.stack(observations).astype(np.float32)
