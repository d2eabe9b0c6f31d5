"""What a symmetry loss is: the seam by which MSL, PSL, ASL or a loss of one's own enters every algorithm.

A loss is one file: a frozen dataclass of hyperparameters (`SymmetryLoss`) that is shared by any number of
transforms, and the constants that it computes once per iteration (`Constants`), which know its terms for
autograd and, where somebody wrote them down, its gradients for the fast update.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy.typing as npt

from ambidex.actuators.action_map import ActionMap
from ambidex.common.words import suggestion
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses.constants import Batch, Constants
from ambidex.learn.losses.gates import Gates
from ambidex.symmetry import Symmetry, SymmetryGroup

Number = float | Mapping[str, float]
"""One number for every transform, or a mapping from each transform's name to its number."""

OptionalNumber = float | None | Mapping[str, float | None]


@dataclass(frozen=True)
class SymmetryLoss(ABC):
    """The hyperparameters of one loss; every field takes one value, or a mapping from transform to value.

    :param policy_weight: w_pi
    :param value_weight: w_V
    """

    policy_weight: Number
    value_weight: Number

    moves_gaussian_means: ClassVar[bool] = True
    """Whether it needs one mean and one standard deviation per action; otherwise any outputs do."""

    has_gradients: ClassVar[bool] = False
    """Whether its constants are `DifferentiatedConstants`, which the fast update takes."""

    needs_own_rollout: ClassVar[str | None] = None
    """Why it cannot learn from transitions of earlier policies; None where it can."""

    by_actuator: ClassVar[tuple[str, ...]] = ()
    """The fields whose mappings name actuators, not transforms."""

    def __post_init__(self) -> None:
        self.check("policy_weight", "value_weight", at_least=0.0)

    @classmethod
    @abstractmethod
    def constants(cls, losses: Mapping[str, Self], batch: Batch) -> Constants:
        """The constants of one iteration for all transforms that have this kind of loss.

        :param losses: the loss of each of these transforms
        :param batch: the roll-out, of all transforms that have any loss
        """

    @classmethod
    def start(cls, losses: Mapping[str, Self], group: SymmetryGroup, space: Any) -> LossState:
        """What lasts from one iteration to the next.

        :param losses: the loss of each transform that has this kind of loss
        :param group: all symmetries
        :param space: of the actions
        """
        return LossState(cls, losses)

    @property
    def fits_action_maps(self) -> bool:
        """Whether it adapts the given action maps to the robot."""
        return False

    def refuse(self, symmetry: Symmetry) -> None:  # noqa: B027  (most losses serve every transform)
        """Raise a ValueError where this loss cannot serve this transform."""

    def number(self, name: str, transform: str) -> float | None:
        """The value of the hyperparameter ``name`` for one transform."""
        value = getattr(self, name)
        if not isinstance(value, Mapping):
            return value  # type: ignore[no-any-return]
        if transform not in value:
            raise ValueError(
                f"{type(self).__name__}: {name} has no number for transform {transform!r}; "
                f"add it to the mapping, which names {', '.join(map(repr, value))}"
            )
        return value[transform]  # type: ignore[no-any-return]

    def check(self, *names: str, at_least: float, optional: bool = False) -> None:
        """Refuse values of these fields that are no numbers, or too small."""
        for name in names:
            value = getattr(self, name)
            entries = value.items() if isinstance(value, Mapping) else [(None, value)]
            for key, number in entries:
                if number is None and optional:
                    continue
                place = f"{type(self).__name__}: {name}"
                named = "actuator" if name in self.by_actuator else "transform"
                place += f" of {named} {key!r}" if key else ""
                if isinstance(number, bool) or not isinstance(number, numbers.Real):
                    raise ValueError(
                        f"{place} is a number or a mapping from {named} to number; got {number!r}"
                    )
                if not math.isfinite(number) or number < at_least:
                    raise ValueError(f"{place} is a finite number, at least {at_least:g}; got {number!r}")


class LossState:
    """The losses of one kind under way; this one keeps nothing.

    :param kind: of all of them
    :param losses: the loss of each transform that has this kind
    """

    def __init__(self, kind: type[SymmetryLoss], losses: Mapping[str, SymmetryLoss]) -> None:
        self.kind = kind
        self.losses = losses

    def watch(self, batch: Batch) -> None:
        """Learn from a finished roll-out; called before `constants`."""

    def constants(self, batch: Batch) -> Constants:
        return self.kind.constants(self.losses, batch)

    def gates(self, batch: Batch) -> Gates | None:
        """What blocks samples, of the policy term and of the value term; None for nothing."""
        return None

    def action_maps(self) -> dict[str, ActionMap]:
        """The estimators of transforms whose action map is not the given one."""
        return {}

    def metrics(self) -> list[Metric]:
        """What the last iteration measured."""
        return []

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that must survive a restart."""
        return {}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` gave."""


LossChoice = SymmetryLoss | None | Mapping[str, SymmetryLoss | None]


def losses_by_transform(group: SymmetryGroup, loss: LossChoice) -> dict[str, SymmetryLoss]:
    """Which loss each transform has, in the group's order; transforms without a loss are left out."""
    if isinstance(loss, Mapping):
        _refuse_unknown(loss, group.names, "loss")
        chosen = {name: loss.get(name) for name in group.names}
    else:
        chosen = dict.fromkeys(group.names, loss)
    for name, one in chosen.items():
        if one is not None and not isinstance(one, SymmetryLoss):
            raise ValueError(
                f"the loss of transform {name!r} is MSL, PSL, ASL, Augmentation or None; got {one!r}"
            )
    used = {name: one for name, one in chosen.items() if one is not None}
    for name, one in used.items():
        for field in fields(one):
            value = getattr(one, field.name)
            if isinstance(value, Mapping) and field.name not in one.by_actuator:
                _refuse_unknown(value, group.names, f"{type(one).__name__}: {field.name}")
                one.number(field.name, name)
    return used


def by_kind(losses: Mapping[str, SymmetryLoss]) -> dict[type[SymmetryLoss], dict[str, SymmetryLoss]]:
    """The same losses, those of one kind together."""
    kinds: dict[type[SymmetryLoss], dict[str, SymmetryLoss]] = {}
    for name, loss in losses.items():
        kinds.setdefault(type(loss), {})[name] = loss
    return kinds


def _refuse_unknown(names: Iterable[str], known: Iterable[str], what: str) -> None:
    known = tuple(known)
    for name in names:
        if name not in known:
            hint = suggestion(name, known) or f"; the transforms are {', '.join(known)}"
            raise ValueError(f"{what}: no transform {name!r}{hint}")
