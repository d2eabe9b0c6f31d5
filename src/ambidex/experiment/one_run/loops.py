"""How a run makes the rounds of its algorithm: gather, then update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecEnv

from ambidex.common.arrays import each_part
from ambidex.experiment.one_run.trust.finite import RequireFiniteSteps, require_finite_rollout
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.normalize import deviation_of_returns
from ambidex.learn.on_policy import SymmetricOnPolicy
from ambidex.learn.update.forward import flatten_rows
from ambidex.learn.update.rollout_data import only_images, stack_images
from ambidex.learn.update.value_distance import value_distances
from ambidex.symmetry import SymmetryGroup

Timed = Callable[[str, Callable[[], None]], None]
"""Does the work, and counts its seconds for one of the columns of `timings.csv`."""


class Loop(Protocol):
    """What makes a run's iterations.

    :param model: set up to learn
    :param env: what it learns from
    :param callback: of `_setup_learn`
    :param steps: of the whole run, which schedules depend on
    """

    def __init__(self, model: Any, env: VecEnv, callback: BaseCallback, steps: int) -> None: ...

    def iterate(self, rounds: int, timed: Timed, measure: Callable[[], None]) -> None:
        """Make an iteration.

        :param rounds: how many of gathering and updating
        :param measure: to be called when all is gathered, before the last update
        """

    def value_distances(self, group: SymmetryGroup) -> list[Metric]:
        """How symmetric the critic is in the states last gathered, for each transform."""

    def keep(self, directory: Path) -> dict[str, Any]:
        """Write what must survive a restart beyond what `snapshot` keeps of every model, a replay buffer say.

        :param directory: the run's, where large things are kept in pieces that are written once
        :return: for the checkpoint, as JSON holds it: which of them belong to it
        """

    def recall(self, directory: Path, kept: dict[str, Any]) -> None:
        """Continue from what `keep` gave."""

    def begin(self, directory: Path) -> None:
        """There is no checkpoint: leave nothing of what an earlier start of the run may have written."""


class OnPolicyLoop:
    """A roll-out of ``n_steps`` of each environment, then an update that uses it up."""

    def __init__(self, model: SymmetricOnPolicy, env: VecEnv, callback: BaseCallback, steps: int) -> None:
        self._model, self._env, self._steps = model, env, steps
        self._callback = CallbackList([callback, RequireFiniteSteps()])
        self._callback.init_callback(model)

    def iterate(self, rounds: int, timed: Timed, measure: Callable[[], None]) -> None:
        for left in reversed(range(rounds)):
            timed("rollout", self._roll_out)
            if left == 0:
                timed("logging", measure)
            timed("update", self._model.train)

    def _roll_out(self) -> None:
        model = self._model
        try:
            model.collect_rollouts(self._env, self._callback, model.rollout_buffer, model.n_steps)
        except ValueError:  # torch refuses a policy's answer to what is no number
            require_finite_rollout(model)
            raise
        require_finite_rollout(model)
        model._update_current_progress_remaining(model.num_timesteps, self._steps)

    def value_distances(self, group: SymmetryGroup) -> list[Metric]:
        buffer: Any = self._model.rollout_buffer
        dtype = next(self._model.policy.parameters()).dtype
        states = flatten_rows(each_part(lambda part: torch.as_tensor(part, dtype=dtype), buffer.observations))
        images = only_images(stack_images(states, list(group)))
        values = torch.as_tensor(buffer.values).flatten()
        unit = deviation_of_returns(self._env)
        return value_distances(self._model.policy, images, values, group.names, unit)

    def keep(self, directory: Path) -> dict[str, Any]:
        """Nothing: an update uses its roll-out up."""
        return {}

    def recall(self, directory: Path, kept: dict[str, Any]) -> None:
        """Nothing was kept."""

    def begin(self, directory: Path) -> None:
        """Nothing was written."""
