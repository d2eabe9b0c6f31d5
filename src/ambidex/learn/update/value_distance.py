"""How symmetric the critic is, which every method is measured by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.constants import Observations
from ambidex.learn.update.forward import snapshot_values

STATE = "value_distance/mean"


def value_distances(
    policy: ActorCriticPolicy, images: Observations, values: Tensor, names: Sequence[str], unit: float = 1.0
) -> list[Metric]:
    """Mean |V(f_j(s)) - V(s)| over the states, for each transform.

    :param images: f_j(s), (T, N, o)
    :param values: V(s), (T,)
    :param names: of the N transforms
    :param unit: of the values, in rewards as the environment gives them
    """
    distances = (snapshot_values(policy, images) - values[:, None]).abs().mean(dim=0).tolist()
    return [("value_distance", name, "", unit * own) for name, own in zip(names, distances, strict=True)]


def as_state(measured: Sequence[Metric]) -> dict[str, npt.NDArray[Any]]:
    """What was measured last, which is logged until the next time, so that a restart must not lose it."""
    return {STATE: np.array([value for *_, value in measured])} if measured else {}


def from_state(state: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> list[Metric]:
    """What `as_state` kept; nothing where nothing was measured yet."""
    if STATE not in state:
        return []
    return [("value_distance", name, "", float(own)) for name, own in zip(names, state[STATE], strict=True)]
