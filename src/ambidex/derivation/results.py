"""What was found out about a model: what became of each isometry, the description, what is uneven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambidex.common.files import write_text
from ambidex.derivation.differences import Asymmetry
from ambidex.derivation.match.matching import Matching
from ambidex.derivation.match.trees import Unmatched
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.files.descriptions import description_text

BEYOND = "description"  # the kind of what the model has but no description by names can say


@dataclass(frozen=True)
class Attempt:
    """What became of one isometry.

    :param name: its name
    :param matching: what it makes of the model
    :param unmatched: what speaks against it: parts of the model or of the world that have no image
    """

    name: str
    matching: Matching
    unmatched: tuple[Unmatched, ...]

    @property
    def holds(self) -> bool:
        return not self.unmatched

    @property
    def is_trivial(self) -> bool:
        """Whether it holds but leaves all positions and controls as they are."""
        return self.holds and self.matching.is_trivial

    def __str__(self) -> str:
        if not self.holds:
            if self.unmatched[0].kind == BEYOND:
                return f"holds, but not by names: {self.unmatched[0].reason}"
            more = f" (and {len(self.unmatched) - 1} more)" if len(self.unmatched) > 1 else ""
            return f"does not hold: {self.unmatched[0]}{more}"
        return "holds, but moves nothing" if self.is_trivial else "holds"

    def as_dict(self) -> dict[str, Any]:
        unmatched = [item._asdict() for item in self.unmatched]
        return {"name": self.name, "holds": self.holds, "trivial": self.is_trivial, "unmatched": unmatched}


@dataclass(frozen=True)
class Derivation:
    """What was found out about a model.

    :param robot: the model's name
    :param group: the transforms of its observations and of its controls, with a layout by names; None if
        there are none
    :param attempts: what became of each isometry that was tried
    :param asymmetries: what should be symmetric in the model and is not, the largest difference first
    :param asked: whether these isometries were asked for; otherwise all usual ones were tried
    :param notes: what was assumed
    :param not_compared: what the model has that was not looked at for asymmetries
    """

    robot: str
    group: SymmetryGroup | None
    attempts: tuple[Attempt, ...]
    asymmetries: tuple[Asymmetry, ...]
    asked: bool
    notes: tuple[str, ...]
    not_compared: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether there is a description, and every isometry that was asked for is in it."""
        complete = all(attempt.holds for attempt in self.attempts)
        return self.group is not None and (complete or not self.asked)

    def save(self, path: str | Path) -> None:
        """Write the description as a YAML file."""
        if self.group is None:
            raise ValueError(f"{self.robot}: no isometry that moves anything holds; nothing to write")
        said = [f"Derived from a model of {self.robot} by ambidex derive.", *self.notes]
        write_text(Path(path), "".join(f"# {line}\n" for line in said) + description_text(self.group))

    def __str__(self) -> str:
        width = max(len(attempt.name) for attempt in self.attempts)
        lines = [f"  {attempt.name.ljust(width)}  {attempt}" for attempt in self.attempts]
        if self.group is None:
            title = f"{self.robot}: no symmetry that moves anything"
        else:
            states, actions = self.group.observation_size, self.group.action_size
            names = ", ".join(self.group.names)
            title = f"{self.robot}: {names} ({states} observations, {actions} actions)"
        lines = [title, *lines, *(f"note: {note}" for note in self.notes)]
        if self.group is not None:
            nothing = f"nothing asymmetric in {'what was compared' if self.not_compared else 'the model'}"
            lines += list(self._uneven()) or [nothing]
            if self.not_compared:
                lines.append(f"not compared: {', '.join(self.not_compared)}")
        return "\n".join(lines)

    def _uneven(self) -> Iterator[str]:
        """The asymmetries of each transform, the small ones counted only."""
        for name in dict.fromkeys(item.transform for item in self.asymmetries):
            items = [item for item in self.asymmetries if item.transform == name]
            large = [item for item in items if not item.is_small]
            yield f"not symmetric in the model under {name}:"
            yield from (f"  {item}" for item in large)
            if small := len(items) - len(large):
                plural = "s" if small > 1 else ""
                yield f"  {'and ' if large else ''}{small} small difference{plural} (--json lists all)"

    def as_dict(self) -> dict[str, Any]:
        """For a program."""
        return {
            "robot": self.robot,
            "transforms": [] if self.group is None else list(self.group.names),
            "attempts": [attempt.as_dict() for attempt in self.attempts],
            "asymmetries": [item.as_dict() for item in self.asymmetries],
            "notes": list(self.notes),
            "not_compared": list(self.not_compared),
        }
