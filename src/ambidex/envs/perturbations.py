"""What can be wrong with a robot or its surroundings, as objects that compose into the conditions of a step.

A perturbation changes `Conditions`, which start as the ideal robot's; several apply one after the other. A
new kind is a subclass of `Perturbation` with its own ``kind``; from then on scenario files may name it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from ambidex.common.arrays import FloatArray

if TYPE_CHECKING:
    from ambidex.symmetry import SymmetryGroup

ActionMaps = dict[str, tuple[FloatArray, FloatArray]]


@dataclass
class Conditions:
    """The robot and its surroundings at one step.

    :param gains: what reaches each actuator, per unit of its action
    :param ranges: the largest ``gain * action`` of each actuator; with the gains it sets the action's range
    :param saturation: the largest command that the motors follow, whatever the ranges
    :param foot_masses: in kg, None where it is the model's own
    :param tilt: degrees, and the goal toward which gravity pulls; None on flat ground
    :param worn: the part of each gain that is wear; the action's range does not make up for it
    """

    gains: FloatArray
    ranges: FloatArray
    saturation: float = math.inf
    foot_masses: list[float | None] = field(default_factory=lambda: [None] * 4)
    tilt: tuple[float, int] | None = None
    worn: float | FloatArray = 1.0

    @classmethod
    def ideal(cls, actuators: int) -> Conditions:
        return cls(gains=np.ones(actuators), ranges=np.ones(actuators))

    @property
    def action_limits(self) -> FloatArray:
        """The largest action of each actuator, so that after its gain, but for wear, it fills its range."""
        return self.worn * self.ranges / self.gains

    @property
    def command_limits(self) -> FloatArray:
        """What the simulator clips ``gain * action`` to."""
        return np.minimum(self.ranges, self.saturation)

    def true_action_maps(self, group: SymmetryGroup) -> ActionMaps | None:
        """For each transform the multipliers and biases that give symmetric actions symmetric outcomes.

        Equal commands have equal outcomes, ``gain_i a'_i = k_i gain_j a_j`` with ``j = indices[i]``, so the
        true multiplier is ``k_i gain_j / gain_i``. None where the actuators' ranges differ or the body or the
        ground is not symmetric: there no linear map is true.
        """
        from ambidex.symmetry import IndexMap  # not needed to list scenarios, which starts fast

        body_is_ideal = self.tilt is None and self.foot_masses == [None] * 4
        if not body_is_ideal or np.ptp(self.ranges) > 0 or self.saturation < self.ranges.min():
            return None
        maps = {}
        for symmetry in group:
            ideal = symmetry.action_map
            if not isinstance(ideal, IndexMap):
                return None
            multipliers = ideal.multipliers * self.gains[ideal.indices] / self.gains
            maps[symmetry.name] = (multipliers, np.zeros_like(multipliers))
        return maps


class Perturbation(BaseModel):
    """One thing that differs from the ideal robot."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    kinds: ClassVar[dict[str, type[Perturbation]]] = {}

    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        Perturbation.kinds[cls.model_fields["kind"].default] = cls

    def apply(self, conditions: Conditions, step: int) -> None:
        """Change ``conditions``, in place, to what they are at this training step."""
        raise NotImplementedError

    def next_change(self, step: int) -> float:
        """The first step after this one at which `apply` may do something else; infinite if there is none."""
        return math.inf


def parse(value: Any) -> Any:
    """A mapping, as a scenario file has it, as the perturbation that its ``kind`` names."""
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in Perturbation.kinds:
        raise ValueError(
            f"no perturbation of kind {kind!r}; there are {', '.join(sorted(Perturbation.kinds))}"
        )
    return Perturbation.kinds[kind].model_validate(value)


def conditions_at(perturbations: Sequence[Perturbation], step: int, *, actuators: int) -> Conditions:
    conditions = Conditions.ideal(actuators)
    for perturbation in perturbations:
        perturbation.apply(conditions, step)
    return conditions


def next_change(perturbations: Sequence[Perturbation], step: int) -> float:
    return min((perturbation.next_change(step) for perturbation in perturbations), default=math.inf)


class ActionMultipliers(Perturbation):
    """Each action element is multiplied on its way to the actuator (the paper's A2 and A3).

    :param multipliers: one for each actuator
    :param range: what the product is clipped to. ``"unchanged"``: all motors stay equivalent, and the range
        of the actions becomes ``1 / multipliers``. ``"multipliers"``: a weakly driven motor is a weak motor
    :param saturation: the largest product that the motors follow; the electricity cost still counts all of it
    """

    kind: Literal["action_multipliers"] = "action_multipliers"
    multipliers: tuple[float, ...] = Field(min_length=1)
    range: Literal["unchanged", "multipliers"] = "unchanged"
    saturation: float | None = Field(None, gt=0)

    @field_validator("multipliers")
    @classmethod
    def _positive(cls, multipliers: tuple[float, ...]) -> tuple[float, ...]:
        for element, multiplier in enumerate(multipliers):
            if multiplier <= 0:
                raise ValueError(f"multiplier {element} is {multiplier}; an actuator's multiplier is above 0")
        return multipliers

    def apply(self, conditions: Conditions, step: int) -> None:
        if len(self.multipliers) != len(conditions.gains):
            raise ValueError(
                f"action_multipliers has {len(self.multipliers)} multipliers, "
                f"but the robot has {len(conditions.gains)} actuators"
            )
        multipliers = np.array(self.multipliers)
        conditions.gains = conditions.gains * multipliers
        if self.range == "multipliers":
            conditions.ranges = conditions.ranges * multipliers
        if self.saturation is not None:
            conditions.saturation = self.saturation


class FootMasses(Perturbation):
    """The mass of each foot of the ant in kg; None keeps the model's own (13.5)."""

    kind: Literal["foot_masses"] = "foot_masses"
    masses: tuple[float | None, float | None, float | None, float | None]

    @field_validator("masses")
    @classmethod
    def _positive(cls, masses: tuple[float | None, ...]) -> tuple[float | None, ...]:
        for foot, mass in enumerate(masses):
            if mass is not None and mass <= 0:
                raise ValueError(
                    f"the mass of foot {foot} is {mass}; a mass is above 0 (or null: the model's)"
                )
        return masses

    def apply(self, conditions: Conditions, step: int) -> None:
        conditions.foot_masses = list(self.masses)


class Tilt(Perturbation):
    """The ground falls toward a goal: gravity turns, fixed in the body frame in which the ant starts."""

    kind: Literal["tilt"] = "tilt"
    degrees: float = Field(gt=0, lt=90)
    goal: int = Field(ge=0, le=7)

    def apply(self, conditions: Conditions, step: int) -> None:
        conditions.tilt = (self.degrees, self.goal)


class Wear(Perturbation):
    """Actuators lose (or regain) gain over training steps, along straight lines between points.

    Before the first point and after the last the gain stays at theirs. The action's range does not follow: a
    worn actuator cannot reach the torques that it once did.

    :param actuators: which ones
    :param schedule: points of (training step, gain)
    """

    kind: Literal["wear"] = "wear"
    actuators: tuple[int, ...] = Field(min_length=1)
    schedule: tuple[tuple[int, float], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        steps = [step for step, _ in self.schedule]
        if steps != sorted(set(steps)) or steps[0] < 0:
            raise ValueError(f"wear: the schedule's steps {steps} are not ascending from 0 on")
        if any(gain <= 0 for _, gain in self.schedule):
            raise ValueError("wear: a gain in the schedule is not above 0")
        return self

    def apply(self, conditions: Conditions, step: int) -> None:
        _check_actuators("wear", self.actuators, conditions)
        steps, gains = zip(*self.schedule, strict=True)
        worn = np.ones_like(conditions.gains)
        worn[list(self.actuators)] = np.interp(step, steps, gains)
        conditions.gains = conditions.gains * worn
        conditions.worn = conditions.worn * worn

    def next_change(self, step: int) -> float:
        first, last = self.schedule[0][0], self.schedule[-1][0]
        if step >= last:
            return math.inf
        return max(step, first) + 1


class SuddenChange(Perturbation):
    """From one training step on, another perturbation holds: a motor fails, a foot gets a load.

    The action's range stays what it was at the start.
    """

    kind: Literal["sudden_change"] = "sudden_change"
    step: int = Field(ge=1)
    change: SerializeAsAny[Perturbation]

    _parse_change = field_validator("change", mode="before")(parse)

    def apply(self, conditions: Conditions, step: int) -> None:
        if step >= self.step:
            self.change.apply(conditions, step)

    def next_change(self, step: int) -> float:
        return self.step if step < self.step else self.change.next_change(step)


def _check_actuators(kind: str, actuators: Sequence[int], conditions: Conditions) -> None:
    for actuator in actuators:
        if not 0 <= actuator < len(conditions.gains):
            raise ValueError(
                f"{kind}: there is no actuator {actuator}; the robot has 0 to {len(conditions.gains) - 1}"
            )
