"""What can be wrong with the triangle robot: the paper's rust, weight and high-friction region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import field_validator

from ambidex.common.arrays import FloatArray
from ambidex.envs.perturbations import ActionMaps, Conditions, Perturbation

if TYPE_CHECKING:
    from ambidex.symmetry import SymmetryGroup

LIMBS = 3
PerLimb = tuple[float, float, float]


@dataclass
class TriangleConditions(Conditions):
    """The robot at one step: ``torque = gain * action + load``.

    :param loads: a constant torque on each limb
    :param region_gains: the further gain of each limb while its angle is negative
    """

    loads: FloatArray = field(default_factory=lambda: np.zeros(LIMBS))
    region_gains: FloatArray = field(default_factory=lambda: np.ones(LIMBS))

    @property
    def has_region(self) -> bool:
        return bool((self.region_gains != 1).any())

    def true_action_maps(self, group: SymmetryGroup) -> ActionMaps | None:
        """For each transform the multipliers and biases under which symmetric actions have symmetric effects.

        The torques map as the ideal actions do, ``k_i torque_j`` with ``j = indices[i]``. With gains g and
        loads l, solved for the actions:

            a'_i = (k_i (g_j a_j + l_j) - l_i) / g_i

        This holds until a motor saturates. None with a high-friction region, whose map depends on the state.
        """
        if self.has_region:
            return None
        maps = {}
        for symmetry in group:
            matrix = symmetry.action_map.matrix
            indices = np.abs(matrix).argmax(axis=1)
            signs = matrix[np.arange(LIMBS), indices]
            multipliers = signs * self.gains[indices] / self.gains
            biases = (signs * self.loads[indices] - self.loads) / self.gains
            maps[symmetry.name] = multipliers, biases
        return maps


class Rust(Perturbation):
    """Limbs need more torque for the same movement; the motors' largest torque stays the same.

    :param resistances: 1 for a limb in order, 2 for one that needs double the torque
    """

    kind: Literal["rust"] = "rust"
    resistances: PerLimb

    @field_validator("resistances")
    @classmethod
    def _positive(cls, resistances: PerLimb) -> PerLimb:
        return _all_above_zero("rust", resistances)

    def apply(self, conditions: Conditions, step: int) -> None:
        triangle = _of_triangle(conditions, "rust")
        triangle.gains = triangle.gains / self.resistances
        triangle.ranges = triangle.ranges / self.resistances


class Load(Perturbation):
    """A constant torque on each limb, such as a weight that hangs on it.

    :param torques: in units of the action
    """

    kind: Literal["load"] = "load"
    torques: PerLimb

    def apply(self, conditions: Conditions, step: int) -> None:
        triangle = _of_triangle(conditions, "load")
        triangle.loads = triangle.loads + self.torques


class FrictionRegion(Perturbation):
    """A high-friction area beside the body, where a limb's angle is negative: there it needs more torque.

    :param resistances: the further resistance of each limb in that area
    """

    kind: Literal["friction_region"] = "friction_region"
    resistances: PerLimb

    @field_validator("resistances")
    @classmethod
    def _positive(cls, resistances: PerLimb) -> PerLimb:
        return _all_above_zero("friction_region", resistances)

    def apply(self, conditions: Conditions, step: int) -> None:
        triangle = _of_triangle(conditions, "friction_region")
        triangle.region_gains = triangle.region_gains / self.resistances


def _of_triangle(conditions: Conditions, kind: str) -> TriangleConditions:
    if not isinstance(conditions, TriangleConditions):
        raise ValueError(f"{kind} is a perturbation of the triangle robot (ambidex/Triangle-v0) only")
    return conditions


def _all_above_zero(kind: str, resistances: PerLimb) -> PerLimb:
    for limb, resistance in enumerate(resistances):
        if resistance <= 0:
            raise ValueError(
                f"{kind}: the resistance of limb {limb} is {resistance}; a resistance is above 0"
            )
    return resistances
