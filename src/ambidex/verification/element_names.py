"""What reports call the elements of observations and actions, and how they list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ambidex.common import words

MOST_NAMED = 4


@dataclass(frozen=True)
class Names:
    """What reports call the elements of the flat observation and of the action."""

    observations: Sequence[str]
    actions: Sequence[str]


def listed(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return words.listed(shown)
