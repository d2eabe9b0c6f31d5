"""What a fit of the action maps is, so that another fit takes the place of the paper's without a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy.typing as npt
from gymnasium import spaces

from ambidex.actuators.action_map import ActionMap
from ambidex.common.arrays import FloatArray
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.actuators.transitions import Transitions

Weight = Callable[[float], float]
Metric = tuple[str, str, str, float]
"""Its name, the transform (or ""), the element or relation such as ``"0->2"`` (or ""), its value."""


class FitState(Protocol):
    """A fit under way: the current estimators and all that their next update needs."""

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        """Move the estimators toward what the policy does now.

        :param means: a-bar, (T, n), the policy's means at the batch's states
        :param symmetric_means: a-bar', (T, n) for each transform, its means at the transformed states
        """

    def action_maps(self) -> dict[str, ActionMap]: ...

    def metrics(self) -> list[Metric]: ...

    def state(self) -> dict[str, npt.NDArray[Any]]: ...

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None: ...


@runtime_checkable
class WatchesTransitions(Protocol):
    """A `FitState` that also wants to see what the robot did."""

    def watch(self, transitions: Transitions) -> None:
        """Take note of the transitions of a roll-out; called before `FitState.update`."""


@runtime_checkable
class KnowsActionSpace(Protocol):
    """A `Fit` that wants to know the space of the actions."""

    def within(self, space: spaces.Space[Any]) -> Fit:
        """The fit to start instead; called before `Fit.start`."""


@runtime_checkable
class Fit(Protocol):
    """A fit's hyperparameters: a frozen, comparable value that starts a `FitState` for a group."""

    def start(self, group: SymmetryGroup) -> FitState: ...


def check_weights(fit: Any) -> None:
    """Refuse an H_U or H_G that is no function."""
    for name in ("update_weight", "function_weight"):
        if not callable(getattr(fit, name)):
            raise ValueError(
                f"{type(fit).__name__}: {name} is a function of one number; got {getattr(fit, name)!r}"
            )


def check_window(fit: Any) -> None:
    """Refuse a k_I that is no number of targets."""
    if isinstance(fit.window, bool) or not isinstance(fit.window, int) or fit.window < 1:
        raise ValueError(
            f"{type(fit).__name__}: window is a number of targets, at least 1; got {fit.window!r}"
        )
