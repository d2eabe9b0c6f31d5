"""The symmetry losses as one would write them first: a sample and a transform at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Normal

from ambidex.learn import ASL, MSL, PSL, Augmentation
from ambidex.symmetry import Symmetry


def flat(buffer: Any, name: str) -> Tensor:
    """A roll-out buffer's array, one environment after the other, whether it was read already or not."""
    array = getattr(buffer, name)
    if not buffer.generator_ready:
        array = np.concatenate([array[:, env] for env in range(buffer.n_envs)])
    return torch.as_tensor(array).double()


def normal(policy: Any, observations: Tensor) -> Normal:
    return Normal(policy.action_net(policy.mlp_extractor.forward_actor(observations)), policy.log_std.exp())


def value(policy: Any, observations: Tensor) -> Tensor:
    return policy.value_net(policy.mlp_extractor.forward_critic(observations)).squeeze(-1)


def dead(loss: ASL, transform: Symmetry, state: Tensor, states: Tensor) -> bool:
    """Whether a state is too near its own image, by the spread of the states of the first roll-out."""
    distances = []
    for element in range(len(state)):
        column = states[:, element]
        spread = float((column - column.mean()).abs().mean())
        if spread > 0:
            distances.append(abs(float((state - transform.observation(state))[element])) / spread)
    return sum(distances) / len(distances) <= loss.number("dead_zone", transform.name)


def is_open(loss: ASL, own: float, image: float) -> bool:
    """The value gate by its cases: the image may be worth k_v times as much, or 1 / k_v where that is bad."""
    assert isinstance(loss.value_gate, float)
    threshold = loss.value_gate * own if own >= 0 else own / loss.value_gate
    return threshold > image


def policy_term(
    loss: Any, transform: Symmetry, policy: Any, old: Any, sample: dict[str, Tensor], epsilon: float
) -> Tensor:
    """w_pi L_pi of one sample before its gates.

    :param sample: its state, action and advantage
    :param epsilon: the clip range, or what plays its part
    """
    state, action = sample["state"], sample["action"]
    image = transform.observation(state)
    now = normal(policy, image)
    weight = loss.number("policy_weight", transform.name)
    if isinstance(loss, MSL):
        return weight * (transform.action(normal(policy, state).mean) - now.mean).square().mean()
    with torch.no_grad():
        before = normal(old, image)
        explored = normal(old, state).log_prob(action).sum()
    if isinstance(loss, PSL):
        target = transform.action(normal(old, state).mean.detach())
        ratio = torch.minimum(now.log_prob(target).sum(), explored) - before.log_prob(target).sum()
        return -weight * torch.clamp(ratio.exp(), max=1 + epsilon)
    if isinstance(loss, Augmentation):
        ratio = (now.log_prob(transform.action(action)).sum() - explored).exp()
        clipped = torch.clamp(ratio, 1 - epsilon, 1 + epsilon)
        return -weight * torch.minimum(ratio * sample["advantage"], clipped * sample["advantage"])
    assert isinstance(loss, ASL) and loss.fit is None
    root = math.sqrt(2 * math.log((1 + epsilon) ** (1 / len(action))))
    shift = loss.number("max_shift", transform.name) * before.stddev * root
    target = transform.action(normal(policy, state).mean.detach())
    target = torch.minimum(torch.maximum(target, before.mean - shift), before.mean + shift)
    fixed = now.stddev.detach()
    ratio = Normal(now.mean, fixed).log_prob(target).sum() - Normal(before.mean, fixed).log_prob(target).sum()
    return -weight * ratio.exp()


def gate(loss: Any, transform: Symmetry, critic: Any, state: Tensor, states: Tensor) -> float:
    if not isinstance(loss, ASL):
        return 1.0
    own, image = (value(critic, where).item() for where in (state, transform.observation(state)))
    return float(is_open(loss, own, image) and not dead(loss, transform, state, states))
