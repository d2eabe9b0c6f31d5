"""The statistics against numbers worked out by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ambidex.report.statistics import (
    Estimate,
    best_window,
    first_step_within,
    improvement_interval,
    interquartile_mean,
    interquartile_mean_interval,
    last_window,
    mean_curve_interval,
    passed_at,
    probability_of_improvement,
)

scores = st.lists(st.integers(-20, 20), min_size=1, max_size=14)


def test_best_window_by_hand() -> None:
    steps = [10, 20, 30, 40, 50, 60, 70]
    window = best_window(steps, [0, 1, 2, 3, 4, 5, 0])
    # The windows' means are 2, 3 and 14/5; the best is 1, 2, 3, 4, 5 with variance 2, around step 40.
    assert (window.mean, window.step) == (3, 40)
    assert window.deviation == pytest.approx(2**0.5)


def test_the_first_of_equal_windows_is_taken() -> None:
    assert best_window(range(9), [1] * 9).step == 2


def test_a_short_curve_is_one_window() -> None:
    window = best_window([100, 200], [1, 4])
    assert (window.mean, window.deviation, window.step) == (2.5, 1.5, 150)
    assert best_window([100], [7]).deviation == 0


def test_last_window_by_hand() -> None:
    window = last_window([1, 2, 3, 4, 5, 6], [100, 1, 1, 1, 1, 6])
    assert (window.mean, window.deviation, window.step) == (2, 2, 4)


def test_first_step_within_ten_percent() -> None:
    assert first_step_within([1, 2, 3, 4], [80, 90, 100, 90], 100) == 2
    assert first_step_within([1, 2, 3], [-30, -11, -10], -10) == 2
    assert first_step_within([1, 2], [1, 2], 100) is None


def test_a_curve_needs_points() -> None:
    with pytest.raises(ValueError, match="as many values as steps"):
        best_window([], [])
    with pytest.raises(ValueError, match="as many values as steps"):
        last_window([1, 2], [1])


def test_interquartile_mean_by_hand() -> None:
    assert interquartile_mean([1000, 1, 2, 3, 4, 5, 6, -1000]) == 3.5
    assert interquartile_mean([1, 2, 6]) == 3  # a quarter of three is less than one score


@given(scores)
def test_interquartile_mean_is_scipys_trimmed_mean(values: list[int]) -> None:
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


@given(scores, scores)
def test_probability_of_improvement_is_mann_whitney(first: list[int], second: list[int]) -> None:
    u = stats.mannwhitneyu(first, second, method="asymptotic", use_continuity=False).statistic
    assert probability_of_improvement(first, second) == pytest.approx(u / (len(first) * len(second)))


def test_probability_of_improvement_by_hand() -> None:
    # Of the pairs (1,1) (1,2) (3,1) (3,2): a tie, a loss and two wins.
    assert probability_of_improvement([1, 3], [1, 2]) == 2.5 / 4


def test_bootstrap_interval_matches_the_exact_distribution() -> None:
    """Of two scores, a resample's mean is 0, 1/2 or 1 with chance 1/4, 1/2, 1/4: the 95 % interval is all."""
    interval = interquartile_mean_interval([[0, 1]], np.random.default_rng(0))
    assert interval == Estimate(0.5, 0, 1)
    half = interquartile_mean_interval([[0, 1]], np.random.default_rng(0), confidence=0.4)
    assert half == Estimate(0.5, 0.5, 0.5)


def test_the_bootstrap_stays_within_each_stratum() -> None:
    """Strata without spread inside leave nothing to resample, however far apart they are."""
    interval = interquartile_mean_interval([[1, 1, 1], [1000, 1000, 1000]], np.random.default_rng(0))
    assert interval.low == interval.high == interval.value
    improvement = improvement_interval([([2, 2], [1, 1]), ([0, 0], [5, 5])], np.random.default_rng(0))
    assert improvement == Estimate(0.5, 0.5, 0.5)


def test_interval_covers_as_often_as_it_says() -> None:
    """In 200 experiments of 40 normal scores, a 90 % interval of the middle covers 0 about 180 times."""
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        interval = interquartile_mean_interval(
            [generator.normal(size=40)], generator, resamples=400, confidence=0.9
        )
        assert interval.low is not None and interval.high is not None
        covered += interval.low <= 0 <= interval.high
    assert 165 <= covered <= 195


def test_curve_interval_agrees_with_scipys_bootstrap() -> None:
    curves = np.random.default_rng(1).normal(size=(12, 3))
    interval = mean_curve_interval(curves, np.random.default_rng(2), resamples=20_000)
    assert interval is not None
    for point in range(3):
        expected = stats.bootstrap(
            (curves[:, point],),
            np.mean,
            n_resamples=20_000,
            method="percentile",
            rng=np.random.default_rng(5),
        ).confidence_interval
        assert interval[0][point] == pytest.approx(expected.low, abs=0.02)
        assert interval[1][point] == pytest.approx(expected.high, abs=0.02)


def test_one_seed_has_no_interval() -> None:
    generator = np.random.default_rng(0)
    assert interquartile_mean_interval([[3.0]], generator) == Estimate(3.0)
    assert improvement_interval([([3.0], [1.0])], generator) == Estimate(1.0)
    assert improvement_interval([([3.0], [1.0, 5.0])], generator) == Estimate(0.5)
    assert interquartile_mean_interval([[3.0], [1.0, 2.0]], generator) == Estimate(2.0)
    assert mean_curve_interval([[1.0, 2.0]], generator) is None


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [np.random.default_rng(0).normal(size=12)]
    first = interquartile_mean_interval(values, np.random.default_rng(7))
    assert first == interquartile_mean_interval(values, np.random.default_rng(7))
    assert first != interquartile_mean_interval(values, np.random.default_rng(8))


def test_a_level_is_passed_at_the_end_of_the_first_window_above_it() -> None:
    steps, values = [10, 20, 30, 40, 50, 60, 70], [0, 0, 0, 0, 5, 10, 0]
    assert passed_at(steps, values, 0.9) == 50  # the means are 1, 3 and 3
    assert passed_at(steps, values, 1) == 60
    assert passed_at(steps, values, 3) is None
    assert passed_at([10, 20], [1, 3], 1.5) == 20
