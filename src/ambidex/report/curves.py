"""The same quantity of several seeds, put on the steps that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.experiment.many_runs.reading import Run, Series


@dataclass(frozen=True)
class Curve:
    """One row of values per seed over common steps."""

    steps: FloatArray
    seeds: FloatArray

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.seeds.mean(axis=0))


def align(series: Sequence[Series | None]) -> Curve | None:
    """The series at the steps that all of them have; None where one is missing or they share no step."""
    present = [one for one in series if one is not None]
    if not present or len(present) < len(series):
        return None
    steps = present[0].steps
    if all(np.array_equal(one.steps, steps) for one in present):
        return Curve(steps, np.array([one.values for one in present])) if steps.size else None
    steps = reduce(np.intersect1d, [one.steps for one in present])
    if not steps.size:
        return None
    return Curve(steps, np.array([one.values[np.searchsorted(one.steps, steps)] for one in present]))


def metric_curves(runs: Sequence[Run], metric: str) -> dict[tuple[str, str], Curve]:
    """A symmetry metric of all the runs, by transform and element, in the order of the first run's file."""
    keys = [key for key in runs[0].metrics if key[0] == metric]
    curves = {key[1:]: align([run.metrics.get(key) for run in runs]) for key in keys}
    return {key: curve for key, curve in curves.items() if curve is not None}


def average(curves: Sequence[Curve]) -> Curve | None:
    """The mean of several curves of the same seeds, seed by seed; None for none."""
    if not curves:
        return None
    rows = [
        align([Series(curve.steps, curve.seeds[row]) for curve in curves])
        for row in range(len(curves[0].seeds))
    ]
    means = [None if row is None else Series(row.steps, row.mean) for row in rows]
    return align(means)
