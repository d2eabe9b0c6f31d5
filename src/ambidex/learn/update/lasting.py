"""What symmetry keeps from one update to the next in any algorithm: the losses' states, and actuators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy.typing as npt
from gymnasium import spaces

from ambidex.actuators.action_map import ActionMap
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.loss import SymmetryLoss, by_kind
from ambidex.learn.update import value_distance
from ambidex.learn.update.actuators import ActuatorChoice, FittedActuators, KnownActuators
from ambidex.learn.update.actuators import start as start_actuators
from ambidex.symmetry import IndexMap, SymmetryGroup


class Survives(Protocol):
    """What can be taken down as arrays and put back."""

    def state(self) -> dict[str, npt.NDArray[Any]]: ...

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None: ...


class Lasting:
    """The states of the losses and the actuators of a model.

    :param group: the symmetries; None for the plain algorithm
    :param losses: the loss of each transform that has one
    :param samples: how many transforms are drawn, None for all
    :param space: of the actions
    :param actuators: what stands between the policy's canonical commands and the robot
    """

    _fitted: dict[str, ActionMap] | None = None

    def __init__(
        self,
        group: SymmetryGroup | None,
        losses: Mapping[str, SymmetryLoss],
        samples: int | None,
        space: spaces.Space[Any],
        actuators: ActuatorChoice = None,
    ) -> None:
        self.names = tuple(losses)
        self._losses = dict(losses)
        self._transforms = tuple(group[name] for name in self.names) if group else ()
        self._samples = samples if samples is not None and samples < len(self.names) else None
        self.states = (
            {kind: kind.start(own, group, space) for kind, own in by_kind(losses).items()} if group else {}
        )
        self.actuators = start_actuators(actuators, group)
        self._value_distances: list[Metric] = []

    def keep_actuators(self, other: Self) -> None:
        """Those of the preparation before this one: another loss is no other robot."""
        self.actuators = other.actuators

    def action_maps(self) -> dict[str, ActionMap]:
        """The current estimator of each transform: as its loss fits it, or as given."""
        if self.actuators is not None:
            return self.actuators.action_maps()
        fitted = self._fitted_maps()
        return {
            transform.name: fitted.get(transform.name) or ActionMap.given(transform)
            for transform in self._transforms
            if isinstance(transform.action_map, IndexMap)
        }

    def metrics(self) -> list[Metric]:
        """Of the last time that something was learned."""
        return self._value_distances + [
            metric for state in (*self.states.values(), *self._actuator_states) for metric in state.metrics()
        ]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {name: array for own in self._lasting for name, array in own.state().items()}
        return arrays | value_distance.as_state(self._value_distances)

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._fitted = None
        self._value_distances = value_distance.from_state(state, self.names)
        for own in self._lasting:
            own.set_state(state)
        known, given = ({name.partition("/")[0] for name in names} for names in (self.state(), state))
        if unknown := given - known:
            raise ValueError(
                f"the state holds {sorted(unknown)[0]!r}, but the losses of this model have none"
            )

    @property
    def _actuator_states(self) -> tuple[KnownActuators | FittedActuators, ...]:
        return () if self.actuators is None else (self.actuators,)

    @property
    def _lasting(self) -> tuple[Survives, ...]:
        """What must survive a restart."""
        return *self.states.values(), *self._actuator_states

    def _fitted_maps(self) -> dict[str, ActionMap]:
        if self._fitted is None:
            states = self.states.values()
            self._fitted = {name: own for state in states for name, own in state.action_maps().items()}
        return self._fitted
