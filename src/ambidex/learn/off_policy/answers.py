"""What a SAC policy says: commands in units of the environment, and what states are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from stable_baselines3.sac.policies import SACPolicy
from torch import Tensor

from ambidex.common.arrays import each_part
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.constants import Observations
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.update.forward import chunks, flatten_rows, leading_shape, row_chunks

COMPARED = 256  # states whose value is compared with that of their images
POINTS = 20  # of the quadrature of a squashed Gaussian


@torch.no_grad()
def commands(policy: SACPolicy, observations: Observations) -> Tensor:
    """What the policy does without noise, in units of the environment: (T, 1 + N, n).

    :param observations: (T, 1 + N, o)
    """
    squashed = [torch.tanh(policy.actor.get_action_dist_params(rows)[0]) for rows in chunks(observations)]
    return _in_units(torch.cat(squashed), policy).view(*leading_shape(observations), -1)


@torch.no_grad()
def expected_commands(policy: SACPolicy, observations: Observations) -> Tensor:
    """The mean of what the policy does with its noise, in units of the environment: (T, n).

    :param observations: (T, o)
    """
    places, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    expected = []
    for rows in row_chunks(observations):
        means, log_std, _ = policy.actor.get_action_dist_params(rows)
        drawn = means[..., None] + log_std.exp()[..., None] * means.new_tensor(places)
        expected.append(torch.tanh(drawn) @ means.new_tensor(weights / weights.sum()))
    return _in_units(torch.cat(expected), policy)


@torch.no_grad()
def commands_and_worths(policy: SACPolicy, observations: Observations) -> tuple[Tensor, Tensor]:
    """What the policy does without noise, (T, n), and the least Q of that, (T,).

    :param observations: (T, o)
    """
    squashed = torch.tanh(policy.actor.get_action_dist_params(observations)[0])
    least = torch.cat(policy.critic(observations, squashed), dim=1).amin(dim=1)
    return _in_units(squashed, policy), least


def _in_units(scaled: Tensor, policy: SACPolicy) -> Tensor:
    actions = ActionRange.of_policy(policy)
    return scaled * scaled.new_tensor(actions.half) + scaled.new_tensor(actions.centre)


@torch.no_grad()
def worths(policy: SACPolicy, observations: Observations, means: Tensor) -> Tensor:
    """What takes the place of V: the least Q of the action without noise, (B, 1 + K).

    :param observations: (B, 1 + K, o)
    :param means: (B, 1 + K, n) before squashing
    """
    rows, actions = flatten_rows(observations), torch.tanh(means.flatten(0, 1))
    least = torch.cat(policy.critic(rows, actions), dim=1).amin(dim=1)
    return least.view(means.shape[:2])


@torch.no_grad()
def value_distances(policy: SACPolicy, observations: Observations, names: Sequence[str]) -> list[Metric]:
    """Mean |V(f(s)) - V(s)| of some of the states, by transform.

    :param observations: (T, 1 + N, o)
    """
    few: Observations = each_part(lambda part: part[:COMPARED], observations)
    means = torch.cat([policy.actor.get_action_dist_params(rows)[0] for rows in chunks(few)])
    values = worths(policy, few, means.view(*leading_shape(few), -1))
    distances = (values[:, 1:] - values[:, :1]).abs().mean(dim=0)
    return [("value_distance", name, "", float(own)) for name, own in zip(names, distances, strict=True)]
