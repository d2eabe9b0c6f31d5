"""Ratios of pairs against the figures that the paper prints, and errors by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambidex.experiment.many_runs.reading import load_runs
from ambidex.report.curves import Curve
from ambidex.report.learned_maps import fit_of, pair_multipliers, target_error
from ambidex.symmetry import IndexMap, load

from .conftest import TRIANGLE, WriteRun, fitted_metrics, triangle_map

ANT_PAIRS = ["0->2", "0->4", "0->6", "1->3", "1->5", "1->7", "2->4", "2->6", "3->5", "3->7", "4->6", "5->7"]


@pytest.mark.parametrize(
    ("first", "step", "published", "initial_error"),
    [
        (0.65, 0.10, [0.76, 0.62, 0.52, 0.79, 0.65, 0.56, 0.81, 0.68, 0.83, 0.70, 0.84, 0.85], 0.282),
        (0.30, 0.20, [0.43, 0.27, 0.20, 0.56, 0.38, 0.29, 0.64, 0.47, 0.69, 0.53, 0.73, 0.76], 0.503),
    ],
    ids=["A2.1", "A3.1"],
)
def test_pairs_of_the_ant_are_the_papers(
    first: float, step: float, published: list[float], initial_error: float
) -> None:
    """Section Evaluation Results prints m = x_q / x_u for both scenarios, and the error of m = 1."""
    modifiers = first + step * np.arange(8)
    indices, multipliers = {}, {}
    for symmetry in load("ant"):
        map_ = symmetry.action_map
        assert isinstance(map_, IndexMap)
        indices[symmetry.name] = np.asarray(map_.indices)
        multipliers[symmetry.name] = np.asarray(map_.multipliers) * modifiers[map_.indices] / modifiers
    pairs = pair_multipliers(indices, multipliers)
    assert list(pairs) == ANT_PAIRS
    assert list(pairs.values()) == pytest.approx(published, abs=0.0051)
    assert np.mean(np.abs(1 - np.array(list(pairs.values())))) == pytest.approx(initial_error, abs=0.0005)


def test_one_direction_is_enough() -> None:
    indices = np.array([1, 0])
    assert pair_multipliers({"t": indices}, {"t": np.array([-0.5, -2.0])}) == {"0->1": 2.0}
    rotation = {"d": np.array(TRIANGLE["d"][0])}
    assert pair_multipliers(rotation, {"d": np.array(triangle_map("d"))}) == {
        "0->1": 2,
        "0->2": 3,
        "1->2": 1.5,
    }


def test_target_error_by_hand() -> None:
    steps = np.array([1.0, 2.0])
    targets = {
        "0->1": Curve(steps, np.array([[1.0, 2.0], [3.0, 2.5]])),
        "0->2": Curve(steps, np.array([[1.0, 3.0], [3.0, 3.0]])),
    }
    error = target_error(targets, {"0->1": 2.0, "0->2": 3.0})
    assert error is not None
    assert error.seeds.tolist() == [[1.5, 0.0], [0.5, 0.25]]
    assert target_error(targets, {}) is None


def test_a_fit_beside_the_truth(tmp_path: Path, write_run: WriteRun) -> None:
    for seed, second in enumerate((1.8, 2.4)):
        metrics = fitted_metrics((1.0, second, 3.0), [10, 20])
        write_run(tmp_path / str(seed), seed=seed, metrics=metrics, truth=True, returns={10: [0]})
    fit = fit_of(load_runs([tmp_path]).runs)
    assert fit is not None
    assert fit.true_pairs == {"0->1": 2.0, "0->2": 3.0, "1->2": 1.5}
    assert fit.estimates["1->2"].seeds.tolist() == [pytest.approx([3 / 1.8] * 2), pytest.approx([1.25] * 2)]
    ratio = fit.pairs[0]
    assert (ratio.name, ratio.truth) == ("0->1", 2.0)
    assert ratio.seeds == pytest.approx((1.8, 2.4))
    assert ratio.error == pytest.approx(0.3)
    assert fit.given_error == pytest.approx((1 + 2 + 0.5) / 3)
    # Seed 0 is off by 0.2, 0 and 3/1.8 - 1.5; seed 1 by 0.4, 0 and 1.5 - 3/2.4.
    assert fit.final_error == pytest.approx(((0.2 + 3 / 1.8 - 1.5) + (0.4 + 1.5 - 3 / 2.4)) / 6)
    assert [one.truth for one in fit.maps[3].multipliers] == pytest.approx([1 / 3, 2, 1.5])


def test_pairs_that_were_not_known_at_every_step_meet_where_all_were() -> None:
    targets = {
        "0->1": Curve(np.array([1.0, 2.0, 3.0]), np.array([[5.0, 2.5, 2.0]])),
        "0->2": Curve(np.array([2.0, 3.0]), np.array([[4.0, 3.0]])),
    }
    error = target_error(targets, {"0->1": 2.0, "0->2": 3.0})
    assert error is not None
    assert (error.steps.tolist(), error.seeds.tolist()) == ([2, 3], [[0.75, 0]])
    assert target_error(targets, {}) is None


def test_a_robot_without_pairs_shows_the_offsets_of_its_single_actuators(
    tmp_path: Path, write_run: WriteRun
) -> None:
    metrics = {("target_b", "", "0->0"): {10: 0.5}, ("map_m", "a", "0"): {10: -1.0}}
    fit = fit_of(load_runs([write_run(tmp_path / "run", metrics=metrics)]).runs)
    assert fit is not None
    assert (fit.targets, fit.pairs, fit.error, fit.final_error) == ({}, [], None, None)
    assert fit.biases["0->0"].seeds.tolist() == [[0.5]]


def test_without_truth_there_are_ratios_and_no_error(tmp_path: Path, write_run: WriteRun) -> None:
    metrics = fitted_metrics((1.0, 2.0, 3.0), [10])
    fit = fit_of(load_runs([write_run(tmp_path / "run", metrics=metrics)]).runs)
    assert fit is not None
    assert (fit.given_error, fit.final_error, fit.pairs[0].error) == (None, None, None)
    assert [pair.mean for pair in fit.pairs] == pytest.approx([2, 3, 1.5])


def test_a_method_that_fits_nothing_has_no_fit(tmp_path: Path, write_run: WriteRun) -> None:
    assert fit_of(load_runs([write_run(tmp_path / "run")]).runs) is None
