"""What reports call the elements of observations and actions, and how they list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_NAMED = 4


@dataclass(frozen=True)
class Names:
    """What reports call the elements of the flat observation and of the action."""

    observations: Sequence[str]
    actions: Sequence[str]


def listed(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
