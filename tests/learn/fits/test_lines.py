"""The vectorised fits against tab:dataset written out and numpy's own regressions."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex.learn.fits.lines import cycle_error, dataset, fit_lines, fit_singles, target_spreads
from ambidex.learn.fits.relations import Relations
from ambidex.symmetry import SymmetryGroup

Batch = tuple[np.ndarray, np.ndarray]


def random_batch(group: SymmetryGroup, states: int = 50) -> Batch:
    rng = np.random.default_rng(1)
    means = rng.normal(0.3, 1.0, size=(states, group.action_size))
    symmetric = rng.normal(-0.2, 0.7, size=(len(group), states, group.action_size))
    return means, symmetric + 0.5 * means.mean(axis=1)[None, :, None]


def slow_dataset(group: SymmetryGroup, q: int, u: int, batch: Batch) -> tuple[list[float], list[float]]:
    """One state at a time, straight from the action tables."""
    means, symmetric = batch
    inputs, outputs = [], []
    for j, transform in enumerate(group):
        table = transform.action_map
        for i in range(group.action_size):
            source, sign = table.indices[i], np.sign(table.multipliers[i])
            for t in range(len(means)):
                if (source, i) == (q, u):  # relations I and II
                    inputs.append(sign * means[t, q])
                    outputs.append(symmetric[j, t, u])
                if (source, i) == (u, q):  # relations III and IV
                    inputs.append(sign * symmetric[j, t, q])
                    outputs.append(means[t, u])
    return inputs, outputs


def test_dataset_of_the_triangles_first_pair(triangle: SymmetryGroup) -> None:
    """tab:dataset, row by row."""
    means, symmetric = random_batch(triangle)
    c, d, e = (triangle.names.index(name) for name in "cde")
    rows = {
        "I": (means[:, 0], symmetric[d, :, 1]),
        "II": (-means[:, 0], symmetric[c, :, 1]),
        "III": (symmetric[e, :, 0], means[:, 1]),
        "IV": (-symmetric[c, :, 0], means[:, 1]),
    }
    expected = {point for x, y in rows.values() for point in zip(x, y, strict=True)}
    x, y = dataset(Relations.of(triangle), 0, means, symmetric)
    assert len(x) == 4 * len(means)
    assert set(zip(x, y, strict=True)) == expected


@pytest.mark.parametrize("name", ["triangle", "ant"])
def test_lines(name: str, request: pytest.FixtureRequest) -> None:
    group: SymmetryGroup = request.getfixturevalue(name)
    relations = Relations.of(group)
    batch = random_batch(group)
    slopes, intercepts = fit_lines(relations, *batch, through_origin=False)
    origin_slopes, zeros = fit_lines(relations, *batch, through_origin=True)
    for number, (q, u) in enumerate(relations.pairs):
        x, y = slow_dataset(group, q, u, batch)
        np.testing.assert_allclose((slopes[number], intercepts[number]), np.polyfit(x, y, 1), rtol=1e-10)
        expected = np.linalg.lstsq(np.array(x)[:, None], np.array(y), rcond=None)[0]
        np.testing.assert_allclose(origin_slopes[number], expected[0], rtol=1e-10)
    assert not zeros.any()


@pytest.mark.parametrize("name", ["triangle", "ant"])
def test_singles(name: str, request: pytest.FixtureRequest) -> None:
    group: SymmetryGroup = request.getfixturevalue(name)
    relations = Relations.of(group)
    means, symmetric = random_batch(group)
    biases = fit_singles(relations, means, symmetric)
    for number, element in enumerate(relations.singles):
        sums = [
            means[t, element] + symmetric[j, t, element]
            for j, transform in enumerate(group)
            if transform.action_map.indices[element] == element
            and transform.action_map.multipliers[element] == -1
            for t in range(len(means))
        ]
        np.testing.assert_allclose(biases[number], np.mean(sums), rtol=1e-12)


def test_inputs_that_do_not_vary_fit_nothing(triangle: SymmetryGroup) -> None:
    rotations = SymmetryGroup([triangle["d"], triangle["e"]])
    constant = np.full((20, 3), 0.3)
    slopes, intercepts = fit_lines(
        Relations.of(rotations), constant, np.stack([constant, constant]), through_origin=False
    )
    assert np.isnan(slopes).all()
    assert np.isnan(intercepts).all()


class TestCycleError:
    def test_is_the_product_for_lines_through_the_origin(self) -> None:
        # 0 -> 1 -> 2 -> 0 with m01 = 2, m12 = 3, m02 = 5: the last step inverts
        assert cycle_error([(2, 0, True), (3, 0, True), (5, 0, False)]) == pytest.approx(abs(2 * 3 / 5 - 1))

    def test_composes_in_the_order_of_the_path(self) -> None:
        first, second = (2.0, 1.0, True), (3.0, 5.0, True)
        # (3 (2 + 1) + 5 - 4) / 5 and, the other way round, (2 (3 + 5) + 1 - 4) / 5
        assert cycle_error([first, second, (5.0, 4.0, False)]) == pytest.approx(abs((3 * 3 + 5 - 4) / 5 - 1))
        assert cycle_error([second, first, (5.0, 4.0, False)]) == pytest.approx(abs((2 * 8 + 1 - 4) / 5 - 1))

    def test_of_consistent_lines_is_nothing(self) -> None:
        offsets, scales = [0.3, -0.2, 0.5], [1.0, 2.0, 0.7]

        def line(q: int, u: int) -> tuple[float, float]:
            slope = scales[u] / scales[q]
            return slope, offsets[u] - slope * offsets[q]

        steps = [(*line(0, 1), True), (*line(1, 2), True), (*line(0, 2), False)]
        assert cycle_error(steps) == pytest.approx(0, abs=1e-12)

    def test_a_flat_line_has_no_inverse(self) -> None:
        assert np.isnan(cycle_error([(1, 0, True), (1, 0, True), (0, 0, False)]))


class TestTargetSpreads:
    def test_is_the_coefficient_of_variation(self) -> None:
        targets = np.array([[1.0, -4.0], [3.0, -4.0], [2.0, -4.0]])
        # population standard deviation sqrt(2/3), mean 2
        np.testing.assert_allclose(target_spreads(targets), [np.sqrt(2 / 3) / 2.1, 0.0])

    def test_targets_that_are_not_finite_do_not_count(self) -> None:
        targets = np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan]])
        np.testing.assert_allclose(target_spreads(targets), [1 / 2.1, np.inf])
