"""A finished roll-out as flat tensors, each state beside its images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.actuators.identification import expected_after_clipping
from ambidex.actuators.transitions import Transitions
from ambidex.common.arrays import each_part
from ambidex.learn.losses.constants import Observations
from ambidex.learn.networks.actuated import commanded, commanded_deviation
from ambidex.symmetry import Symmetry


def stack_images(observations: Observations, transforms: Sequence[Symmetry]) -> Observations:
    """(T, o) as (T, 1 + N, o): each state followed by its images f_j(s)."""
    images = [observations, *(transform.observation(observations) for transform in transforms)]
    if isinstance(observations, dict):
        return {key: torch.stack([image[key] for image in images], dim=1) for key in observations}
    return torch.stack(images, dim=1)


def only_images(observations: Observations) -> Observations:
    """The images f_j(s) alone: (T, N, o)."""
    images: Observations = each_part(lambda part: part[:, 1:], observations)
    return images


def flat_observations(buffer: RolloutBuffer, dtype: torch.dtype | None = None) -> Observations:
    observations: Observations = each_part(lambda part: flat(buffer, part, dtype), buffer.observations)
    return observations


def flat(buffer: RolloutBuffer, array: npt.NDArray[Any], dtype: torch.dtype | None = None) -> Tensor:
    """(steps, environments, ...) as (T, ...), in the order of the buffer's own minibatches."""
    if not buffer.generator_ready:
        array = buffer.swap_and_flatten(array)
    tensor = torch.as_tensor(array, device=buffer.device)
    return tensor if dtype is None else tensor.to(dtype)


def flat_actions(buffer: RolloutBuffer, policy: ActorCriticPolicy) -> Tensor:
    """As the distribution of the policy takes them."""
    actions = flat(buffer, buffer.actions, next(policy.parameters()).dtype)
    return actions.long().flatten() if isinstance(policy.action_space, spaces.Discrete) else actions


def transitions(buffer: RolloutBuffer, means: Tensor, policy: ActorCriticPolicy) -> Transitions:
    """The steps of the roll-out whose successor is in it too: not the last one, none before a reset."""
    space = policy.action_space
    assert isinstance(space, spaces.Box)
    steps = np.arange(buffer.buffer_size * buffer.n_envs) % buffer.buffer_size
    starts = buffer.swap_and_flatten(buffer.episode_starts).ravel().astype(bool)
    followed = np.flatnonzero((steps[:-1] < buffer.buffer_size - 1) & ~starts[1:])
    observations = flat(buffer, buffer.observations, torch.float64).numpy(force=True)
    actions = commanded(policy, flat(buffer, buffer.actions, torch.float64).numpy(force=True))
    return Transitions(
        observations=observations[followed],
        actions=np.clip(actions, space.low, space.high)[followed],
        next_observations=observations[followed + 1],
        means=expected_after_clipping(
            commanded(policy, means.double().numpy(force=True))[followed],
            commanded_deviation(policy),
            space.low,
            space.high,
        ),
    )
