"""One pass through a Stable-Baselines3 actor-critic policy, features computed once."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.common.arrays import each_part
from ambidex.learn.losses.constants import Observations

CHUNK = 1024  # rows in one pass without gradient: its activations stay in the cache


def forward(policy: ActorCriticPolicy, observations: Observations) -> tuple[Tensor, Tensor]:
    """The actor's last hidden layer (rows, h) and the values (rows,).

    :param observations: (rows, o), or that for each key of a Dict observation
    """
    pi_features = policy.pi_features_extractor(observations)
    shared = policy.share_features_extractor
    vf_features = pi_features if shared else policy.vf_features_extractor(observations)
    latent = policy.mlp_extractor.forward_actor(pi_features)
    return latent, policy.value_net(policy.mlp_extractor.forward_critic(vf_features)).flatten()


def actor_latent(policy: ActorCriticPolicy, observations: Observations) -> Tensor:
    """The actor's last hidden layer alone, (rows, h)."""
    latent: Tensor = policy.mlp_extractor.forward_actor(policy.pi_features_extractor(observations))
    return latent


def critic_values(policy: ActorCriticPolicy, observations: Observations) -> Tensor:
    """The values alone, (rows,)."""
    features = policy.vf_features_extractor(observations)
    values: Tensor = policy.value_net(policy.mlp_extractor.forward_critic(features))
    return values.flatten()


def action_outputs(policy: ActorCriticPolicy, latent: Tensor) -> Tensor:
    """(rows, n): the means; of discrete actions the log-probabilities, which have no free constant."""
    outputs: Tensor = policy.action_net(latent)
    space = policy.action_space
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        # Logits that differ by a constant are the same policy: a distance between them means nothing.
        blocks = [int(space.n)] if isinstance(space, spaces.Discrete) else [int(n) for n in space.nvec]
        return torch.cat([part.log_softmax(dim=-1) for part in torch.split(outputs, blocks, dim=-1)], dim=-1)
    return outputs


@torch.no_grad()
def snapshot_means(policy: ActorCriticPolicy, observations: Observations) -> Tensor:
    """a-bar and a-bar': the means of the policy as it is now, without gradient.

    :param observations: (T, 1 + N, o)
    """
    means = [policy.action_net(actor_latent(policy, rows)) for rows in chunks(observations)]
    return torch.cat(means).view(*leading_shape(observations), -1)


@torch.no_grad()
def snapshot_values(policy: ActorCriticPolicy, observations: Observations) -> Tensor:
    """V(s) and V(f_j(s)) of the critic as it is now: (T, 1 + N)."""
    values = [critic_values(policy, rows) for rows in chunks(observations)]
    return torch.cat(values).view(leading_shape(observations))


def flatten_rows(observations: Observations) -> Observations:
    """(B, K, o) as (B K, o)."""
    rows: Observations = each_part(lambda part: part.flatten(0, 1), observations)
    return rows


def leading_shape(observations: Observations) -> tuple[int, int]:
    """(B, K) of (B, K, o)."""
    part = next(iter(observations.values())) if isinstance(observations, dict) else observations
    return part.shape[0], part.shape[1]


def chunks(observations: Observations) -> Iterator[Observations]:
    """(T, K, o) as rows, `CHUNK` at a time."""
    return row_chunks(flatten_rows(observations))


def row_chunks(rows: Observations) -> Iterator[Observations]:
    """(T, o), `CHUNK` at a time."""
    if isinstance(rows, dict):
        split = {key: torch.split(part, CHUNK) for key, part in rows.items()}
        for parts in zip(*split.values(), strict=True):
            yield dict(zip(split, parts, strict=True))
    else:
        yield from torch.split(rows, CHUNK)
