"""Learned action maps beside the true ones: per pair of action elements, and element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.experiment.many_runs.reading import Run
from ambidex.report.curves import Curve, average, metric_curves
from ambidex.report.statistics import last_window
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
class LearnedMaps:
    """What a method learned about the robot's symmetry.

    :param targets: the fitted m of each pair over training, before the moving average
    :param biases: the fitted b of each pair and single over training, where the form has one
    :param true_pairs: the true m of each pair, empty where unknown
    :param error: the mean over the pairs of the absolute error of the targets over training
    :param estimates: the m of each pair in the maps over training
    :param pairs: the m of each pair in the final maps
    :param maps: the final maps
    """

    targets: dict[str, Curve]
    biases: dict[str, Curve]
    true_pairs: dict[str, float]
    error: Curve | None
    estimates: dict[str, Curve]
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


def fit_of(runs: Sequence[Run]) -> LearnedMaps | None:
    """What the runs of one method learned, or None where they fitted nothing."""
    targets = {element: curve for (_, element), curve in metric_curves(runs, "target_m").items()}
    biases = {element: curve for (_, element), curve in metric_curves(runs, "target_b").items()}
    if not targets and not biases:
        return None
    indices = _indices(runs[0].group)
    true_maps = runs[0].truth or {}
    true_pairs = pair_multipliers(indices, {name: m for name, (m, _) in true_maps.items()})
    true_pairs = {pair: true_pairs[pair] for pair in targets if pair in true_pairs}
    estimates = _estimates(runs, indices)
    return LearnedMaps(
        targets=targets,
        biases={name: curve for name, curve in biases.items() if np.any(curve.seeds)},
        true_pairs=true_pairs,
        error=target_error(targets, true_pairs),
        estimates=estimates,
        pairs=[
            Learned(pair, tuple(curve.seeds[:, -1].tolist()), true_pairs.get(pair))
            for pair, curve in estimates.items()
        ],
        maps=_final_maps(runs, true_maps),
    )


def target_error(targets: Mapping[str, Curve], truth: Mapping[str, float]) -> Curve | None:
    """The mean over the pairs of |m - true m|, seed by seed (fig:res_target1); None without truth."""
    return average(
        [
            Curve(curve.steps, np.abs(curve.seeds - truth[pair]))
            for pair, curve in targets.items()
            if pair in truth
        ]
    )


def pair_multipliers(
    indices: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray]
) -> dict[str, float]:
    """The m of a'[u] = +-m a[q] for each pair q < u, named ``"q->u"``, from whole action maps."""
    found = {}
    for pair, places in _places(indices).items():
        sizes = [
            (abs(float(multipliers[name][u])), inverse) for name, u, inverse in places if name in multipliers
        ]
        if sizes:
            found[pair] = float(np.mean([1 / size if inverse else size for size, inverse in sizes]))
    return found


def _places(indices: Mapping[str, FloatArray]) -> dict[str, list[tuple[str, int, bool]]]:
    """For each pair q < u, the transforms and elements that hold its m, and whether they hold 1/m.

    The sign belongs to the transform, not to the pair; the direction from u to q holds 1/m.
    """
    found: dict[tuple[int, int], list[tuple[str, int, bool]]] = {}
    for name, sources in indices.items():
        for element, source in enumerate(sources.tolist()):
            if source != element:
                pair = (min(source, element), max(source, element))
                found.setdefault(pair, []).append((name, element, source > element))
    return {f"{q}->{u}": found[q, u] for q, u in sorted(found)}


def _estimates(runs: Sequence[Run], indices: Mapping[str, FloatArray]) -> dict[str, Curve]:
    """The m of each pair in the maps over training."""
    maps = metric_curves(runs, "map_m")
    found = {}
    for pair, places in _places(indices).items():
        sizes = [(maps[name, str(u)], inverse) for name, u, inverse in places if (name, str(u)) in maps]
        curve = average([Curve(c.steps, np.abs(c.seeds) ** (-1 if inverse else 1)) for c, inverse in sizes])
        if curve is not None:
            found[pair] = curve
    return found


def _indices(group: SymmetryGroup | None) -> dict[str, FloatArray]:
    if group is None:
        return {}
    maps = {symmetry.name: symmetry.action_map for symmetry in group}
    return {name: np.asarray(map_.indices) for name, map_ in maps.items() if isinstance(map_, IndexMap)}


def _true_element(values: FloatArray, element: str) -> float | None:
    is_place = element.isascii() and element.isdecimal() and int(element) < len(values)
    return float(values[int(element)]) if is_place else None


def _final_maps(runs: Sequence[Run], truth: Mapping[str, tuple[FloatArray, FloatArray]]) -> list[MapRow]:
    multipliers, biases = metric_curves(runs, "map_m"), metric_curves(runs, "map_b")
    names = list(dict.fromkeys(transform for transform, _ in multipliers))

    def learned(curves: Mapping[tuple[str, str], Curve], name: str, side: int) -> list[Learned]:
        return [
            Learned(
                element,
                tuple(curve.seeds[:, -1].tolist()),
                _true_element(truth[name][side], element) if name in truth else None,
            )
            for (transform, element), curve in curves.items()
            if transform == name
        ]

    return [MapRow(name, learned(multipliers, name, 0), learned(biases, name, 1)) for name in names]
