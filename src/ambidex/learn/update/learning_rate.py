"""A learning rate that follows the KL divergence of each update, so that one setting serves every robot."""

from __future__ import annotations

import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.learn.losses.constants import Observations
from ambidex.learn.losses.gaussian import approx_kl
from ambidex.learn.update.forward import CHUNK, forward, row_chunks
from ambidex.learn.update.rollout_data import flat, flat_actions, flat_observations

STEP = 1.3  # the rate changes by this factor at most once per iteration


def followed(rate: float, kl: float, desired: float, lowest: float, highest: float) -> float:
    """The rate of the next update after one with this divergence; one that is not finite counts as large."""
    if not kl <= 1.5 * desired:
        rate /= STEP
    elif kl < desired / 1.5:
        rate *= STEP
    return min(max(rate, lowest), highest)


@torch.no_grad()
def batch_kl(policy: ActorCriticPolicy, buffer: RolloutBuffer) -> float:
    """KL(pi_old || pi) over all states of a roll-out, as `policy` is now."""
    observations = flat_observations(buffer)
    actions = flat_actions(buffer, policy)
    old = flat(buffer, buffer.log_probs).flatten()
    new = torch.cat(
        [
            _log_probs(policy, rows, some)
            for rows, some in zip(row_chunks(observations), torch.split(actions, CHUNK), strict=True)
        ]
    )
    return float(approx_kl(new - old).mean())


def _log_probs(policy: ActorCriticPolicy, observations: Observations, actions: Tensor) -> Tensor:
    if next(policy.parameters()).dtype != torch.float64:
        return policy.evaluate_actions(observations, actions)[1]
    # Stable-Baselines3 makes every observation single.
    assert isinstance(observations, Tensor)
    latent, _ = forward(policy, observations.double())
    return policy._get_action_dist_from_latent(latent).log_prob(actions)
