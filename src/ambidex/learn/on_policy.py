"""What algorithms that learn from each roll-out once share: its preparation, the fast roll-out, the log."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv

from ambidex.learn.algorithm import SymmetricAlgorithm
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy
from ambidex.learn.normalize import deviation_of_returns
from ambidex.learn.refusals import refuse_normalized_drive
from ambidex.learn.update.fast.rollout import collect_rollouts, why_not_rollout
from ambidex.learn.update.iteration import Iteration


class SymmetricOnPolicy(SymmetricAlgorithm, OnPolicyAlgorithm):
    """An on-policy actor-critic of Stable-Baselines3 with symmetries; an algorithm defines `_train`.

    :param fast: whether plain MLP policies on the CPU take the fast path: None where there are symmetries and
        the policy allows it, True always (an error where it cannot), False never
    :param kwargs: see `SymmetricAlgorithm`
    """

    policy: ActorCriticPolicy

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        fast: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.fast = fast
        super().__init__(policy, env, **kwargs)

    def _setup_losses(self) -> None:
        super()._setup_losses()
        if self.fast is True and (reason := self._why_not_fast()):
            raise ValueError(f"fast=True: {reason}; use fast=None")
        assert self._preparation is not None
        if self._preparation.learns_from_transitions:
            self._refuse_without_transitions()

    def _refuse_without_transitions(self) -> None:
        if self.n_steps < 2:
            raise ValueError(
                "n_steps=1: a roll-out of one step holds no transition to learn from; use at least 2"
            )
        if self.use_sde:
            raise ValueError(
                "use_sde=True has no standard deviation of its own for each action, which the fit from "
                "transitions needs; use use_sde=False"
            )

    def _refuse_environment(self, env: VecEnv | None) -> None:
        super()._refuse_environment(env)
        if self._preparation is not None and self._preparation.learns_from_transitions:
            refuse_normalized_drive(env, self.symmetries)

    def _why_not_fast(self) -> str | None:
        """Why the fast path cannot serve this model, in words; None if it can."""
        return why_not_rollout(self)

    @property
    def _takes_fast_path(self) -> bool:
        wanted = self._has_losses or self._needs_symmetry if self.fast is None else self.fast
        return wanted and self._why_not_fast() is None

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: RolloutBuffer, n_rollout_steps: int
    ) -> bool:
        if self._takes_fast_path:
            return collect_rollouts(self, env, callback, rollout_buffer, n_rollout_steps)
        return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)

    def train(self) -> None:
        """Fit, then for each minibatch: stack, forward, losses, step."""
        if isinstance(self.policy, EquivariantActorCriticPolicy):
            self.policy.hold_relaxation(self.num_timesteps)
        if self._takes_own_update:
            self._train()
        else:
            super().train()

    @abstractmethod
    def _train(self) -> None:
        """The update of a roll-out, with what the symmetry adds."""

    def _prepare(self, clip_range: float, clip_range_vf: float | None = None) -> Iteration:
        """Fit to the roll-out, and compute what stays constant in its update."""
        assert self._preparation is not None
        started = time.perf_counter()
        assert self.env is not None
        iteration = self._preparation.prepare(
            self.policy,
            self.rollout_buffer,
            clip_range,
            clip_range_vf,
            unit_of_values=deviation_of_returns(self.env),
        )
        self.logger.record("time/fit", time.perf_counter() - started, exclude="tensorboard")
        self.policy.set_training_mode(True)
        return iteration

    def _after_update(self, iteration: Iteration, value_gate_ratio: npt.NDArray[np.float64]) -> None:
        """Bring the actuators' scales to the next roll-out, and keep what the gates did."""
        # Never within a roll-out: its commands are read back with the scales that the policy has.
        self._apply_actuators()
        gated = [] if iteration.gates is None else (~iteration.gates.always).nonzero().flatten().tolist()
        self._gate_metrics = [
            ("value_gate_ratio", iteration.names[j], "", float(value_gate_ratio[j])) for j in gated
        ]

    def _record_common(self, symmetry_policy_loss: float, symmetry_value_loss: float) -> None:
        """What Stable-Baselines3 logs for every on-policy algorithm, and what the symmetry adds."""
        record = self.logger.record
        buffer = self.rollout_buffer
        record(
            "train/explained_variance", explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        )
        if hasattr(self.policy, "log_std"):
            record("train/std", self.policy.log_std.exp().mean().item())
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        if self._has_losses:
            record("symmetry/policy_loss", symmetry_policy_loss)
            record("symmetry/value_loss", symmetry_value_loss)
        assert self._preparation is not None
        if not self._preparation.watched:  # those of the last time still stand
            return
        for metric, transform, element, value in self.symmetry_metrics():
            name = "/".join(part for part in ("symmetry", metric, transform, element) if part)
            record(name, value, exclude="stdout")
