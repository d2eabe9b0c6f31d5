"""`SymmetricSAC`: Stable-Baselines3's SAC with symmetric replay, symmetry losses or an equivariant policy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback, RolloutReturn
from stable_baselines3.common.utils import polyak_update
from stable_baselines3.sac.policies import SACPolicy

from ambidex.learn.algorithm import SymmetricAlgorithm
from ambidex.learn.fits.protocol import Fit
from ambidex.learn.losses.loss import LossChoice, SymmetryLoss
from ambidex.learn.losses.mirror import MSL
from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.off_policy.canonical import canonical_actions, canonical_range
from ambidex.learn.off_policy.fast import GradientSteps, why_not_by_hand
from ambidex.learn.off_policy.policy import EquivariantSACPolicy, expanded, refuse_inexact
from ambidex.learn.off_policy.preparation import ReplayPreparation
from ambidex.learn.off_policy.replay import SymmetricReplayBuffer
from ambidex.learn.off_policy.update import Losses, gradient_step
from ambidex.learn.refusals import check_positive
from ambidex.learn.update.actuators import ActuatorChoice
from ambidex.symmetry import SymmetryGroup


class SymmetricSAC(SymmetricAlgorithm, SAC):
    """SAC that exploits a robot's symmetries, and learns where they are imperfect.

    Without symmetries, or with ``loss=None`` and Stable-Baselines3's own policies, it runs
    Stable-Baselines3's own code and gives the same parameters to the bit, unless ``fast=True``. Three ways
    in, which may be combined: ``replay_buffer_class=SymmetricReplayBuffer``, a loss, or
    ``"EquivariantMlpPolicy"``; with ``actuators`` behind each of them.

    MSL and ASL act on the mean mu before squashing. A map that exchanges actions and changes their signs is
    the same before and behind tanh; any other becomes ``atanh(g(tanh(mu)))``, in units of the actions' ranges
    and within 0.99 of them. The critics learn ``Q(f(s), g(a))`` toward the target of the sample itself, with
    ``value_weight`` 0.5 as much as ``Q(s, a)``. The dead zone of ASL reads the spread of observations from
    states drawn from the replay; its value gate compares the least Q of the actions without noise.

    Every gradient step is an iteration of ASL: it begins at the present mean, and its mean shift holds the
    target within ``k_s sigma(f(s)) sqrt(2 ln(1 + epsilon) / n)`` of it, with ``symmetry_clip_range`` in the
    part of PPO's clip range. The squashed policies of the two means have the KL divergence of their
    Gaussians, at most ``n (k_s^2 2 ln(1 + epsilon) / n) / 2 = k_s^2 ln(1 + epsilon)``: that far, 0.016 nats
    for k_s 0.3 and epsilon 0.2, one gradient step aims at most. How far it goes is up to the learning rate.

    :param policy: as for Stable-Baselines3's SAC, or ``"EquivariantMlpPolicy"``
    :param env: as for Stable-Baselines3's SAC
    :param symmetries: the transforms of the robot
    :param loss: `MSL` or `ASL` for all transforms, or a mapping from a transform's name to its loss; a
        transform that the mapping does not name, or maps to None, has no loss
    :param actuators: `TransitionFit` or a calibration, for every policy, loss and replay: what the network
        says and the critics judge are canonical commands c, in which the robot is as symmetric as described,
        and the robot gets ``a = o + s c``. Their range is the largest that the group maps to itself and that
        keeps a within the action box, so that equivariance is exact and no motor saturates before another.
        The replay keeps what the robot got, and is read with the present scales
    :param symmetry_samples: k transforms drawn for each gradient step, with the same expected gradient as all
        of them (None)
    :param symmetry_clip_range: epsilon of ASL's mean shift, see above; the default is that of
        Stable-Baselines3's PPO for its clip range
    :param fit_interval: after how many new transitions fits and the spread of observations (the dead zone of
        ASL) are brought up to date
    :param fast: whether plain MLPs on the CPU take gradient steps by hand, the same up to rounding: None
        where the policy is equivariant or has actuators, and there is no loss; True always (an error where
        it cannot), False never
    :param kwargs: any keyword of Stable-Baselines3's SAC
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        **SAC.policy_aliases,
        "EquivariantMlpPolicy": EquivariantSACPolicy,
    }
    policy: SACPolicy
    _preparation: ReplayPreparation | None  # type: ignore[assignment]

    def __init__(
        self,
        policy: str | type[SACPolicy],
        env: GymEnv | str,
        *,
        symmetries: SymmetryGroup | None = None,
        loss: LossChoice = None,
        actuators: ActuatorChoice = None,
        symmetry_samples: int | None = None,
        symmetry_clip_range: float = 0.2,
        fit_interval: int = 1000,
        fast: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.fast = fast
        self.symmetry_clip_range = symmetry_clip_range
        self.fit_interval = fit_interval
        super().__init__(
            policy,
            env,
            symmetries=symmetries,
            loss=loss,
            actuators=actuators,
            symmetry_samples=symmetry_samples,
            **kwargs,
        )

    def _setup_model(self) -> None:
        given = {} if self.symmetries is None else {"symmetries": self.symmetries}
        if issubclass(self.policy_class, EquivariantSACPolicy):
            self.policy_kwargs = {**given, **self.policy_kwargs}
        if issubclass(self.replay_buffer_class or ReplayBuffer, SymmetricReplayBuffer):
            self.replay_buffer_kwargs = {**given, **self.replay_buffer_kwargs}
            if self.n_steps > 1:
                self.replay_buffer_kwargs |= {"n_steps": self.n_steps, "gamma": self.gamma}
                self.n_steps = 1  # Stable-Baselines3 would warn that it leaves them to the buffer
        super()._setup_model()

    def _setup_losses(self) -> None:
        super()._setup_losses()
        if self.fast is True and (reason := why_not_by_hand(self)):
            raise ValueError(f"fast=True: {reason}; use fast=None")

    def _new_preparation(self, losses: Mapping[str, SymmetryLoss]) -> ReplayPreparation:  # type: ignore[override]
        return ReplayPreparation(
            self.symmetries, losses, self.symmetry_samples, self.action_space, self.actuators
        )

    def _apply_actuators(self) -> None:
        """Bring the present scales to the policy, in units of its canonical range, and to the replay."""
        assert self._preparation is not None
        if (own := self._preparation.actuators) is None:
            return
        assert self.symmetries is not None and isinstance(self.action_space, spaces.Box)
        assert isinstance(self.policy, Actuated)
        said = canonical_range(self.symmetries, self.action_space, own.scale, own.offset)
        self.policy.set_actuators(own.scale * said.half, own.offset + own.scale * said.centre)
        if isinstance(self.replay_buffer, SymmetricReplayBuffer):
            self.replay_buffer.set_actuators(own.scale, own.offset)

    def _refuse(self, losses: Mapping[str, SymmetryLoss]) -> None:
        group = self.symmetries
        check_positive("symmetry_clip_range", self.symmetry_clip_range, such_as="0.2")
        if isinstance(self.fit_interval, bool) or not self.fit_interval >= 1:
            raise ValueError(
                f"fit_interval is a number of transitions, at least 1; got {self.fit_interval!r}"
            )
        for name, loss in losses.items():
            assert group is not None
            if loss.needs_own_rollout is not None:
                raise ValueError(f"transform {name!r}: {type(loss).__name__}: {loss.needs_own_rollout}")
            if isinstance(loss, MSL) and loss.original and self.actuators is None:
                actions = ActionRange.of(self.action_space)
                refuse_inexact(group.only([name]), actions, "MSL(original=True)")
        fitting = [f"transform {name!r}: its" for name, loss in losses.items() if loss.fits_action_maps]
        fitting += ["actuators: their"] if isinstance(self.actuators, Fit) else []
        if fitting and self.optimize_memory_usage:
            raise ValueError(
                f"{fitting[0]} fit reads whole transitions, of which optimize_memory_usage=True keeps a part "
                "only; use optimize_memory_usage=False"
            )
        if fitting and self.fit_interval >= self.buffer_size:
            raise ValueError(
                f"{fitting[0]} fit waits for fit_interval={self.fit_interval} new transitions, which a "
                f"replay of buffer_size={self.buffer_size} never holds; use a smaller fit_interval"
            )
        if (losses or self.actuators is not None) and self.use_sde:
            raise ValueError(
                "use_sde=True has no standard deviation of its own for each action, which symmetry losses "
                "and actuators need; use use_sde=False"
            )

    @property
    def _needs_symmetry(self) -> bool:
        return isinstance(self.policy, EquivariantSACPolicy | Actuated)

    @property
    def _takes_own_update(self) -> bool:
        return self._has_losses or self._needs_symmetry or self._takes_fast_path

    @property
    def _takes_fast_path(self) -> bool:
        wanted = self._needs_symmetry if self.fast is None else self.fast
        return wanted and why_not_by_hand(self) is None

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 4,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        return super().learn(
            total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar
        )

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Fit now and then; for each gradient step: sample, stack, forward, losses, step."""
        by_hand = self._takes_fast_path
        if not (by_hand or self._has_losses or self._needs_symmetry):
            super().train(gradient_steps, batch_size)
            return
        assert self.replay_buffer is not None
        self.policy.set_training_mode(True)
        optimizers = [self.actor.optimizer, self.critic.optimizer]
        if self.ent_coef_optimizer is not None:
            optimizers.append(self.ent_coef_optimizer)
        self._update_learning_rate(optimizers)
        if self._has_losses or self.actuators is not None:
            self._fit()
        steps = []
        step = GradientSteps(self, batch_size) if by_hand else partial(gradient_step, self)
        for number in range(gradient_steps):
            sample = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            if isinstance(self.policy, Actuated):
                sample = sample._replace(actions=canonical_actions(self.policy, sample.actions))
            steps.append(step(sample))
            if number % self.target_update_interval == 0:
                polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
                polyak_update(self.batch_norm_stats, self.batch_norm_stats_target, 1.0)
        self._n_updates += gradient_steps
        self._record(steps)

    def collect_rollouts(self, *args: Any, **kwargs: Any) -> RolloutReturn:
        """As Stable-Baselines3's; between two updates no parameter changes."""
        with expanded(self.actor, with_gradient=False):
            return super().collect_rollouts(*args, **kwargs)

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """What the robot gets, and what the replay keeps: with actuators too what it got, see `canonical`."""
        commands, scaled = super()._sample_action(learning_starts, action_noise, n_envs)
        if isinstance(self.policy, Actuated):
            scaled = BasePolicy.scale_action(self.policy, commands)
        return commands, scaled

    def load_replay_buffer(self, *args: Any, **kwargs: Any) -> None:
        """As Stable-Baselines3's; its images are then those of the present scales."""
        super().load_replay_buffer(*args, **kwargs)
        self._apply_actuators()

    def _fit(self) -> None:
        assert self._preparation is not None and self.replay_buffer is not None
        if self._preparation.is_due(self.replay_buffer, self.fit_interval):
            self._preparation.watch(
                self.policy, self.replay_buffer, self._vec_normalize_env, self.fit_interval
            )
            self._apply_actuators()
            for metric, transform, element, value in self.symmetry_metrics():
                name = "/".join(part for part in ("symmetry", metric, transform, element) if part)
                self.logger.record(name, value, exclude="stdout")

    def _record(self, steps: list[Losses]) -> None:
        """The names of Stable-Baselines3, and those of the symmetry."""
        record = self.logger.record
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/ent_coef", np.mean([step.temperature for step in steps]))
        record("train/actor_loss", np.mean([step.actor for step in steps]))
        record("train/critic_loss", np.mean([step.critic for step in steps]))
        losses = [step.temperature_loss for step in steps if step.temperature_loss is not None]
        if losses:
            record("train/ent_coef_loss", np.mean(losses))
        if self._has_losses:
            record("symmetry/policy_loss", np.mean([step.symmetry_policy for step in steps]))
            record("symmetry/value_loss", np.mean([step.symmetry_value for step in steps]))
