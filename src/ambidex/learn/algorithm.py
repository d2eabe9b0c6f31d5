"""What every algorithm of Stable-Baselines3 gains from symmetries: losses, fits, actuators, saving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from stable_baselines3.common.vec_env import VecEnv

from ambidex.actuators.action_map import ActionMap
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.loss import LossChoice, SymmetryLoss
from ambidex.learn.networks.actuated import Actuated, actuated
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy
from ambidex.learn.refusals import checked_losses, refuse_environment, refuse_policy
from ambidex.learn.update.actuators import ActuatorChoice, refuse_space
from ambidex.learn.update.preparation import Preparation, state_before_the_move
from ambidex.symmetry import Symmetry, SymmetryGroup


class SymmetricAlgorithm(BaseAlgorithm):
    """Stands before an algorithm of Stable-Baselines3 among the bases of a class, and gives it symmetries.

    :param policy: as for Stable-Baselines3
    :param env: as for Stable-Baselines3
    :param symmetries: the transforms of the robot
    :param loss: one loss for all transforms, or a mapping from a transform's name to its loss
    :param actuators: what stands between the policy's canonical commands and the robot
    :param symmetry_samples: k images drawn for each state of each minibatch; None for all of them
    :param kwargs: any keyword of the algorithm
    """

    _choices: ClassVar[tuple[str, ...]] = ("symmetries", "loss", "symmetry_samples", "actuators")
    """What the preparation is made from, and made anew where it is replaced."""

    def __init__(
        self,
        policy: Any,
        env: GymEnv | str,
        *,
        symmetries: SymmetryGroup | None = None,
        loss: LossChoice = None,
        actuators: ActuatorChoice = None,
        symmetry_samples: int | None = None,
        **kwargs: Any,
    ) -> None:
        # Here and in subclasses first, since Stable-Baselines3 ends its own __init__ with `_setup_model`.
        self.symmetries = symmetries
        self.loss = loss
        self.actuators = actuators
        self.symmetry_samples = symmetry_samples
        self._preparation: Preparation | None = None
        self._gate_metrics: list[Metric] = []
        super().__init__(policy, env, **kwargs)

    def _setup_model(self) -> None:
        kind = self.policy_class
        if issubclass(kind, EquivariantActorCriticPolicy) and self.symmetries is not None:
            self.policy_kwargs = {"symmetries": self.symmetries, **self.policy_kwargs}
        if self.actuators is not None:
            refuse_space(self.action_space)
            self.policy_class = actuated(kind)
        super()._setup_model()  # type: ignore[safe-super]
        self.policy_class = kind
        self._setup_losses()
        self._prepared_choice = self._choice

    def _setup_losses(self) -> None:
        losses = checked_losses(self)
        if (self.actuators is not None) != isinstance(self.policy, Actuated):
            raise ValueError(
                "a policy has actuators from the start or never; make a new model with actuators="
            )
        network = getattr(self.policy, "symmetries", None)
        if network is not None and self.symmetries is not None and network != self.symmetries:
            raise ValueError(
                "the network was made for other symmetries than those given here; make a new model, or leave "
                "symmetries as they were"
            )
        self._refuse(losses)
        saved = self._preparation  # a loaded model brings its own
        replaced: frozenset[str] = self.__dict__.pop("_replaced", frozenset())
        is_current = isinstance(getattr(saved, "states", None), dict)
        if replaced or not is_current:
            self._preparation = self._new_preparation(losses)
            if saved is not None and is_current and not replaced & {"symmetries", "actuators"}:
                self._preparation.keep_actuators(saved)
            elif saved is not None and not replaced:
                self._preparation.set_state(state_before_the_move(saved))
            self._apply_actuators()
        self._refuse_environment(self.env)

    def _refuse(self, losses: Mapping[str, SymmetryLoss]) -> None:
        """Raise a ValueError for what these losses, or the network, cannot work with."""
        if losses or self._needs_symmetry:
            refuse_policy(self.policy, losses)  # type: ignore[arg-type]

    def _refuse_environment(self, env: VecEnv | None) -> None:
        """Raise a ValueError for one whose observations do not have the symmetry any more."""
        if self._preparation is not None and (self._has_losses or self._needs_symmetry):
            refuse_environment(env, self._transforms_of(self._preparation.names))

    def _new_preparation(self, losses: Mapping[str, SymmetryLoss]) -> Preparation:
        return Preparation(
            self.symmetries,
            losses,
            self.symmetry_samples,
            self.action_space,
            self.actuators,
            fit_states=self._fit_states,
        )

    def _apply_actuators(self) -> None:
        """Bring the present scales and offsets to the policy."""
        assert self._preparation is not None
        if (own := self._preparation.actuators) is not None:
            assert isinstance(self.policy, Actuated)
            self.policy.set_actuators(own.scale, own.offset)

    @property
    def _fit_states(self) -> int:
        """See `Preparation`."""
        return 0

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
        return {name: getattr(self, name) for name in self._choices}

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
        if replaced := set(cls._choices) & (kwargs.keys() | (custom_objects or {}).keys()):
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
            model._apply_actuators()
        return model

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_prepared_choice"]

    def set_env(self, env: GymEnv, force_reset: bool = True) -> None:
        wrapped = self._wrap_env(env, self.verbose)
        self._refuse_environment(wrapped)
        super().set_env(wrapped, force_reset)

    @property
    def _has_losses(self) -> bool:
        return self._preparation is not None and bool(self._preparation.names)

    @property
    def kinds_of_loss(self) -> tuple[type[SymmetryLoss], ...]:
        return tuple(self._preparation.states) if self._preparation is not None else ()

    @property
    def _takes_own_update(self) -> bool:
        """Whether the parent's own update would leave something out."""
        pays = bool(getattr(self.policy, "relax_penalty", 0.0))
        return self._has_losses or pays or self.actuators is not None

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        before = self._prepared_choice
        if replaced := frozenset(name for name, now in self._choice.items() if now is not before[name]):
            self._replaced = replaced  # somebody assigned another loss
            saved = self._preparation
            try:
                self._setup_losses()
            except ValueError:
                self._preparation = saved
                self._apply_actuators()
                raise
            self._prepared_choice = self._choice
        name = tb_log_name or type(self).__name__
        with _one_thread(self.device.type == "cpu" and self._takes_own_update):
            return super().learn(  # type: ignore[safe-super]
                total_timesteps, callback, log_interval, name, reset_num_timesteps, progress_bar
            )

    def action_maps(self) -> dict[str, ActionMap]:
        """The current estimators g-hat and their weights w_G, by transform."""
        return self._preparation.action_maps() if self._preparation is not None else {}

    def symmetry_metrics(self) -> list[Metric]:
        """What the last iteration measured: (metric, transform or "", element or "", value)."""
        return [*self._preparation.metrics(), *self._gate_metrics] if self._preparation is not None else []

    def symmetry_state(self) -> dict[str, npt.NDArray[Any]]:
        """All that must survive a restart beyond policy and optimiser, as plain arrays."""
        return self._preparation.state() if self._preparation is not None else {}

    def set_symmetry_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `symmetry_state` gave."""
        assert self._preparation is not None
        self._preparation.set_state(state)
        self._apply_actuators()


@contextmanager
def _one_thread(wanted: bool) -> Iterator[None]:
    before = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
