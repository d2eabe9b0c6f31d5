"""`calibrate` against robots whose true scales and offsets are known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambidex import Symmetry, SymmetryGroup, calibrate, load
from ambidex.actuators.calibration import Calibration

GROUPS = {"ant": load("ant"), "triangle": load("triangle-paper")}
HIPS, KNEES = [0, 2, 4, 6], [1, 3, 5, 7]
ORBITS = {"ant": (HIPS, KNEES), "triangle": ([0, 1, 2],)}


def group_of(*tables: tuple[list[int], list[int]]) -> SymmetryGroup:
    """Transforms of which only the actions matter here."""
    return SymmetryGroup(
        [
            Symmetry(
                f"t{number}",
                obs_indices=indices,
                obs_multipliers=multipliers,
                act_indices=indices,
                act_multipliers=multipliers,
            )
            for number, (indices, multipliers) in enumerate(tables)
        ]
    )


def robot(
    group: SymmetryGroup,
    scale: np.ndarray,
    offset: np.ndarray,
    *,
    states: int = 400,
    noise: float = 0.0,
    absolute: bool = False,
    memory: float = 0.0,
    seed: int = 0,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A policy that is symmetric up to noise on a robot with these actuators, state by state.

    Canonical commands of the visited states are random; those of their images follow from the ideal table,
    written as a plain loop.
    """
    rng = np.random.default_rng(seed)
    size = len(scale)

    def series() -> np.ndarray:
        values = rng.normal(size=(states, size))
        for before, after in pairwise(range(states)):
            values[after] = memory * values[before] + np.sqrt(1 - memory**2) * values[after]
        return values

    level = noise * (np.ones(size) if absolute else scale)
    canonical = series() * np.linspace(0.7, 1.3, size)  # some actuators are used more than others
    means = offset + scale * canonical + level * series()
    symmetric = {}
    for symmetry in group:
        images = np.empty_like(canonical)
        for i in range(size):
            source, sign = symmetry.action_map.indices[i], symmetry.action_map.multipliers[i]
            images[:, i] = sign * canonical[:, source]
        symmetric[symmetry.name] = offset + scale * images + level * series()
    return means, symmetric


def normalised(name: str, scale: np.ndarray) -> np.ndarray:
    result = scale.copy()
    for orbit in ORBITS[name]:
        result[orbit] /= np.exp(np.log(scale[orbit]).mean())
    return result


def random_actuators(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = GROUPS[name].action_size
    return np.exp(rng.normal(0, 0.4, size)), rng.uniform(-0.3, 0.3, size)


@pytest.mark.parametrize("noise", ["any", "proportional"])
@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=25)
@given(seed=st.integers(0, 1000))
def test_without_noise_scales_and_maps_are_exact(name: str, noise: str, seed: int) -> None:
    group = GROUPS[name]
    scale, offset = random_actuators(name, seed)
    means, symmetric = robot(group, scale, offset, states=60, seed=seed)
    found = calibrate(group, means, symmetric, noise=noise)
    np.testing.assert_allclose(found.scale, normalised(name, scale), rtol=1e-7)
    assert found.identifiable.all()
    assert found.offset_identifiable.all()
    for symmetry in group:
        answer = found.action_map(symmetry.name)(means)
        np.testing.assert_allclose(answer, symmetric[symmetry.name], atol=1e-6)
        np.testing.assert_allclose(found.residual[symmetry.name], 0, atol=1e-6)
        np.testing.assert_allclose(found.agreement[symmetry.name], 1, atol=1e-6)


def test_worked_example_of_the_paper() -> None:
    """Limb 1 needs double and limb 2 triple the torque; limb 0 carries a constant torque of 3."""
    means, symmetric = robot(GROUPS["triangle"], np.array([1.0, 2.0, 3.0]), np.array([-3.0, 0.0, 0.0]))
    found = calibrate(GROUPS["triangle"], means, symmetric)
    np.testing.assert_allclose(found.scale, np.array([1, 2, 3]) / 6 ** (1 / 3))
    single = found.action_map("a")
    assert single.indices[0] == 0
    assert single.multipliers[0] == pytest.approx(-1)
    assert single.biases[0] == pytest.approx(-6)  # G(a) = -a - 6
    turned = found.action_map("d")
    np.testing.assert_allclose(turned.multipliers, [1 / 3, 2, 3 / 2])


@pytest.mark.parametrize("name", GROUPS)
def test_maps_compose_as_the_groups_table(name: str) -> None:
    """f and g stay a homomorphism even where the calibration is wrong, as it is from pure noise."""
    group = GROUPS[name]
    rng = np.random.default_rng(3)
    scale, offset = random_actuators(name, 3)
    means, symmetric = robot(group, scale, offset, noise=0.7)
    found = calibrate(group, means, symmetric)
    assert np.abs(found.scale - 1).min() > 1e-3
    action = rng.normal(size=(5, group.action_size))
    for (first, second), product in group.multiplication_table().items():
        composed = found.action_map(first)(found.action_map(second)(action))
        expected = action if product == "identity" else found.action_map(str(product))(action)
        np.testing.assert_allclose(composed, expected, atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_normalisation_and_smallest_offsets(name: str) -> None:
    group = GROUPS[name]
    scale, offset = random_actuators(name, 7)
    found = calibrate(group, *robot(group, scale, offset, noise=0.3))
    for orbit in ORBITS[name]:
        assert np.log(found.scale[orbit]).sum() == pytest.approx(0, abs=1e-12)
    if name == "ant":
        # Moving knees 1 and 7 one way and knees 3 and 5 the other way is invisible to every transform.
        np.testing.assert_array_equal(found.offset_shared, [False, True] * 4)
        unseen = np.array([1, -1, -1, 1]) * found.scale[KNEES]
        assert found.offset[KNEES] @ unseen == pytest.approx(0, abs=1e-12)
    else:
        assert not found.offset_shared.any()


def test_an_invisible_shift_changes_no_map() -> None:
    group = GROUPS["ant"]
    scale, offset = random_actuators("ant", 11)
    shifted = offset.copy()
    shifted[KNEES] += 0.5 * np.array([1, -1, -1, 1]) * scale[KNEES]
    one = calibrate(group, *robot(group, scale, offset))
    other = calibrate(group, *robot(group, scale, shifted))
    np.testing.assert_allclose(one.offset, other.offset, atol=1e-9)


@pytest.mark.parametrize("absolute", [False, True])
def test_noise_on_both_sides_does_not_bias_it_but_dilutes_least_squares(absolute: bool) -> None:
    group = GROUPS["ant"]
    scale = np.array([0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.5, 1.6])
    means, symmetric = robot(group, scale, np.full(8, 0.2), noise=0.7, states=4096, absolute=absolute)
    found = calibrate(group, means, symmetric)
    np.testing.assert_allclose(found.scale, normalised("ant", scale), rtol=0.05)
    slope = np.polyfit(means[:, 0], symmetric["r270"][:, 6], 1)[0]
    assert slope < 0.8 * scale[6] / scale[0]


def test_the_eigenvector_needs_noise_in_proportion_to_the_signal() -> None:
    """Why covariances are the default: equal noise on a weak and a strong actuator bends the eigenvector."""
    group = GROUPS["ant"]
    scale = np.array([0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.5, 1.6])

    def error(absolute: bool, noise: str) -> float:
        data = robot(group, scale, np.zeros(8), noise=0.7, states=4096, absolute=absolute)
        found = calibrate(group, *data, noise=noise).scale
        return float(np.abs(np.log(found / normalised("ant", scale))).max())

    assert error(False, "proportional") < 0.1
    assert error(True, "proportional") > 0.2
    assert error(True, "any") < 0.05


def test_a_lone_pair_takes_the_eigenvector() -> None:
    """Two actuators that only mirror each other: the ratio of their standard deviations, worked by hand."""
    group = group_of(([1, 0], [-1, -1]))
    means, symmetric = robot(group, np.array([1.0, 2.0]), np.zeros(2), noise=0.4, states=3000)
    found = calibrate(group, means, symmetric)
    spread = np.sqrt(means.var(axis=0) + symmetric["t0"].var(axis=0))
    assert found.scale[1] / found.scale[0] == pytest.approx(spread[1] / spread[0], rel=1e-3)
    assert found.scale[1] / found.scale[0] == pytest.approx(2, rel=0.05)


def test_without_offsets_the_maps_pass_through_the_origin() -> None:
    group = GROUPS["triangle"]
    scale = np.array([0.5, 1.0, 2.0])
    means, symmetric = robot(group, scale, np.zeros(3), noise=0.3, states=2000)
    found = calibrate(group, means, symmetric, offsets=False)
    np.testing.assert_allclose(found.scale, scale, rtol=0.03)
    assert not found.offset.any()
    assert not found.offset_identifiable.any()


def test_means_beyond_the_box_do_not_count() -> None:
    group = GROUPS["ant"]
    scale = np.array([0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.5, 1.6])
    means, symmetric = robot(group, scale, np.full(8, 0.1), noise=0.3, states=4096)
    rng = np.random.default_rng(0)

    def saturate(values: np.ndarray) -> np.ndarray:
        beyond = np.sign(values) * (1 + rng.exponential(2, values.shape))
        return np.where(np.abs(values) > 1, beyond, values)

    means, symmetric = saturate(means), {name: saturate(values) for name, values in symmetric.items()}
    aware = calibrate(group, means, symmetric, bounds=(-1, 1)).scale
    unaware = calibrate(group, means, symmetric).scale
    true = normalised("ant", scale)
    assert np.abs(aware - true).max() < 0.05 < 0.1 < np.abs(unaware - true).max()


def test_huber_weights_resist_outliers() -> None:
    group = GROUPS["ant"]
    scale, offset = random_actuators("ant", 5)
    means, symmetric = robot(group, scale, offset, noise=0.2, states=2048)
    rng = np.random.default_rng(0)
    for values in symmetric.values():
        values[rng.random(values.shape) < 0.05] += 10
    errors = [
        np.abs(calibrate(group, means, symmetric, huber=huber).scale - normalised("ant", scale)).mean()
        for huber in (None, 1.345)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_huber_weights_cost_nothing_where_there_are_no_outliers(noise: float) -> None:
    """As exact as without them, and as sure: sums that weigh the states differently would not be."""
    group = GROUPS["ant"]
    scale, offset = random_actuators("ant", 7)
    means, symmetric = robot(group, scale, offset, noise=noise, absolute=True, states=1000)
    plain, robust = (calibrate(group, means, symmetric, huber=huber) for huber in (None, 1.345))
    np.testing.assert_allclose(robust.scale, normalised("ant", scale), atol=0.05 * noise + 1e-9)
    assert (robust.log_scale_error <= 2 * plain.log_scale_error + 1e-9).all()


def covered(found: Calibration, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    low, high = found.interval.scale.T
    offset_low, offset_high = found.interval.offset.T
    return np.stack([(low <= scale) & (scale <= high), (offset_low <= offset) & (offset <= offset_high)])


@pytest.mark.parametrize(("bounds", "noise"), [(None, 0.5), ((-1, 1), 0.5), ((-1, 1), 0.1)])
def test_intervals_cover_the_truth_as_often_as_they_say(
    bounds: tuple[float, float] | None, noise: float
) -> None:
    """Of 95 percent intervals of correlated states, 90 to 98 percent should hold the truth."""
    group = GROUPS["triangle"]
    held = []
    for seed in range(60):
        scale, offset = random_actuators("triangle", seed)
        data = robot(group, scale, offset, states=1024, noise=noise, memory=0.8, seed=seed)
        found = calibrate(group, *data, bounds=bounds)
        held.append(covered(found, normalised("triangle", scale), offset)[:, found.identifiable])
    share = np.concatenate(held, axis=1).mean(axis=1)
    assert (share > 0.88).all()
    assert (share < 0.995).all()


def test_confidence_widens_the_interval() -> None:
    group = GROUPS["triangle"]
    data = robot(group, *random_actuators("triangle", 0), noise=0.5)
    wide, narrow = (calibrate(group, *data, confidence=level).interval for level in (0.99, 0.5))
    assert (np.ptp(wide.scale, axis=1) > 2 * np.ptp(narrow.scale, axis=1)).all()
    assert (np.ptp(wide.offset, axis=1) > 2 * np.ptp(narrow.offset, axis=1)).all()


class TestNotIdentifiable:
    """What the data cannot tell is 1 and 0, as the given symmetry says, and has a reason."""

    @pytest.mark.parametrize("tremble", [0.0, 1e-7])
    def test_an_actuator_that_never_moves(self, tremble: float) -> None:
        group = GROUPS["ant"]
        scale, offset = random_actuators("ant", 2)
        means, symmetric = robot(group, scale, offset)
        for values in (means, *symmetric.values()):
            values[:, 3] = 0.4 + tremble * values[:, 3]
        found = calibrate(group, means, symmetric)
        assert found.identifiable.tolist() == [True] * 3 + [False] + [True] * 4
        assert found.reasons[3] == "its mean never changes"
        assert (found.scale[3], found.offset[3]) == (1, 0)
        rest = scale[[1, 5, 7]]
        np.testing.assert_allclose(found.scale[[1, 5, 7]], rest / np.exp(np.log(rest).mean()))

    def test_an_actuator_of_its_own(self) -> None:
        group = group_of(([1, 0, 2, 3], [1, 1, -1, 1]))
        found = calibrate(group, *robot(group, np.array([1.0, 4.0, 3.0, 3.0]), np.array([0, 0, 0.3, 0.3])))
        assert found.identifiable.tolist() == [True, True, False, False]
        assert found.offset_identifiable.tolist() == [True, True, True, False]
        assert found.offset[2] == pytest.approx(0.3)
        assert "only its offset" in found.reasons[2]
        assert found.reasons[3] == "no transform relates it to another actuator"
        np.testing.assert_allclose(found.scale, [0.5, 2, 1, 1])

    def test_a_policy_that_ignores_the_symmetry(self) -> None:
        group = GROUPS["triangle"]
        rng = np.random.default_rng(0)
        found = calibrate(
            group, rng.normal(size=(500, 3)), {name: rng.normal(size=(500, 3)) for name in group.names}
        )
        assert not found.identifiable.any()
        assert "does not follow" in found.reasons[0]
        np.testing.assert_array_equal(found.scale, 1)
        for unknown in (found.log_scale_error, found.offset_error, *found.interval):
            assert np.isnan(unknown).all()

    def test_counterparts_that_move_the_other_way(self) -> None:
        group = GROUPS["ant"]
        means, symmetric = robot(group, np.ones(8), np.zeros(8), noise=0.05)
        means[:, 3] *= -1
        for values in symmetric.values():
            values[:, 3] *= -1
        found = calibrate(group, means, symmetric)
        assert found.identifiable[HIPS].all()
        assert not found.identifiable[KNEES].any()
        assert "wrong sign" in found.reasons[3]

    def test_an_actuator_that_is_always_saturated(self) -> None:
        group = GROUPS["triangle"]
        means, symmetric = robot(group, np.array([1.0, 1.0, 50.0]), np.zeros(3))
        found = calibrate(group, means, symmetric, bounds=(-3, 3))
        assert found.identifiable.tolist() == [True, True, False]
        assert "beyond the action box" in found.reasons[2]


class TestWrongInput:
    def data(self) -> tuple[SymmetryGroup, np.ndarray, dict[str, np.ndarray]]:
        group = GROUPS["triangle"]
        return group, *robot(group, np.ones(3), np.zeros(3), states=20)

    def test_missing_transform(self) -> None:
        group, means, symmetric = self.data()
        del symmetric["c"]
        with pytest.raises(ValueError, match="transform 'c' is missing"):
            calibrate(group, means, symmetric)

    def test_shapes(self) -> None:
        group, means, symmetric = self.data()
        with pytest.raises(ValueError, match=r"20, 3.*got \(19, 3\)"):
            calibrate(group, means, symmetric | {"b": symmetric["b"][1:]})
        with pytest.raises(ValueError, match="3 actions"):
            calibrate(group, means[:, :2], symmetric)
        with pytest.raises(ValueError, match="at least 16 states"):
            calibrate(group, means[:5], symmetric)

    def test_not_finite(self) -> None:
        group, means, symmetric = self.data()
        symmetric["d"][4, 1] = np.nan
        with pytest.raises(ValueError, match=r"symmetric_means\['d'\]: state 4, action 1"):
            calibrate(group, means, symmetric)

    @pytest.mark.parametrize(
        ("keyword", "value"),
        [
            ("confidence", 1.0),
            ("huber", 0.0),
            ("noise", "none"),
            ("bounds", (1, -1)),
            ("bounds", ([-1] * 2, 1)),
        ],
    )
    def test_options(self, keyword: str, value: object) -> None:
        with pytest.raises(ValueError, match=keyword):
            calibrate(*self.data(), **{keyword: value})
