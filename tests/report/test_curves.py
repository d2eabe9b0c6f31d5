"""Putting seeds on common steps."""

from __future__ import annotations

import numpy as np

from ambidex.experiment.many_runs.reading import Series
from ambidex.report.curves import Curve, align, average


def series(points: dict[int, float]) -> Series:
    return Series(np.array(list(points), float), np.array(list(points.values())))


def test_seeds_meet_on_the_steps_that_all_have() -> None:
    curve = align([series({1: 10, 2: 20, 3: 30}), series({2: 40, 3: 50, 4: 60})])
    assert curve is not None
    assert curve.steps.tolist() == [2, 3]
    assert curve.seeds.tolist() == [[20, 30], [40, 50]]
    assert curve.mean.tolist() == [30, 40]


def test_nothing_in_common_is_no_curve() -> None:
    assert align([]) is None
    assert align([series({1: 1}), series({2: 1})]) is None
    assert align([series({1: 1}), None]) is None


def test_the_average_is_taken_seed_by_seed() -> None:
    first = Curve(np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    second = Curve(np.array([2.0, 3.0]), np.array([[4.0, 0.0], [8.0, 0.0]]))
    both = average([first, second])
    assert both is not None
    assert both.steps.tolist() == [2]
    assert both.seeds.tolist() == [[3], [6]]
    assert average([]) is None
