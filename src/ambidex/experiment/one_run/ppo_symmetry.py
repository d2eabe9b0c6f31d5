"""The symmetry of a plain policy, which no loss measures on its way."""

from __future__ import annotations

import torch
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.constants import Observations
from ambidex.learn.update import value_distance
from ambidex.symmetry import SymmetryGroup


def value_distances(model: OnPolicyAlgorithm, group: SymmetryGroup) -> list[Metric]:
    """Mean |V(f(s)) - V(s)| over the states of the last roll-out, for each transform, before the update."""
    buffer = model.rollout_buffer
    values = torch.as_tensor(buffer.values).flatten()
    stacked: Observations
    if isinstance(buffer.observations, dict):
        states = {key: torch.as_tensor(part).flatten(0, 1) for key, part in buffer.observations.items()}
        images = [symmetry.observation(states) for symmetry in group]
        stacked = {key: torch.stack([image[key] for image in images], dim=1) for key in states}
    else:
        rows = torch.as_tensor(buffer.observations).flatten(0, 1)
        stacked = torch.stack([symmetry.observation(rows) for symmetry in group], dim=1)
    return value_distance.value_distances(model.policy, stacked, values, group.names)
