"""What the training logged about its symmetries: how fitted scales and value distances moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.experiment.many_runs.reading import Run, Series
from ambidex.symmetry import IndexMap, SymmetryGroup


@dataclass(frozen=True)
class Movement:
    """How a number moved during training.

    :param first: where it began
    :param last: where it ended
    :param settled: the step from which on it stayed within a tenth of its way from the end
    """

    first: float
    last: float
    settled: int

    @classmethod
    def of(cls, series: Series) -> Movement:
        first, last = float(series.values[0]), float(series.values[-1])
        away = np.flatnonzero(np.abs(series.values - last) > 0.1 * abs(first - last) + 1e-9)
        settled = series.steps[min(away[-1] + 1, len(series.steps) - 1)] if away.size else series.steps[0]
        return cls(first, last, int(settled))


def fitted_scales(run: Run, group: SymmetryGroup) -> list[Movement] | None:
    """How the scale of each actuator moved that the logged action maps imply; None where none were fitted."""
    logged = {
        name: [run.metrics.get(("map_m", name, str(i))) for i in range(group.action_size)]
        for name in group.names
    }
    complete = {name: rows for name, rows in logged.items() if all(row is not None for row in rows)}
    if not complete:
        return None
    points = min(len(row.values) for rows in complete.values() for row in rows if row is not None)
    steps = next(row.steps for rows in complete.values() for row in rows if row is not None)[:points]
    scales = []
    for at in range(points):
        maps = {name: np.array([row.values[at] for row in rows if row]) for name, rows in complete.items()}
        scales.append(scales_of_maps(group, maps))
    return [Movement.of(Series(steps, values)) for values in np.array(scales).T]


def true_scales(run: Run, group: SymmetryGroup) -> FloatArray | None:
    """The scales that the true action maps of the run's scenario imply, where they are known."""
    if not run.truth:
        return None
    return scales_of_maps(group, {name: m for name, (m, _) in run.truth.items() if name in group})


def scales_of_maps(group: SymmetryGroup, multipliers: Mapping[str, FloatArray]) -> FloatArray:
    """The scales, geometric mean 1 per orbit, whose ratios come closest to these action multipliers."""
    rows, ratios = [], []
    for name, values in multipliers.items():
        table = group[name].action_map
        assert isinstance(table, IndexMap)
        for i, k in enumerate(table.indices):
            if i != k and values[i]:
                rows.append(np.eye(len(values))[i] - np.eye(len(values))[k])
                ratios.append(np.log(abs(values[i] / table.multipliers[i])))
    if not rows:
        return np.ones(group.action_size)
    log_scale, *_ = np.linalg.lstsq(np.array(rows), np.array(ratios), rcond=None)
    scales: FloatArray = np.exp(log_scale)
    return scales
