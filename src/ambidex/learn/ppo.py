"""`SymmetricPPO`: Stable-Baselines3's PPO with a symmetry loss for each transform of a robot."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from stable_baselines3.common.utils import explained_variance, update_learning_rate
from stable_baselines3.common.vec_env import VecEnv

from ambidex.actuators.action_map import ActionMap
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.loss import LossChoice, SymmetryLoss
from ambidex.learn.networks.actuated import Actuated, actuated
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy
from ambidex.learn.refusals import checked_losses, refuse_environment, refuse_policy
from ambidex.learn.update import autograd as generic
from ambidex.learn.update import learning_rate
from ambidex.learn.update.actuators import ActuatorChoice, refuse_space
from ambidex.learn.update.actuators import apply as apply_actuators
from ambidex.learn.update.fast import update as fast
from ambidex.learn.update.fast.rollout import collect_rollouts
from ambidex.learn.update.iteration import Statistics
from ambidex.learn.update.preparation import Preparation, state_of_version_0_1
from ambidex.symmetry import Symmetry, SymmetryGroup

FOLLOWED_RATE = "learning_rate/followed"


class SymmetricPPO(PPO):
    """PPO that exploits a robot's symmetries, and learns where they are imperfect.

    Without symmetries, or with ``loss=None``, it runs Stable-Baselines3's own code and gives the same
    parameters to the bit, unless ``fast=True``. Otherwise `learn` uses one thread on the CPU: two trainings
    that compete for cores with several threads each run many times slower.

    :param policy: as for Stable-Baselines3's PPO
    :param env: as for Stable-Baselines3's PPO
    :param symmetries: the transforms of the robot
    :param loss: `MSL`, `PSL` or `ASL` for all transforms, or a mapping from a transform's name to its loss;
        a transform that the mapping does not name, or maps to None, has no loss
    :param actuators: for every policy and loss: the network speaks canonical commands c, in which the robot
        is as symmetric as described, and the robot gets ``a = o + s c``. `TransitionFit()` learns s (and o)
        from what the robot does, a calibration (`calibrate`, `identify`) gives them
    :param symmetry_samples: k images drawn for each state of each minibatch, with the same expected gradient
        as all of them (None)
    :param desired_kl: the learning rate follows the KL divergence of each update, measured on all its batch:
        down by 1.3 above 1.5 times this, up by 1.3 below two thirds of it; None leaves it to its schedule
    :param learning_rate_range: the lowest and highest rate that ``desired_kl`` may choose; by default from a
        tenth of the scheduled rate to that rate itself, since a rate that rises in the first iterations can
        end all exploration
    :param fast: whether update and roll-out take the fast path for plain MLP policies on the CPU: None where
        there are symmetries and the policy allows it, True always (an error where it cannot), False never
    :param kwargs: any keyword of Stable-Baselines3's PPO
    """

    policy: ActorCriticPolicy
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        **PPO.policy_aliases,
        "EquivariantMlpPolicy": EquivariantActorCriticPolicy,
    }

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
        fast: bool | None = None,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(policy, env, _init_setup_model=False, **kwargs)
        if issubclass(self.policy_class, EquivariantActorCriticPolicy) and symmetries is not None:
            self.policy_kwargs = {"symmetries": symmetries, **self.policy_kwargs}
        self.symmetries = symmetries
        self.loss = loss
        self.actuators = actuators
        self.symmetry_samples = symmetry_samples
        self.desired_kl = desired_kl
        self.learning_rate_range = learning_rate_range
        self.fast = fast
        self._followed_rate: float | None = None  # what desired_kl chose for the next update
        self._preparation: Preparation | None = None
        self._gate_metrics: list[Metric] = []
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        kind = self.policy_class
        if self.actuators is not None:
            refuse_space(self.action_space)
            self.policy_class = actuated(kind)
        super()._setup_model()
        self.policy_class = kind
        self._setup_losses()

    def _setup_losses(self) -> None:
        losses = checked_losses(self)
        _check_kl(self.desired_kl, self.learning_rate_range)
        if (self.actuators is not None) != isinstance(self.policy, Actuated):
            raise ValueError(
                "a policy has actuators from the start or never; make a new model with actuators="
            )
        if losses or self._needs_symmetry:
            refuse_policy(self.policy, losses)
            refuse_environment(self.env, self._transforms_of(losses))
        saved = self._preparation  # a loaded model brings its own
        replaced: frozenset[str] = self.__dict__.pop("_replaced", frozenset())
        is_current = isinstance(getattr(saved, "states", None), dict)
        if replaced or not is_current:
            self._preparation = Preparation(
                self.symmetries, losses, self.symmetry_samples, self.action_space, self.actuators
            )
            if saved is not None and is_current and not replaced & {"symmetries", "actuators"}:
                self._preparation.actuators = saved.actuators  # another loss is no other robot
            elif saved is not None and not replaced:
                self._preparation.set_state(state_of_version_0_1(saved))
            apply_actuators(self._preparation.actuators, self.policy)
        if self.fast is True and (reason := fast.supports(self)):
            raise ValueError(f"fast=True: {reason}; use fast=None")
        self._prepared_choice = self._choice

    def _transforms_of(self, names: Iterable[str]) -> list[Symmetry]:
        """Those with a loss; all, where the network or what stands behind it needs them."""
        if self.symmetries is None:
            return []
        return list(self.symmetries) if self._needs_symmetry else [self.symmetries[name] for name in names]

    @property
    def _needs_symmetry(self) -> bool:
        return isinstance(self.policy, EquivariantActorCriticPolicy | Actuated)

    @property
    def _choice(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("symmetries", "loss", "symmetry_samples", "actuators")}

    @classmethod
    def load(
        cls,
        path: str | Path | BufferedIOBase,
        env: GymEnv | None = None,
        device: torch.device | str = "auto",
        custom_objects: dict[str, Any] | None = None,
        print_system_info: bool = False,
        force_reset: bool = True,
        **kwargs: Any,
    ) -> Self:
        """As Stable-Baselines3's; new symmetries or losses start their fit and history anew."""
        ours = {"symmetries", "loss", "symmetry_samples", "actuators"}
        if replaced := ours & (kwargs.keys() | (custom_objects or {}).keys()):
            kwargs["_replaced"] = frozenset(replaced)
        try:
            model = super().load(path, env, device, custom_objects, print_system_info, force_reset, **kwargs)
        except RuntimeError as error:
            if "actuator_scale" not in str(error):
                raise
            raise ValueError(
                "the saved policy has actuators behind it and the new one has none, or the other way round; "
                "load it as it was saved"
            ) from None
        if model._preparation is not None:
            apply_actuators(model._preparation.actuators, model.policy)
        return model

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_prepared_choice"]

    def set_env(self, env: GymEnv, force_reset: bool = True) -> None:
        if (
            self._preparation is not None
            and isinstance(env, VecEnv)
            and (self._symmetric or self._needs_symmetry)
        ):
            refuse_environment(env, self._transforms_of(self._preparation.names))
        super().set_env(env, force_reset)

    @property
    def _symmetric(self) -> bool:
        return self._preparation is not None and bool(self._preparation.names)

    @property
    def kinds_of_loss(self) -> tuple[type[SymmetryLoss], ...]:
        return tuple(self._preparation.states) if self._preparation is not None else ()

    @property
    def _takes_own_update(self) -> bool:
        pays = bool(getattr(self.policy, "relax_penalty", 0.0))
        return self._symmetric or self._takes_fast_path or pays or self.actuators is not None

    @property
    def _takes_fast_path(self) -> bool:
        wanted = self._symmetric or self._needs_symmetry if self.fast is None else self.fast
        return wanted and fast.supports(self) is None

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "SymmetricPPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        before = self._prepared_choice
        if replaced := frozenset(name for name, now in self._choice.items() if now is not before[name]):
            self._replaced = replaced  # somebody assigned another loss
            self._setup_losses()
        with _one_thread(self.device.type == "cpu" and self._takes_own_update):
            return super().learn(
                total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar
            )

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: RolloutBuffer, n_rollout_steps: int
    ) -> bool:
        if self._takes_fast_path:
            return collect_rollouts(self, env, callback, rollout_buffer, n_rollout_steps)
        return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)

    def train(self) -> None:
        """Fit, then for each minibatch: stack, forward, losses, step."""
        if self._takes_own_update:
            self._train()
        else:
            super().train()
        if self.desired_kl is not None:
            self._follow_kl(self.desired_kl)

    def _train(self) -> None:
        assert self._preparation is not None
        self._update_learning_rate(self.policy.optimizer)
        progress = self._current_progress_remaining
        clip_range = self.clip_range(progress)  # type: ignore[operator]
        clip_range_vf = None if self.clip_range_vf is None else self.clip_range_vf(progress)  # type: ignore[operator]
        started = time.perf_counter()
        iteration = self._preparation.prepare(self.policy, self.rollout_buffer, clip_range, clip_range_vf)
        self.logger.record("time/fit", time.perf_counter() - started, exclude="tensorboard")
        self.policy.set_training_mode(True)
        update = fast.update if self._takes_fast_path else generic.update
        statistics = update(self, iteration)
        apply_actuators(self._preparation.actuators, self.policy)
        self._n_updates += statistics.epochs
        gated = [] if iteration.gates is None else (~iteration.gates.always).nonzero().flatten().tolist()
        self._gate_metrics = [
            ("value_gate_ratio", iteration.names[j], "", float(statistics.value_gate_ratio[j])) for j in gated
        ]
        self._record(statistics, clip_range, clip_range_vf)

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

    def action_maps(self) -> dict[str, ActionMap]:
        """The current estimators g-hat and their weights w_G, by transform."""
        return self._preparation.action_maps() if self._preparation is not None else {}

    def symmetry_metrics(self) -> list[Metric]:
        """What the last iteration measured: (metric, transform or "", element or "", value)."""
        return [*self._preparation.metrics(), *self._gate_metrics] if self._preparation is not None else []

    def symmetry_state(self) -> dict[str, npt.NDArray[Any]]:
        """All that must survive a restart beyond policy and optimiser, as plain arrays."""
        state = self._preparation.state() if self._preparation is not None else {}
        if self._followed_rate is not None:
            state[FOLLOWED_RATE] = np.array(self._followed_rate)
        return state

    def set_symmetry_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `symmetry_state` gave."""
        assert self._preparation is not None
        own = dict(state)
        rate = own.pop(FOLLOWED_RATE, None)
        self._followed_rate = None if rate is None else float(rate)
        self._preparation.set_state(own)
        apply_actuators(self._preparation.actuators, self.policy)

    def _record(self, statistics: Statistics, clip_range: float, clip_range_vf: float | None) -> None:
        """The names of Stable-Baselines3, and those of the symmetry."""
        buffer = self.rollout_buffer
        record = self.logger.record
        record("train/entropy_loss", statistics.entropy_loss)
        record("train/policy_gradient_loss", statistics.policy_loss)
        record("train/value_loss", statistics.value_loss)
        record("train/approx_kl", statistics.approx_kl)
        record("train/clip_fraction", statistics.clip_fraction)
        record("train/loss", statistics.loss)
        record(
            "train/explained_variance", explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        )
        if hasattr(self.policy, "log_std"):
            record("train/std", torch.exp(self.policy.log_std).mean().item())
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/clip_range", clip_range)
        if clip_range_vf is not None:
            record("train/clip_range_vf", clip_range_vf)
        if statistics.stopped_early and self.verbose >= 1:
            print(f"Early stopping in epoch {statistics.epochs}: target_kl was exceeded")
        if self._symmetric:
            record("symmetry/policy_loss", statistics.symmetry_policy_loss)
            record("symmetry/value_loss", statistics.symmetry_value_loss)
        for metric, transform, element, value in self.symmetry_metrics():
            name = "/".join(part for part in ("symmetry", metric, transform, element) if part)
            record(name, value, exclude="stdout")


def _check_kl(desired: float | None, bounds: tuple[float, float] | None) -> None:
    if desired is None:
        if bounds is not None:
            raise ValueError("learning_rate_range is for desired_kl, which is not given")
        return
    if not isinstance(desired, int | float) or isinstance(desired, bool) or not 0 < desired < float("inf"):
        raise ValueError(f"desired_kl is a positive number, such as 0.015, or None; got {desired!r}")
    if bounds is not None:
        lowest, highest = bounds
        if not 0 < lowest <= highest < float("inf"):
            raise ValueError(f"learning_rate_range is a lowest and a highest rate above 0; got {bounds!r}")


@contextmanager
def _one_thread(wanted: bool) -> Iterator[None]:
    before = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
