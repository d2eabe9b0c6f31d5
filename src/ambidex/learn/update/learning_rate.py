"""A learning rate that follows the KL divergence of each update, so that one setting serves every robot."""

from __future__ import annotations

import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from ambidex.learn.update.forward import CHUNK, chunks
from ambidex.learn.update.iteration import Iteration
from ambidex.learn.update.rollout_data import only_states

STEP = 1.3  # the rate changes by this factor at most once per iteration


def followed(rate: float, kl: float, desired: float, lowest: float, highest: float) -> float:
    """The rate of the next update after one with this divergence; one that is not finite counts as large."""
    if not kl <= 1.5 * desired:
        rate /= STEP
    elif kl < desired / 1.5:
        rate *= STEP
    return min(max(rate, lowest), highest)


@torch.no_grad()
def batch_kl(policy: ActorCriticPolicy, iteration: Iteration) -> float:
    """KL(pi_old || pi) over all states of the batch, as `policy` is now."""
    log_probs = [
        policy.evaluate_actions(rows, actions)[1]
        for rows, actions in zip(
            chunks(only_states(iteration.observations)), torch.split(iteration.actions, CHUNK), strict=True
        )
    ]
    log_ratio = torch.cat(log_probs) - iteration.old_log_probs
    return float((torch.expm1(log_ratio) - log_ratio).mean())  # http://joschu.net/blog/kl-approx.html
