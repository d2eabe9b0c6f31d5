"""How symmetric the critic is, which every method is measured by."""

from __future__ import annotations

from collections.abc import Sequence

from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.constants import Observations
from ambidex.learn.update.forward import snapshot_values


def value_distances(
    policy: ActorCriticPolicy, images: Observations, values: Tensor, names: Sequence[str]
) -> list[Metric]:
    """Mean |V(f_j(s)) - V(s)| over the states, for each transform.

    :param images: f_j(s), (T, N, o)
    :param values: V(s), (T,)
    :param names: of the N transforms
    """
    distances = (snapshot_values(policy, images) - values[:, None]).abs().mean(dim=0).tolist()
    return [("value_distance", name, "", distance) for name, distance in zip(names, distances, strict=True)]
