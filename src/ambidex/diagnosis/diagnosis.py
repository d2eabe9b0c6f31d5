"""What a diagnosis is, wherever it comes from: which actuator is off, by how much, and how sure that is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from ambidex.actuators.scales import Scales
from ambidex.common.arrays import FloatArray
from ambidex.symmetry import SymmetryGroup

NOTEWORTHY_SCALE = 1.05  # a smaller deviation than this, either way, is not worth a sentence
NOTEWORTHY_OFFSET = 0.02


@dataclass(frozen=True)
class ActuatorDiagnosis:
    """One actuator beside its counterparts.

    :param index: of the action element
    :param name: as the description has it
    :param at: x (to the front) and y (to the left) of its limb on the body, where the description has them
    :param counterparts: the actuators that it was compared with
    :param scale: how many times the command of its counterparts it needs
    :param scale_interval: 95 percent; None where the data do not tell
    :param offset: its command where that of its counterparts is 0
    :param offset_interval: 95 percent; None where the data do not tell
    :param reason: why the data do not tell something, or an empty text
    :param true_scale: None where unknown
    """

    index: int
    name: str
    at: tuple[float, float] | None
    counterparts: tuple[int, ...]
    scale: float
    scale_interval: tuple[float, float] | None
    offset: float
    offset_interval: tuple[float, float] | None
    reason: str
    true_scale: float | None

    @classmethod
    def of(cls, scales: Scales, index: int, true_scale: float | None = None) -> Self:
        group = scales.group
        name = group.layout.action_names[index] if group.layout else f"action {index}"
        compared = np.flatnonzero(scales.orbit == scales.orbit[index])
        return cls(
            index=index,
            name=name,
            at=_limb_position(group, name),
            counterparts=tuple(int(other) for other in compared if other != index),
            scale=float(scales.scale[index]),
            scale_interval=_ends(scales.interval.scale[index]),
            offset=float(scales.offset[index]),
            offset_interval=_ends(scales.interval.offset[index]),
            reason=scales.reasons[index],
            true_scale=true_scale,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        judged = ("scale_known", "offset_known", "place", "is_off")
        return asdict(self) | {name: getattr(self, name) for name in judged}

    @property
    def scale_known(self) -> bool:
        """Whether the data tell."""
        return self.scale_interval is not None

    @property
    def offset_known(self) -> bool:
        """Whether the data tell."""
        return self.offset_interval is not None

    @property
    def place(self) -> str:
        """Where it sits, such as "front left", or an empty text."""
        x, y = self.at or (0.0, 0.0)
        least = 0.15 * float(np.hypot(x, y))  # legs of a long robot are hardly beside its middle line
        along = ["front" if x > 0 else "back"] * (abs(x) > least)
        return " ".join(along + ["left" if y > 0 else "right"] * (abs(y) > least))

    @property
    def is_off(self) -> bool:
        """Whether its scale or offset differs from its counterparts' by more than chance and trifle."""
        return self.scale_is_off or self.offset_is_off

    @property
    def scale_is_off(self) -> bool:
        return _excludes(self.scale_interval, 1.0) and _apart(self.scale, 1.0)

    @property
    def offset_is_off(self) -> bool:
        return _excludes(self.offset_interval, 0.0) and abs(self.offset) >= NOTEWORTHY_OFFSET

    def contradicts(self, other: ActuatorDiagnosis) -> bool:
        """Whether another source knows a scale of the same actuator that cannot be this one's."""
        if self.scale_interval is None or other.scale_interval is None:
            return False
        (low, high), (other_low, other_high) = self.scale_interval, other.scale_interval
        disjoint = high < other_low or other_high < low
        return disjoint and self.counterparts == other.counterparts and _apart(self.scale, other.scale)


@dataclass(frozen=True)
class Diagnosis:
    """:param title: what was diagnosed
    :param shared_offsets: actuators of which only the differences of offsets are known, orbit by orbit
    """

    title: str
    actuators: tuple[ActuatorDiagnosis, ...]
    shared_offsets: tuple[tuple[int, ...], ...]

    @property
    def knows_offsets(self) -> bool:
        return any(one.offset_known for one in self.actuators)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"actuators": [one.as_dict() for one in self.actuators]}


def actuators_of(scales: Scales, true_scales: FloatArray | None = None) -> tuple[ActuatorDiagnosis, ...]:
    true = [None] * len(scales.scale) if true_scales is None else true_scales.tolist()
    return tuple(ActuatorDiagnosis.of(scales, index, one) for index, one in enumerate(true))


def shared_offsets_of(scales: Scales) -> tuple[tuple[int, ...], ...]:
    orbits = np.unique(scales.orbit[scales.offset_shared & scales.offset_identifiable])
    return tuple(tuple(np.flatnonzero(scales.orbit == orbit).tolist()) for orbit in orbits)


def _apart(scale: float, other: float) -> bool:
    return max(scale / other, other / scale) >= NOTEWORTHY_SCALE


def _excludes(interval: tuple[float, float] | None, value: float) -> bool:
    return interval is not None and not interval[0] <= value <= interval[1]


def _ends(interval: FloatArray) -> tuple[float, float] | None:
    low, high = interval.tolist()
    return None if np.isnan(low) else (low, high)


def _limb_position(group: SymmetryGroup, actuator: str) -> tuple[float, float] | None:
    body = group.layout.body if group.layout else None
    joint = body.joints.get(actuator) if body else None
    at = body.limbs.get(joint.limb) if body and joint and joint.limb else None
    return None if at is None else (float(at[0]), float(at[1]))
