"""Learned action maps beside the true ones: per pair of action elements, and element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ambidex.report.curves import Curve, metric_curves
from ambidex.report.runs import Run
from ambidex.report.statistics import Array, last_window
from ambidex.symmetry import IndexMap, SymmetryGroup

GIVEN = 1.0
"""The m of every pair under the description as given: both actuators alike."""


@dataclass(frozen=True)
class Learned:
    """One parameter at the end of training: per seed, and the truth where it is known.

    :param name: the pair ``"0->2"``, or the element of a transform's map
    """

    name: str
    seeds: tuple[float, ...]
    truth: float | None

    @property
    def mean(self) -> float:
        return float(np.mean(self.seeds))

    @property
    def error(self) -> float | None:
        """The mean over the seeds of the absolute error."""
        return None if self.truth is None else float(np.mean(np.abs(np.array(self.seeds) - self.truth)))


@dataclass(frozen=True)
class MapRow:
    """A transform's whole map, element by element."""

    transform: str
    multipliers: list[Learned]
    biases: list[Learned]


@dataclass(frozen=True)
class Fit:
    """What a method learned about the robot's symmetry.

    :param targets: the fitted m of each pair over training, before the moving average
    :param biases: the fitted b of each pair and single over training, where the form has one
    :param true_pairs: the true m of each pair, empty where unknown
    :param error: the mean over the pairs of the absolute error of the targets over training
    :param pairs: the m of each pair in the final maps
    :param maps: the final maps
    """

    targets: dict[str, Curve]
    biases: dict[str, Curve]
    true_pairs: dict[str, float]
    error: Curve | None
    pairs: list[Learned]
    maps: list[MapRow]

    @property
    def given_error(self) -> float | None:
        """The mean absolute error of the description as given, where m is 1 for every pair."""
        return float(np.mean([abs(GIVEN - m) for m in self.true_pairs.values()])) if self.true_pairs else None

    @property
    def final_error(self) -> float | None:
        """The target error at the end: the mean of its last five points."""
        return None if self.error is None else last_window(self.error.steps, self.error.mean).mean


def fit_of(runs: Sequence[Run]) -> Fit | None:
    """What the runs of one method learned, or None where they fitted nothing."""
    targets = {element: curve for (_, element), curve in metric_curves(runs, "target_m").items()}
    if not targets:
        return None
    biases = {element: curve for (_, element), curve in metric_curves(runs, "target_b").items()}
    indices = _indices(runs[0].group)
    true_maps = runs[0].truth or {}
    true_pairs = pair_multipliers(indices, {name: m for name, (m, _) in true_maps.items()})
    true_pairs = {pair: true_pairs[pair] for pair in targets if pair in true_pairs}
    return Fit(
        targets=targets,
        biases={name: curve for name, curve in biases.items() if np.any(curve.seeds)},
        true_pairs=true_pairs,
        error=target_error(targets, true_pairs),
        pairs=_final_pairs(runs, indices, true_pairs),
        maps=_final_maps(runs, true_maps),
    )


def target_error(targets: Mapping[str, Curve], truth: Mapping[str, float]) -> Curve | None:
    """The mean over the pairs of |m - true m|, seed by seed (fig:res_target1); None without truth."""
    known = [pair for pair in targets if pair in truth]
    if not known:
        return None
    errors = [np.abs(targets[pair].seeds - truth[pair]) for pair in known]
    return Curve(targets[known[0]].steps, np.mean(errors, axis=0))


def pair_multipliers(indices: Mapping[str, Array], multipliers: Mapping[str, Array]) -> dict[str, float]:
    """The m of a'[u] = +-m a[q] for each pair q < u, named ``"q->u"``, from whole action maps.

    The sign belongs to the transform, not to the pair; the direction from u to q holds 1/m.
    """
    samples: dict[tuple[int, int], list[float]] = {}
    for name in indices:
        for u, q in enumerate(indices[name] if name in multipliers else []):
            size = abs(float(multipliers[name][u]))
            if q < u:
                samples.setdefault((int(q), u), []).append(size)
            elif q > u and size:
                samples.setdefault((u, int(q)), []).append(1 / size)
    return {f"{q}->{u}": float(np.mean(samples[q, u])) for q, u in sorted(samples)}


def _indices(group: SymmetryGroup | None) -> dict[str, Array]:
    if group is None:
        return {}
    maps = {symmetry.name: symmetry.action_map for symmetry in group}
    return {name: np.asarray(map_.indices) for name, map_ in maps.items() if isinstance(map_, IndexMap)}


def _final_pairs(
    runs: Sequence[Run], indices: Mapping[str, Array], truth: Mapping[str, float]
) -> list[Learned]:
    per_seed = [pair_multipliers(indices, _final_multipliers(run)) for run in runs]
    return [
        Learned(pair, tuple(seed[pair] for seed in per_seed), truth.get(pair))
        for pair in per_seed[0]
        if all(pair in seed for seed in per_seed)
    ]


def _final_multipliers(run: Run) -> dict[str, Array]:
    elements: dict[str, dict[int, float]] = {}
    for (metric, transform, element), series in run.metrics.items():
        if metric == "map_m":
            elements.setdefault(transform, {})[int(element)] = float(series.values[-1])
    return {name: np.array([values[i] for i in sorted(values)]) for name, values in elements.items()}


def _final_maps(runs: Sequence[Run], truth: Mapping[str, tuple[Array, Array]]) -> list[MapRow]:
    multipliers, biases = metric_curves(runs, "map_m"), metric_curves(runs, "map_b")
    names = list(dict.fromkeys(transform for transform, _ in multipliers))

    def learned(curves: Mapping[tuple[str, str], Curve], name: str, side: int) -> list[Learned]:
        return [
            Learned(
                element,
                tuple(curve.seeds[:, -1].tolist()),
                float(truth[name][side][int(element)]) if name in truth else None,
            )
            for (transform, element), curve in curves.items()
            if transform == name
        ]

    return [MapRow(name, learned(multipliers, name, 0), learned(biases, name, 1)) for name in names]
