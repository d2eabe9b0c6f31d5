"""What reports call the elements of observations and actions, and how they list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ambidex.common import words
from ambidex.common.arrays import FloatArray
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.linting.naming import Naming

MOST_NAMED = 4


@dataclass(frozen=True)
class Names:
    """What reports call the elements of the flat observation and of the action.

    :param layout: of the description, where it has one
    """

    observations: Sequence[str]
    actions: Sequence[str]
    layout: Layout | None = None

    def naming(self, side: str, isometry: FloatArray | None) -> Naming | None:
        """The description's words for one side of a transform, where it has some."""
        return None if self.layout is None else Naming.of(self.layout, side, isometry)


def listed(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return words.listed(shown)
