"""What can be wrong with one table of indices and multipliers, said so that a person can fix it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.words import listed


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or suspicious, in a description.

    :param code: a stable identifier for programs, such as ``"not-a-permutation"``
    :param transform: the transform's name, or ``None`` where no single transform is to blame
    :param side: ``"observation"`` or ``"action"``, or ``None`` where it concerns both
    :param element: the index of the element on that side, or ``None``
    :param message: what was expected and what was found
    :param fix: the smallest change that repairs it, or ``None`` where there is no single one
    """

    code: str
    message: str
    transform: str | None = None
    side: str | None = None
    element: int | None = None
    fix: str | None = None

    def __str__(self) -> str:
        where = [f"transform {self.transform!r}"] if self.transform is not None else []
        if self.side is not None:
            where.append(self.side if self.element is None else f"{self.side} {self.element}")
        text = f"{', '.join(where)}: {self.message}" if where else self.message
        return f"{text} Fix: {self.fix}." if self.fix else text

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def table_findings(
    transform: str,
    side: str,
    indices: Sequence[Any] | npt.NDArray[Any],
    multipliers: Sequence[Any] | npt.NDArray[Any],
) -> list[Finding]:
    """Everything wrong with one table on its own: its sizes, its permutation, its multipliers."""

    def finding(code: str, message: str, element: int | None = None, fix: str | None = None) -> Finding:
        return Finding(code, message, transform, side, element, fix)

    if len(indices) != len(multipliers):
        return [
            finding(
                "size",
                f"{len(indices)} indices but {len(multipliers)} multipliers.",
                fix="give each element one index and one multiplier",
            )
        ]
    size = len(indices)
    if size == 0:
        return [finding("size", "the table is empty.", fix="give one index and multiplier per element")]

    found = []
    for element, index in enumerate(indices):
        whole = isinstance(index, int | np.integer) and not isinstance(index, bool)
        if not whole or not 0 <= index < size:
            found.append(
                finding(
                    "index-out-of-range",
                    f"index {index!r} is not a whole number from 0 to {size - 1}.",
                    element,
                    f"use an index from 0 to {size - 1}",
                )
            )
    if not found:
        found += _permutation_findings(finding, [int(i) for i in indices])

    for element, multiplier in enumerate(multipliers):
        number = isinstance(multiplier, int | float | np.integer | np.floating) and not isinstance(
            multiplier, bool
        )
        if not number or not math.isfinite(multiplier) or multiplier == 0:
            found.append(
                finding(
                    "bad-multiplier",
                    f"the multiplier {multiplier!r} is not a finite number other than 0.",
                    element,
                    "use 1 or -1, or the known ratio of an imperfect actuator",
                )
            )
    return found


def _permutation_findings(finding: Any, indices: list[int]) -> list[Finding]:
    orphans = sorted(set(range(len(indices))) - set(indices))
    readers: dict[int, list[int]] = {}
    for element, index in enumerate(indices):
        readers.setdefault(index, []).append(element)
    duplicated = {index: elements for index, elements in readers.items() if len(elements) > 1}
    found = []
    for index, elements in duplicated.items():
        fix = None
        if len(duplicated) == 1 and len(orphans) == 1 and len(elements) == 2:
            first, second = elements
            fix = f"set the index of element {first} or of element {second} to {orphans[0]}"
        found.append(
            finding(
                "not-a-permutation",
                f"index {index} is used by elements {_enumerate(elements)}, "
                f"and nothing reads {_enumerate(orphans)}.",
                elements[-1],
                fix,
            )
        )
    return found


def _enumerate(numbers: Sequence[int]) -> str:
    return listed([str(n) for n in numbers])
