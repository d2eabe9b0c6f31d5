"""Partial symmetry: some actuators are held to the symmetry, others are free (legs symmetric, arms not)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from ambidex.common.arrays import FloatArray
from ambidex.common.words import suggestion
from ambidex.learn.losses import gaussian
from ambidex.learn.losses.constants import Batch, Constants
from ambidex.learn.losses.loss import LossState, SymmetryLoss
from ambidex.symmetry import Layout, Symmetry, SymmetryGroup


@dataclass(frozen=True)
class PartialLoss(SymmetryLoss):
    """A loss whose policy term may weigh the actuators; observations and the value term stay as they are.

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param actuator_weights: how much each actuator counts, by patterns of the description's names:
        ``"arm_left.elbow"``, ``"arm*"``, or of the joint within its limb, ``"elbow"``. The last pattern that
        matches counts (``{"*": 0.0, "knee*": 1.0}``), and an actuator that none matches has 1. Actuators that
        a transform exchanges have the same weight. None: all have 1
    """

    actuator_weights: Mapping[str, float] | None = field(default=None, kw_only=True)

    by_actuator: ClassVar[tuple[str, ...]] = ("actuator_weights",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.actuator_weights is None:
            return
        if not isinstance(self.actuator_weights, Mapping):
            raise ValueError(
                f"{type(self).__name__}: actuator_weights is a mapping from patterns of actuators' names to "
                f"weights, such as {{'arm*': 0.0}}; got {self.actuator_weights!r}"
            )
        self.check("actuator_weights", at_least=0.0)

    @classmethod
    @abstractmethod
    def constants(cls, losses: Mapping[str, Self], batch: Batch, elements: Tensor | None = None) -> Constants:
        """The constants of one iteration for all transforms that have this kind of loss.

        :param losses: the loss of each of these transforms
        :param batch: the roll-out, of all transforms that have any loss
        :param elements: (N, n) how much each action element counts; None where all count 1
        """

    @classmethod
    def start(cls, losses: Mapping[str, Self], group: SymmetryGroup, space: Any) -> PartialState:
        return PartialState(cls, losses, group)


class PartialState(LossState):
    """Partial losses under way: the weight of each action element, from the names of the description."""

    kind: type[PartialLoss]
    losses: Mapping[str, PartialLoss]

    def __init__(
        self, kind: type[PartialLoss], losses: Mapping[str, PartialLoss], group: SymmetryGroup
    ) -> None:
        super().__init__(kind, losses)
        self._elements: dict[str, FloatArray] = {}
        for name, loss in losses.items():
            if loss.actuator_weights is None:
                continue
            place = f"{type(loss).__name__}: actuator_weights"
            weights = element_weights(loss.actuator_weights, group.layout, place)
            assert group.layout is not None
            refuse_unequal(weights, group[name], group.layout.action_names, place)
            self._elements[name] = weights

    def constants(self, batch: Batch) -> Constants:
        return self.kind.constants(self.losses, batch, self._weights(batch))

    def _weights(self, batch: Batch) -> Tensor | None:
        if not self._elements:
            return None
        ones = np.ones(batch.actions.shape[-1])
        return batch.log_probs.new_tensor(np.stack([self._elements.get(name, ones) for name in batch.names]))


def element_weights(patterns: Mapping[str, float], layout: Layout | None, place: str) -> FloatArray:
    """(n,) the weight of each action element.

    :param patterns: see `PartialLoss`
    :param layout: of the group
    :param place: what an error begins with
    """
    if layout is None:
        raise ValueError(
            f"{place} needs the actuators' names, which the symmetries do not have; describe the robot by "
            "name (see docs/describe.md)"
        )
    if layout.choices:
        raise ValueError(f"{place}: the actions are discrete choices, not actuators; leave it out")
    joints = {actuator.name: actuator.joint for actuator in layout.actuators}
    names_of_each = [
        {name, joint := joints.get(name, name), joint.rpartition(".")[2]} for name in layout.action_names
    ]
    weights = np.ones(len(layout.action_names))
    for pattern, weight in patterns.items():
        matches = [any(fnmatchcase(name, pattern) for name in names) for names in names_of_each]
        if not any(matches):
            hint = suggestion(pattern, layout.action_names)
            hint = hint or f"; the actuators are {', '.join(layout.action_names)}"
            raise ValueError(f"{place}: no actuator matches {pattern!r}{hint}")
        weights[matches] = weight
    return weights


def refuse_unequal(weights: FloatArray, symmetry: Symmetry, names: tuple[str, ...], place: str) -> None:
    """An image has no part that belongs to the sample's, if an actuator counts and its partner does not.

    :param weights: (n,) of each action element
    :param symmetry: whose action map says which elements are read from which
    :param names: of the action elements
    :param place: what an error begins with
    """
    unequal = (symmetry.action_map.matrix != 0) & (weights[:, None] != weights[None, :])
    for element, source in np.argwhere(unequal):
        raise ValueError(
            f"{place}: transform {symmetry.name!r} carries {names[source]!r} (weight {weights[source]:g}) to "
            f"{names[element]!r} (weight {weights[element]:g}); give both the same weight, or this transform "
            "a loss of its own"
        )


def sampled_log_probs(batch: Batch, elements: Tensor | None) -> Tensor:
    """log pi_old(a | s) of the elements that count: (T, 1), or (T, N) where they have weights.

    :param elements: (N, n) weights, or None
    """
    if elements is None:
        return batch.log_probs[:, None]
    assert batch.log_std is not None
    return gaussian.log_prob(batch.actions[:, None], batch.means[:, :1], batch.log_std, elements)
