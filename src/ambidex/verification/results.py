"""What a check found, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ambidex.common.json import strict

Verdict = Literal["holds", "imperfect", "broken", "untested"]
SEVERITY: tuple[Verdict, ...] = ("untested", "holds", "imperfect", "broken")


@dataclass(frozen=True)
class ElementResult:
    """How one element fares under one transform; all numbers are in units of the element's spread.

    :param side: ``"observation"`` (or ``"observation[key]"``), ``"action"``, ``"reward"`` or ``"ending"``
    :param element: its index on that side
    :param name: from the description's layout, where it has one
    :param verdict: broken: the table is wrong here; imperfect: the robot is not symmetric here; untested: it
        did not vary or too rarely, or setting a state does not bring it back
    :param placed: the mean residual before any step, as geometry alone makes it; None for what is no
        observation
    :param score: the mean residual after one step, each counted as at most 1
    :param median: the median residual after each horizon
    :param worst: the worst residual after each horizon
    """

    side: str
    element: int
    name: str
    verdict: Verdict
    placed: float | None = None
    score: float | None = None
    median: tuple[float, ...] = ()
    worst: tuple[float, ...] = ()


@dataclass(frozen=True)
class Cause:
    """Why a transform does not hold.

    :param side: the table to blame; ``"robot"`` where the tables are not to blame, ``"task"`` where only
        reward or endings differ
    :param message: in words
    :param fix: what to do about it, where something can be done
    :param elements: the wrong entries, or the elements that differ most
    """

    side: str
    message: str
    fix: str | None = None
    elements: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}." if self.fix else self.message


@dataclass(frozen=True)
class TransformResult:
    """The verdict on one transform, its causes and its elements."""

    transform: str
    isometry: str | None
    verdict: Verdict
    causes: tuple[Cause, ...]
    elements: tuple[ElementResult, ...]

    def of(self, side: str, element: int) -> ElementResult:
        """The result of one element."""
        for result in self.elements:
            if (result.side, result.element) == (side, element):
                return result
        raise KeyError(f"transform {self.transform!r} has no {side} {element}")


@dataclass(frozen=True)
class Verification:
    """A description held against an environment.

    :param environment: the environment's id
    :param mode: ``"geometry"`` (states and their images, made without the tables), ``"observation"`` (images
        made by the tables under test) or ``"statistics"`` (no state could be set)
    :param states: how many states were visited
    :param horizons: after how many steps residuals are given
    :param thresholds: of the scores before any step, and of what a step adds
    :param limits: what this check cannot tell
    """

    environment: str
    mode: str
    states: int
    horizons: tuple[int, ...]
    thresholds: tuple[float, float]
    transforms: tuple[TransformResult, ...]
    limits: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all transforms."""
        return worst_of([result.verdict for result in self.transforms])

    @property
    def is_broken(self) -> bool:
        return self.verdict == "broken"

    def __getitem__(self, transform: str) -> TransformResult:
        for result in self.transforms:
            if result.transform == transform:
                return result
        raise KeyError(f"no transform {transform!r}; there are {[r.transform for r in self.transforms]}")

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what could not be measured is None."""
        found: dict[str, Any] = strict({"verdict": self.verdict, **asdict(self)})
        return found


def worst_of(verdicts: list[Verdict]) -> Verdict:
    return max(verdicts, key=SEVERITY.index, default="untested")
