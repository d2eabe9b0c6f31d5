"""What a training cost: minutes of the processor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambidex.experiment.many_runs.reading import Run
from ambidex.experiment.one_run.metrics import COLUMNS


def cpu_minutes(run: Run) -> float:
    """The time of the processor; of runs that did not record it, what their parts took."""
    timings = run.about.get("timings", {})
    parts = COLUMNS["timings.csv"][1:]
    seconds = timings.get("cpu", sum(timings.get(part, 0.0) for part in parts))
    return float(seconds) / 60


def minutes_per_step(runs: Sequence[Run]) -> float | None:
    """The mean over runs; None where one of them recorded no time, or there is none."""
    costs = [cpu_minutes(run) / run.steps for run in runs if run.steps]
    return float(np.mean(costs)) if costs and len(costs) == len(runs) and all(costs) else None
