"""The symmetry of a plain PPO policy, which no loss measures on its way."""

from __future__ import annotations

import torch
from stable_baselines3 import PPO

from ambidex.symmetry import SymmetryGroup

Metric = tuple[str, str, str, float]


@torch.no_grad()
def value_distances(model: PPO, group: SymmetryGroup) -> list[Metric]:
    """Mean |V(f(s)) - V(s)| over the states of the last roll-out, for each transform, before the update."""
    buffer = model.rollout_buffer
    parts = buffer.observations if isinstance(buffer.observations, dict) else {"": buffer.observations}
    states = {key: torch.as_tensor(part).flatten(0, 1) for key, part in parts.items()}
    values = torch.as_tensor(buffer.values).flatten()
    distances: list[Metric] = []
    for symmetry in group:
        images = symmetry.observation(states if isinstance(buffer.observations, dict) else states[""])
        distance = (model.policy.predict_values(images).flatten() - values).abs().mean()
        distances.append(("value_distance", symmetry.name, "", float(distance)))
    return distances
