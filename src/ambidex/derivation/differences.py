"""How two partners in a robot model differ, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray

SMALL, LENGTHS_SMALL = 1e-2, 2e-3
LENGTHS = ("place", "centre of mass", "axis")  # what is measured against the robot's size, or in radians
TOLERANCE = 1e-4  # relative: many models have no more digits (a quarter turn as 1.5708)


@dataclass(frozen=True)
class Asymmetry:
    """One thing in which two partners differ, or one that is its own image differs from it.

    :param kind: ``"body"``, ``"joint"``, ``"actuator"``, ``"geom"``, ``"tendon"``,
        ``"equality"``, ``"contact"`` or ``"world"``
    :param first: its name
    :param second: its partner's name
    :param quantity: in what they differ
    :param difference: how much, relative to the larger; lengths relative to the robot's size
    :param words: the same as a sentence
    :param transform: the isometry that should carry the one to the other
    """

    kind: str
    first: str
    second: str
    quantity: str
    difference: float
    words: str
    transform: str = ""

    @property
    def is_small(self) -> bool:
        """Whether it may be rounding in the model: a hundredth, of lengths and axes a five hundredth."""
        return 0 < self.difference < (LENGTHS_SMALL if self.quantity in LENGTHS else SMALL)

    def __str__(self) -> str:
        return self.words

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def percent(share: float) -> str:
    """``3.4 %`` or ``120 %``."""
    return f"{100 * share:.2g} %" if 100 * share < 99.5 else f"{100 * share:.0f} %"


def numbers(
    kind: str, names: tuple[str, str], quantity: str, first: float, second: float
) -> Iterator[Asymmetry]:
    """Two numbers of which neither is negative: how many times the one is of the other."""
    (small, less), (large, more) = sorted(((float(first), names[0]), (float(second), names[1])))
    if large - small <= TOLERANCE * large:
        return
    if small == 0:
        words = f"{more} has the {quantity} {large:.4g}, {less} has none"
    elif large >= 1.1 * small:
        words = f"{more} has {large / small:.3g} times the {quantity} of {less}"
    else:
        words = f"{more} has {percent(large / small - 1)} more {quantity} than {less}"
    yield Asymmetry(kind, more, less, quantity, (large - small) / large, words)


def lists(
    kind: str, names: tuple[str, str], quantity: str, first: FloatArray, second: FloatArray
) -> Iterator[Asymmetry]:
    """Numbers that should be the same, one by one."""
    scale = max(float(np.abs(first).max()), float(np.abs(second).max()), 1e-12)
    difference = float(np.abs(first - second).max()) / scale
    if difference > TOLERANCE:
        words = f"{names[0]} has the {quantity} {_text(first)}, {names[1]} {_text(second)}"
        yield Asymmetry(kind, *names, quantity, difference, words)


def ranges(
    kind: str, names: tuple[str, str], quantity: str, ranges: Sequence[FloatArray | None], sign: float
) -> Iterator[Asymmetry]:
    first, second = ranges
    if first is None and second is None:
        return
    if first is None or second is None:
        limited, free = names if second is None else names[::-1]
        given = _text(first if second is None else second)  # type: ignore[arg-type]
        words = f"{limited} has the {quantity} {given}, {free} has no limits"
        yield Asymmetry(kind, limited, free, quantity, 1.0, words)
        return
    image = np.sort(sign * first)
    difference = float(np.abs(image - second).max() / max(np.abs(first).max(), np.abs(second).max(), 1e-12))
    if difference > TOLERANCE:
        other = "should mirror to itself" if names[0] == names[1] else f"{names[1]} {_text(second)}"
        words = f"{names[0]} has the {quantity} {_text(first)}, {other}"
        words += ", where the signs are opposite" if sign < 0 and names[0] != names[1] else ""
        yield Asymmetry(kind, *names, quantity, difference, words)


def _text(values: FloatArray) -> str:
    numbers = [f"{value:.4g}" for value in np.asarray(values) + 0.0]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"
