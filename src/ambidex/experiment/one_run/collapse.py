"""Whether a run has collapsed: it fails sooner than an untrained policy and no longer tries anything else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from ambidex.experiment.one_run.metrics import read_columns

ITERATIONS = 25
"""So long it must have been so, without a break; less where iterations are long."""
LEAST_ITERATIONS = 5
"""However long they are."""
FIRST = 3
"""What the run was at its start is the best of these iterations, the first of which all is known."""
LARGEST_STD = 0.3
"""Of the std at the start; a policy that walks may have less, but has a higher return."""
AT_FLOOR = 1.05
"""Of the floor of the noise, below which no std shrinks."""
LONGEST_EPISODE = 0.75
"""Of the episodes at the start: robots whose episodes all have one length cannot collapse by this rule."""

Row = tuple[float | None, float | None, float | None]
"""Of an iteration: the mean return and length of the last episodes, and the policy's std."""


def collapsed(rows: Sequence[Row], floor: float = 0.0, iterations: int = ITERATIONS) -> str | None:
    """Why a run with these iterations counts as collapsed; None where it does not.

    For ``iterations`` in a row the return is lower than at the start, the episodes are clearly shorter, and
    the std has shrunk far below or to its floor. A robot that stands still has long episodes; one that has
    just begun has its noise; one that reaches its goal sooner has no lower return. SAC logs no std, and so
    never counts as collapsed.

    :param floor: the least std that the run allows (``std_floor``)
    """
    before = islice(rows, max(0, len(rows) - iterations))
    start = list(islice((row for row in before if None not in row), FIRST))
    if len(start) < FIRST or any(None in row for row in rows[-iterations:]):
        return None
    start_return, start_length, start_std = np.array(start, dtype=float).max(axis=0)
    returns, lengths, stds = np.array(rows[-iterations:], dtype=float).T
    at_floor = AT_FLOOR * floor
    small_std = max(LARGEST_STD * start_std, at_floor if at_floor < start_std else 0.0)
    fails = (returns < start_return) & (lengths <= LONGEST_EPISODE * start_length) & (stds <= small_std)
    if not fails.all():
        return None
    return (
        f"for {iterations} iterations its episodes ended after some {lengths[-1]:.0f} steps "
        f"({start_length:.0f} at the start) with a return of {returns[-1]:.4g} ({start_return:.4g}), and its "
        f"std has shrunk to {stds[-1]:.2g} ({start_std:.2g}), too little to find a way out"
    )


def read_rows(directory: Path) -> list[Row]:
    """The iterations that a run directory has logged."""
    found = read_columns(directory / "progress.csv", "episode_return", "episode_length", "std")
    return [tuple(float(value) if value else None for value in row) for row in found]  # type: ignore[misc]
