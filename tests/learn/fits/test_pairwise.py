"""The paper's fit on policies whose imperfection is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from ambidex.learn.fits.pairwise import PairwiseFit, PairwiseState, cycle_penalty, spread_penalty
from ambidex.symmetry import Symmetry, SymmetryGroup

Maps = Mapping[str, tuple[list[int], list[float]]]

# fig:sym_example_asym: limb 1 needs double, limb 2 triple the torque
RUST: Maps = {
    "a": ([0, 2, 1], [-1, -2 / 3, -3 / 2]),
    "b": ([2, 1, 0], [-1 / 3, -1, -3]),
    "c": ([1, 0, 2], [-1 / 2, -2, -1]),
    "d": ([2, 0, 1], [1 / 3, 2, 3 / 2]),
    "e": ([1, 2, 0], [1 / 2, 2 / 3, 3]),
}


def rusty_batch(states: int = 200) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """What a policy does that compensates the rust exactly."""
    means = np.random.default_rng(0).normal(size=(states, 3))
    return means, {name: means[:, indices] * multipliers for name, (indices, multipliers) in RUST.items()}


def assert_maps(state: PairwiseState, expected: Maps) -> None:
    for name, (indices, multipliers) in expected.items():
        found = state.action_maps()[name]
        assert found.indices.tolist() == indices
        np.testing.assert_allclose(found.multipliers, multipliers, rtol=1e-9)


class TestTriangleTables:
    @pytest.mark.parametrize("form", ["mx", "mx+b", lambda x, y: tuple(np.polyfit(x, y, 1))])
    def test_rust_is_found(self, triangle: SymmetryGroup, form: object) -> None:
        state = PairwiseFit(form=form, update_weight=lambda error: 1.0).start(triangle)  # type: ignore[arg-type]
        state.update(*rusty_batch())
        np.testing.assert_allclose(state.multipliers, [2, 3, 1.5])
        np.testing.assert_allclose(state.biases, 0, atol=1e-12)
        assert_maps(state, RUST)

    def test_starts_as_given(self, triangle: SymmetryGroup) -> None:
        for name, found in PairwiseFit().start(triangle).action_maps().items():
            np.testing.assert_array_equal(found.multipliers, triangle[name].action_map.multipliers)
            assert not found.biases.any()
            assert (found.weights == 1).all()

    def test_known_rust_is_a_legitimate_start(self) -> None:
        group = SymmetryGroup(
            [
                Symmetry(
                    name,
                    obs_indices=[0],
                    obs_multipliers=[1],
                    act_indices=indices,
                    act_multipliers=multipliers,
                )
                for name, (indices, multipliers) in RUST.items()
            ]
        )
        state = PairwiseFit().start(group)
        np.testing.assert_allclose(state.multipliers, [2, 3, 1.5])
        assert_maps(state, RUST)
        state.update(*rusty_batch())
        np.testing.assert_allclose(state.multipliers, [2, 3, 1.5])

    def test_biases_of_all_estimators(self, triangle: SymmetryGroup) -> None:
        """tab:global_vs_local for d and e; reflections read -m x + b, as tab:dataset fits them."""
        state = PairwiseFit().start(triangle)
        state.multipliers = np.array([2.0, 3.0, 1.5])
        state.biases = np.array([0.1, -0.2, 0.4])
        state.single_biases = np.array([0.5, 0.6, 0.7])
        m01, m02, m12 = state.multipliers
        b01, b02, b12 = state.biases
        x = np.array([0.3, -0.8, 0.9])
        expected = {
            "a": [-x[0] + 0.5, (b12 - x[2]) / m12, -m12 * x[1] + b12],
            "b": [(b02 - x[2]) / m02, -x[1] + 0.6, -m02 * x[0] + b02],
            "c": [(b01 - x[1]) / m01, -m01 * x[0] + b01, -x[2] + 0.7],
            "d": [(x[2] - b02) / m02, m01 * x[0] + b01, m12 * x[1] + b12],
            "e": [(x[1] - b01) / m01, (x[2] - b12) / m12, m02 * x[0] + b02],
        }
        for name, found in state.action_maps().items():
            np.testing.assert_allclose(found(x), expected[name], rtol=1e-12)
            np.testing.assert_allclose(found.matrix @ x + found.biases, expected[name], rtol=1e-12)


def test_a_weight_on_a_limb_is_a_single(triangle: SymmetryGroup) -> None:
    """sec:singles: a = -8 in s, 2 in f_a(s): G(a) = -a - 6."""
    plane = SymmetryGroup([triangle["a"]])
    means = np.array([[-8.0, 1.0, 1.0], [-3.0, 2.0, 1.0], [0.0, 1.0, 2.5]])
    images = -means[:, [0, 2, 1]]
    images[:, 0] -= 6
    state = PairwiseFit(update_weight=lambda error: 1.0).start(plane)
    state.update(means, {"a": images})
    np.testing.assert_allclose(state.single_biases, [-6])
    estimator = state.action_maps()["a"]
    np.testing.assert_allclose(estimator(means), images)
    through_origin = PairwiseFit(form="mx", update_weight=lambda error: 1.0).start(plane)
    through_origin.update(means, {"a": images})
    assert through_origin.single_biases.tolist() == [0]


class TestMovingAverage:
    def test_pairs_in_a_consistent_cycle_move_by_the_full_weight(self, triangle: SymmetryGroup) -> None:
        state = PairwiseFit().start(triangle)
        state.update(*rusty_batch())
        np.testing.assert_allclose(state.multipliers, 1 + 0.05 * (np.array([2, 3, 1.5]) - 1))
        state.update(*rusty_batch())
        expected = 1 + 0.05 * (np.array([2, 3, 1.5]) - 1)
        np.testing.assert_allclose(state.multipliers, expected + 0.05 * (np.array([2, 3, 1.5]) - expected))

    def test_the_cycle_error_slows_it(self, triangle: SymmetryGroup) -> None:
        means, images = rusty_batch()
        images["d"][:, 1] *= 1.5  # the policy disagrees with itself about 0 -> 1
        state = PairwiseFit(form="mx").start(triangle)
        state.update(means, images)
        m01, m02, m12 = state.targets[-1, :3]
        error = abs(m01 * m12 / m02 - 1)
        assert error > 0.05
        weight = 0.05 * 0.01 / (0.01 + error**4)
        np.testing.assert_allclose(state.multipliers, 1 + weight * (np.array([m01, m02, m12]) - 1))
        decays = {element: value for metric, _, element, value in state.metrics() if metric == "cycle_decay"}
        np.testing.assert_allclose(list(decays.values()), weight / 0.05)

    def test_an_update_that_is_not_finite_is_skipped_and_counted(self, triangle: SymmetryGroup) -> None:
        state = PairwiseFit().start(SymmetryGroup([triangle["d"], triangle["e"]]))
        constant = np.full((10, 3), 0.3)
        state.update(constant, {"d": constant, "e": constant})
        np.testing.assert_array_equal(state.multipliers, 1)
        assert state.skipped.tolist() == [1, 1, 1]
        assert all((estimator.weights == 0).all() for estimator in state.action_maps().values())

    def test_an_update_to_a_small_multiplier_is_skipped_and_counted(self, triangle: SymmetryGroup) -> None:
        means, images = rusty_batch()
        opposite = {name: -image for name, image in images.items()}
        state = PairwiseFit(form="mx", update_weight=lambda error: 0.5).start(triangle)
        state.update(means, opposite)  # targets -2, -3, -1.5
        np.testing.assert_array_equal(state.multipliers, 1)
        assert state.skipped.tolist() == [1, 1, 1]
        gentle = PairwiseFit(form="mx", update_weight=lambda error: 0.1).start(triangle)
        gentle.update(means, opposite)
        np.testing.assert_allclose(gentle.multipliers, 1 + 0.1 * (np.array([-2, -3, -1.5]) - 1))


class TestFunctionWeight:
    def test_falls_with_the_spread_of_the_last_targets(self, triangle: SymmetryGroup) -> None:
        rotations = SymmetryGroup([triangle["d"]])
        state = PairwiseFit(window=3).start(rotations)
        factors = [5.0, 1.0, 2.0, 1.5]
        means = np.random.default_rng(0).normal(size=(100, 3))
        for factor in factors:
            image = means[:, [2, 0, 1]] * [1.0, factor, 1.0]
            image[:, 1] += 0.3 * factor
            state.update(means, {"d": image})
        last = np.array(factors[-3:])
        spread = last.std() / (last.mean() + 0.1) + (0.3 * last).std() / ((0.3 * last).mean() + 0.1)
        weights = state.action_maps()["d"].weights
        np.testing.assert_allclose(weights, [1.0, 1.1**-spread, 1.0], rtol=1e-9)

    def test_of_one_target_is_whole(self, triangle: SymmetryGroup) -> None:
        state = PairwiseFit().start(triangle)
        state.update(*rusty_batch())
        assert all((estimator.weights == 1).all() for estimator in state.action_maps().values())


def test_the_papers_weight_functions() -> None:
    assert cycle_penalty(0) == 0.05
    assert cycle_penalty(1) == pytest.approx(0.05 * 0.01 / 1.01)
    assert spread_penalty(0) == 1
    assert spread_penalty(2) == pytest.approx(1 / 1.21)


def test_the_state_survives(triangle: SymmetryGroup) -> None:
    rng = np.random.default_rng(2)
    batches = []
    for _ in range(8):
        means = rng.normal(size=(30, 3))
        batches.append((means, {name: rng.normal(size=(30, 3)) for name in triangle.names}))
    whole, first = PairwiseFit().start(triangle), PairwiseFit().start(triangle)
    for batch in batches[:4]:
        whole.update(*batch)
        first.update(*batch)
    second = PairwiseFit().start(triangle)
    second.set_state(first.state())
    for batch in batches[4:]:
        whole.update(*batch)
        second.update(*batch)
    assert whole.metrics() == second.metrics()
    assert whole.state().keys() == second.state().keys()
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, second.state()[name])


def test_a_state_of_another_group_is_refused(triangle: SymmetryGroup, ant: SymmetryGroup) -> None:
    state = PairwiseFit().start(triangle)
    with pytest.raises(ValueError, match="'multipliers' has the shape"):
        state.set_state(PairwiseFit().start(ant).state())
    with pytest.raises(ValueError, match="has 'multipliers'"):
        state.set_state({})


def test_metrics_name_the_ants_28_variables(ant: SymmetryGroup) -> None:
    state = PairwiseFit().start(ant)
    rng = np.random.default_rng(0)
    state.update(rng.normal(size=(50, 8)), {name: rng.normal(size=(50, 8)) for name in ant.names})
    targets = [(metric, element) for metric, _, element, _ in state.metrics() if metric.startswith("target")]
    assert len(targets) == 28
    assert ("target_m", "0->2") in targets
    assert ("target_b", "6->6") in targets
    maps = [row for row in state.metrics() if row[0] in ("map_m", "map_b")]
    assert len(maps) == 112


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "mx + b"}, "form is 'mx', 'mx\\+b' or a function"),
        ({"window": 0}, "window"),
        ({"least_multiplier": 0.0}, "least_multiplier"),
        ({"update_weight": 0.05}, "update_weight is a function"),
    ],
)
def test_wrong_hyperparameters(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairwiseFit(**arguments)  # type: ignore[arg-type]


def test_a_form_that_gives_no_line(triangle: SymmetryGroup) -> None:
    state = PairwiseFit(form=lambda x, y: (1.0, 0.0, 0.0)).start(triangle)  # type: ignore[arg-type,return-value]
    means = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"m and b of a pair; of \(0, 1\) it gave \[1. 0. 0.\]"):
        state.update(means, dict.fromkeys(triangle.names, means))
