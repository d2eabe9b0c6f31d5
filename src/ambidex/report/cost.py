"""What a training cost: minutes of the processor."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ambidex.experiment.many_runs.reading import Run


def cpu_minutes(runs: Sequence[Run]) -> float | None:
    """The mean over the runs that recorded it; None where none did."""
    return _mean([_seconds(run) / 60 for run in runs])


def minutes_per_step(runs: Sequence[Run]) -> float | None:
    """The mean over the runs that recorded their time; None where none did."""
    return _mean([_seconds(run) / 60 / run.steps for run in runs if run.steps])


def _seconds(run: Run) -> float:
    """0 where it is not known."""
    seconds = run.about.get("timings", {}).get("cpu")
    return max(float(seconds), 0.0) if isinstance(seconds, int | float) else 0.0


def _mean(costs: Sequence[float]) -> float | None:
    known = [cost for cost in costs if 0 < cost < math.inf]
    return float(np.mean(known)) if known else None
