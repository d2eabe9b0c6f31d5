"""How a run makes the rounds of an algorithm that learns from a replay buffer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from ambidex.experiment.one_run import replay_pieces
from ambidex.experiment.one_run.loops import Timed
from ambidex.experiment.one_run.trust.finite import require_finite_replay
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.off_policy import answers, replayed
from ambidex.learn.off_policy.sac import SymmetricSAC
from ambidex.learn.update.rollout_data import stack_images
from ambidex.symmetry import SymmetryGroup

PIECES = "replay"


class OffPolicyLoop:
    """``train_freq`` steps of each environment, then ``gradient_steps`` from the replay."""

    def __init__(self, model: SymmetricSAC, env: VecEnv, callback: BaseCallback, steps: int) -> None:
        self._model, self._env, self._callback = model, env, callback
        self._kept = [0, 0]  # the steps in the buffer's life at the last two checkpoints
        assert model.replay_buffer is not None
        self._buffer = model.replay_buffer

    def iterate(self, rounds: int, timed: Timed, measure: Callable[[], None]) -> None:
        for left in reversed(range(rounds)):
            timed("rollout", self._gather)
            if left == 0:
                timed("logging", measure)
            if self._model.num_timesteps > self._model.learning_starts:
                timed("update", self._update)

    def _gather(self) -> None:
        model = self._model
        steps: int = model.train_freq.frequency  # type: ignore[union-attr]
        try:
            model.collect_rollouts(
                self._env,
                self._callback,
                model.train_freq,
                self._buffer,
                model.action_noise,
                model.learning_starts,
            )
        except ValueError:  # torch refuses a policy's answer to what is no number
            require_finite_replay(model, steps)
            raise
        require_finite_replay(model, steps)

    def _update(self) -> None:
        model = self._model
        as_many = model.train_freq.frequency * self._env.num_envs  # type: ignore[union-attr]
        model.train(as_many if model.gradient_steps < 0 else model.gradient_steps, model.batch_size)

    def value_distances(self, group: SymmetryGroup) -> list[Metric]:
        states = replayed.last_states(self._buffer, answers.COMPARED)
        return answers.value_distances(self._model.policy, stack_images(states, list(group)), group.names)

    @property
    def _total(self) -> int:
        """Steps of all environments together that were stored since the run's start."""
        return self._model.num_timesteps // self._env.num_envs

    def keep(self, directory: Path) -> dict[str, Any]:
        # The two checkpoints that there are before this one is written; the older one goes then.
        oldest = max(0, self._kept[0] - self._buffer.buffer_size)
        replay_pieces.write(directory / PIECES, self._buffer, self._total, oldest)
        self._kept = [self._kept[1], self._total]
        generator: Any = self._model.action_space.np_random.bit_generator
        return {"stored": self._total, "action_space": generator.state}

    def recall(self, directory: Path, kept: dict[str, Any]) -> None:
        replay_pieces.read(directory / PIECES, self._buffer, kept["stored"])
        self._kept = [0, kept["stored"]]
        self._model.action_space.np_random.bit_generator.state = kept["action_space"]

    def begin(self, directory: Path) -> None:
        replay_pieces.clear(directory / PIECES)
