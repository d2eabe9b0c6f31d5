"""`SymmetricPPO`: Stable-Baselines3's PPO with a symmetry loss for each transform of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv
from stable_baselines3.common.utils import update_learning_rate
from torch import Tensor

from ambidex.learn.losses.loss import LossChoice
from ambidex.learn.networks.log_std import raise_noise
from ambidex.learn.networks.policy import POLICIES
from ambidex.learn.on_policy import SymmetricOnPolicy
from ambidex.learn.refusals import check_positive, is_positive
from ambidex.learn.update import autograd, learning_rate
from ambidex.learn.update.actuators import ActuatorChoice
from ambidex.learn.update.fast import update as fast
from ambidex.learn.update.iteration import Iteration, Statistics
from ambidex.symmetry import SymmetryGroup

FOLLOWED_RATE = "learning_rate/followed"


class SymmetricPPO(SymmetricOnPolicy, PPO):
    """PPO that exploits a robot's symmetries, and learns where they are imperfect.

    Without symmetries, or with ``loss=None``, it runs Stable-Baselines3's own code and gives the same
    parameters to the bit, given a policy and settings that Stable-Baselines3 has too and not ``fast=True``.
    Otherwise `learn` uses one thread on the CPU: two trainings that compete for cores with several threads
    each run many times slower.

    :param policy: as for Stable-Baselines3's PPO
    :param env: as for Stable-Baselines3's PPO
    :param symmetries: the transforms of the robot
    :param loss: `MSL`, `PSL`, `ASL` or `Augmentation` for all transforms, or a mapping from the name of a
        transform to its loss; a transform that the mapping does not name, or maps to None, has no loss
    :param actuators: for every policy and loss: the network speaks canonical commands c, in which the robot
        is as symmetric as described, and the robot gets ``a = o + s c``. `TransitionFit()` learns s (and o)
        from what the robot does, a calibration (`calibrate`, `identify`) gives them
    :param symmetry_samples: k images drawn for each state of each minibatch, with the same expected gradient
        as all of them (None)
    :param desired_kl: the learning rate follows the KL divergence of each update, measured on all its batch:
        down by 1.3 above 1.5 times this, up by 1.3 below two thirds of it; None leaves it to its schedule
    :param learning_rate_range: the lowest and highest rate that ``desired_kl`` may choose; by default from a
        tenth of the scheduled rate to that rate itself, since a rate that rises in the first iterations can
        end all exploration. A schedule says no more than the first rate where a range is given
    :param std_floor: the least standard deviation of the noise (of canonical commands, behind which actuators
        stand; where the group exchanges actuators at a ratio, of their geometric mean), to which each update
        is brought back. Noise that dies before a robot walks finds walking late; noise that stays ends the
        episodes of one that must be exact. None for no floor
    :param fast: whether update and roll-out take the fast path for plain MLP policies on the CPU: None where
        there are symmetries and the policy allows it, True always (an error where it cannot), False never
    :param kwargs: any keyword of Stable-Baselines3's PPO
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = PPO.policy_aliases | POLICIES

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        symmetries: SymmetryGroup | None = None,
        loss: LossChoice = None,
        actuators: ActuatorChoice = None,
        symmetry_samples: int | None = None,
        desired_kl: float | None = None,
        learning_rate_range: tuple[float, float] | None = None,
        std_floor: float | None = None,
        fast: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.desired_kl = desired_kl
        self.learning_rate_range = learning_rate_range
        self.std_floor = std_floor
        self._followed_rate: float | None = None  # what desired_kl chose for the next update
        super().__init__(
            policy,
            env,
            symmetries=symmetries,
            loss=loss,
            actuators=actuators,
            symmetry_samples=symmetry_samples,
            fast=fast,
            **kwargs,
        )

    def _setup_losses(self) -> None:
        _check_kl(self.desired_kl, self.learning_rate_range)
        _check_floor(self.std_floor, self.action_space, self.use_sde)
        super()._setup_losses()

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        if self.std_floor is not None:
            raise_noise(self.policy, self.std_floor)
        return super()._setup_learn(*args, **kwargs)

    def _why_not_fast(self) -> str | None:
        return fast.supports(self)

    @property
    def _takes_own_update(self) -> bool:
        return super()._takes_own_update or self._takes_fast_path

    def train(self) -> None:
        """Fit, then for each minibatch: stack, forward, losses, step."""
        super().train()
        if self.std_floor is not None:
            raise_noise(self.policy, self.std_floor)
            self.logger.record("train/std", self.policy.log_std.exp().mean().item())  # the next roll-out's
        if self.desired_kl is not None:
            self._follow_kl(self.desired_kl)

    def _train(self) -> None:
        self._update_learning_rate(self.policy.optimizer)
        progress = self._current_progress_remaining
        clip_range = self.clip_range(progress)  # type: ignore[operator]
        clip_range_vf = None if self.clip_range_vf is None else self.clip_range_vf(progress)  # type: ignore[operator]
        iteration = self._prepare(clip_range, clip_range_vf)
        # Both compute the same; the fast one needs no autograd, since it knows what plain MLPs are made of.
        update = fast.update if self._takes_fast_path else autograd.update
        statistics = update(self, iteration)
        self._n_updates += statistics.epochs
        self._after_update(iteration, statistics.value_gate_ratio)
        self._record(statistics, iteration)

    def _policy_loss(
        self, log_probs: Tensor, log_ratio: Tensor, advantages: Tensor, clip_range: float
    ) -> Tensor:
        ratio = torch.exp(log_ratio)  # eq:ppo_ratio
        clipped = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
        return -torch.minimum(advantages * ratio, advantages * clipped).mean()  # eq:lclip

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        if self.desired_kl is not None:
            rate, *_ = self._rates()
            update_learning_rate(self.policy.optimizer, rate)

    def _follow_kl(self, desired: float) -> None:
        """Choose the learning rate of the next update."""
        rate, lowest, highest = self._rates()
        kl = learning_rate.batch_kl(self.policy, self.rollout_buffer)
        self._followed_rate = learning_rate.followed(rate, kl, desired, lowest, highest)
        self.logger.record("train/learning_rate", rate)
        self.logger.record("train/batch_kl", kl)

    def _rates(self) -> tuple[float, float, float]:
        """The learning rate now, and the lowest and highest that it may have."""
        scheduled = self.lr_schedule(self._current_progress_remaining)
        lowest, highest = self.learning_rate_range or (scheduled / 10, scheduled)
        return min(max(self._followed_rate or scheduled, lowest), highest), lowest, highest

    def symmetry_state(self) -> dict[str, npt.NDArray[Any]]:
        state = super().symmetry_state()
        if self._followed_rate is not None:
            state[FOLLOWED_RATE] = np.array(self._followed_rate)
        return state

    def set_symmetry_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        own = dict(state)
        rate = own.pop(FOLLOWED_RATE, None)
        self._followed_rate = None if rate is None else float(rate)
        super().set_symmetry_state(own)

    def _record(self, statistics: Statistics, iteration: Iteration) -> None:
        """The names of Stable-Baselines3, and those of the symmetry."""
        record = self.logger.record
        record("train/entropy_loss", statistics.entropy_loss)
        record("train/policy_gradient_loss", statistics.policy_loss)
        record("train/value_loss", statistics.value_loss)
        record("train/approx_kl", statistics.approx_kl)
        record("train/clip_fraction", statistics.clip_fraction)
        record("train/loss", statistics.loss)
        record("train/clip_range", iteration.clip_range)
        if iteration.clip_range_vf is not None:
            record("train/clip_range_vf", iteration.clip_range_vf)
        if statistics.stopped_early and self.verbose >= 1:
            print(f"Early stopping in epoch {statistics.epochs}: target_kl was exceeded")
        self._record_common(statistics.symmetry_policy_loss, statistics.symmetry_value_loss)


def _check_kl(desired: float | None, bounds: tuple[float, float] | None) -> None:
    if desired is None:
        if bounds is not None:
            raise ValueError("learning_rate_range is for desired_kl, which is not given")
        return
    check_positive("desired_kl", desired, such_as="0.015, or None")
    if bounds is None:
        return
    is_pair = isinstance(bounds, tuple | list) and len(bounds) == 2 and all(map(is_positive, bounds))
    if not is_pair or bounds[0] > bounds[1]:
        raise ValueError(f"learning_rate_range is a lowest and a highest rate above 0; got {bounds!r}")


def _check_floor(least: float | None, space: spaces.Space[Any], use_sde: bool) -> None:
    if least is None:
        return
    check_positive("std_floor", least, such_as="0.3, or None")
    if use_sde or not isinstance(space, spaces.Box):
        reason = "use_sde=True" if use_sde else f"the actions are {space}"
        raise ValueError(f"std_floor is for a Gaussian with a noise of its own for each action: {reason}")
