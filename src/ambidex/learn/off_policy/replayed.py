"""What fits and gates read from a replay buffer: states of all of it, and the transitions that are new."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

from ambidex.actuators.transitions import Transitions
from ambidex.common.arrays import IntArray, each_part
from ambidex.common.regression import expected_from
from ambidex.learn.losses.constants import Observations
from ambidex.learn.off_policy.action_range import ActionRange


def count_since(buffer: ReplayBuffer, place: int | None) -> int:
    """How many places were written since this one was the next to be.

    A replay that began anew meanwhile, as that of a loaded model, was written since as a whole.
    """
    written: int = buffer.size()
    return written if place is None else min((buffer.pos - place) % buffer.buffer_size, written)


def places_since(buffer: ReplayBuffer, place: int | None) -> IntArray:
    """The places that were written since, the oldest first; all of them if there is no such place."""
    count = count_since(buffer, place)
    return np.asarray((buffer.pos - count + np.arange(count)) % buffer.buffer_size)


def states(buffer: ReplayBuffer, count: int, env: VecNormalize | None) -> Observations:
    """States drawn from all of the replay, as the policy sees them: (count, o)."""
    rows = np.random.randint(buffer.size(), size=count)  # noqa: NPY002
    robots = np.random.randint(buffer.n_envs, size=count)  # noqa: NPY002
    drawn = each_part(lambda part: part[rows, robots], buffer.observations)
    if env is not None:
        drawn = env.normalize_obs(drawn)
    seen: Observations = each_part(buffer.to_torch, drawn)
    return seen


def last_states(buffer: ReplayBuffer, count: int) -> Observations:
    """The newest states, in any order, as the environment gave them: (at most count, o)."""
    places = (buffer.pos - 1 - np.arange(min(count, buffer.size()))) % buffer.buffer_size
    newest: Observations = each_part(lambda part: buffer.to_torch(part[places, 0]), buffer.observations)
    return newest


def transitions(buffer: ReplayBuffer, places: IntArray, actions: ActionRange) -> Transitions:
    """The transitions at these places in the order in which each robot made them, in units of the
    environment.

    What an action was to be expected from its state is estimated: the policy that chose it is gone.
    """

    def flat(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return np.concatenate([array[places, robot] for robot in range(buffer.n_envs)]).astype(np.float64)

    before = flat(buffer.observations)
    commands = actions.centre + actions.half * flat(buffer.actions)
    means = expected_from(before, commands) if len(places) else commands
    return Transitions(before, commands, flat(buffer.next_observations), means)
