"""`CalibratedFit` as a fit of ASL: its moving average, its weights, its state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from ambidex import ASL, CalibratedFit, SymmetricPPO, calibrate, load
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn.fits.calibrated import CalibratedState, uncertainty_penalty
from ambidex.learn.fits.protocol import Fit, FitState

GROUP = load("triangle-paper")
SCALE, OFFSET = np.array([1.0, 2.0, 3.0]), np.array([-0.3, 0.0, 0.2])


def batch(seed: int = 0, noise: float = 0.2, states: int = 300) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    canonical = rng.normal(size=(states, 3))

    def command(ideal: np.ndarray) -> np.ndarray:
        return OFFSET + SCALE * (ideal + noise * rng.normal(size=ideal.shape))

    return command(canonical), {s.name: command(s.action(canonical)) for s in GROUP}


def constant(value: float) -> Callable[[float], float]:
    return lambda _: value


def test_it_is_a_fit() -> None:
    assert isinstance(CalibratedFit(), Fit)
    state: FitState = CalibratedFit().start(GROUP)
    for name, found in state.action_maps().items():
        np.testing.assert_array_equal(found.multipliers, GROUP[name].action_map.multipliers)
        np.testing.assert_array_equal(found.biases, 0)
        np.testing.assert_array_equal(found.weights, 1)


def test_moving_average_of_log_scale_and_offset() -> None:
    fit = CalibratedFit(update_weight=constant(0.25)).start(GROUP)
    expected_log_scale, expected_offset = np.zeros(3), np.zeros(3)
    for seed in range(4):
        data = batch(seed)
        fit.update(*data)
        newest = calibrate(GROUP, *data)
        expected_log_scale += 0.25 * (np.log(newest.scale) - expected_log_scale)
        expected_offset += 0.25 * (newest.offset - expected_offset)
    np.testing.assert_allclose(fit.log_scale, expected_log_scale, atol=1e-12)
    np.testing.assert_allclose(fit.offset, expected_offset, atol=1e-12)


def test_it_converges_to_the_true_maps() -> None:
    fit = CalibratedFit().start(GROUP)
    for seed in range(200):
        fit.update(*batch(seed, noise=0.5))
    action = np.random.default_rng(1).normal(size=(7, 3))
    for symmetry in GROUP:
        true = OFFSET + SCALE * symmetry.action((action - OFFSET) / SCALE)
        np.testing.assert_allclose(fit.action_maps()[symmetry.name](action), true, atol=0.1)


def test_an_update_counts_less_where_the_interval_is_wide() -> None:
    assert uncertainty_penalty(0.0) == 0.2
    assert uncertainty_penalty(0.1**0.5) == pytest.approx(0.1)
    steps = []
    for noise in (0.05, 1.0):
        fit = CalibratedFit(update_weight=lambda width: 1 / (1 + (10 * width) ** 2)).start(GROUP)
        fit.update(*batch(noise=noise, states=100))
        weights = fit.update_weights()
        assert weights.shape == (2, 3)
        steps.append(weights)
    assert (steps[0] > 1.5 * steps[1]).all()


def test_what_is_not_identified_stays() -> None:
    fit = CalibratedFit(update_weight=constant(1.0)).start(GROUP)
    fit.update(*batch())
    before = fit.state()
    rng = np.random.default_rng(0)
    fit.update(rng.normal(size=(300, 3)), {name: rng.normal(size=(300, 3)) for name in GROUP.names})
    np.testing.assert_array_equal(fit.log_scale, before["log_scale"])
    np.testing.assert_array_equal(fit.offset, before["offset"])
    assert not fit.update_weights().any()


def test_a_limb_that_stops_leaves_the_others_where_they_are() -> None:
    """The scales of the rest are then relative to each other; their common factor must not jump."""
    fit = CalibratedFit(update_weight=constant(1.0)).start(GROUP)
    fit.update(*batch(noise=0.0))
    before = fit.log_scale.copy()
    means, symmetric = batch(1, noise=0.0)
    for values in (means, *symmetric.values()):
        values[:, 2] = 0.5
    fit.update(means, symmetric)
    np.testing.assert_allclose(fit.log_scale, before, atol=1e-9)


def test_function_weight_falls_with_the_spread_of_the_calibrations() -> None:
    """Worked by a loop: the deviation of log m plus the relative deviation of b, over the last three."""
    fit = CalibratedFit(window=3, function_weight=lambda spread: 1 / (1 + spread)).start(GROUP)
    batches = [batch(seed, noise=0.8, states=60) for seed in range(5)]
    for data in batches:
        fit.update(*data)
    last = [calibrate(GROUP, *data) for data in batches[-3:]]
    for name, found in fit.action_maps().items():
        for i in range(3):
            slopes = [np.log(np.abs(one.action_map(name).multipliers[i])) for one in last]
            biases = [one.action_map(name).biases[i] for one in last]
            spread = np.std(slopes) + np.std(biases) / (abs(np.mean(biases)) + 0.1)
            assert found.weights[i] == pytest.approx(1 / (1 + spread))


def test_scales_beyond_the_limit_are_skipped_and_counted() -> None:
    fit = CalibratedFit(update_weight=constant(1.0), largest_scale=1.2).start(GROUP)
    fit.update(*batch(noise=0.0))
    true = np.log(SCALE / 6 ** (1 / 3))
    allowed = np.abs(true) < np.log(1.2)
    np.testing.assert_allclose(fit.log_scale, np.where(allowed, true, 0), atol=1e-9)
    np.testing.assert_array_equal(fit.skipped, ~allowed)


def test_without_offsets() -> None:
    fit = CalibratedFit(offsets=False, update_weight=constant(1.0)).start(GROUP)
    fit.update(*batch())
    assert not fit.offset.any()
    assert all(not found.biases.any() for found in fit.action_maps().values())


def test_state_survives_as_flat_arrays() -> None:
    one = CalibratedFit().start(GROUP)
    for seed in range(3):
        one.update(*batch(seed))
    other = CalibratedFit().start(GROUP)
    other.set_state(load_tensors(save_tensors(one.state())))
    for seed in range(3, 9):
        one.update(*batch(seed))
        other.update(*batch(seed))
    assert one.metrics() == other.metrics()
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, other.state()[name])


def test_a_state_of_another_robot_is_refused() -> None:
    state = CalibratedFit().start(load("ant")).state()
    with pytest.raises(ValueError, match=r"'log_scale' has the shape \(8,\), this group needs \(3,\)"):
        CalibratedFit().start(GROUP).set_state(state)
    with pytest.raises(ValueError, match="has 'log_scale', but"):
        CalibratedFit().start(GROUP).set_state({"biases": np.zeros(3)})


def test_metrics_name_actuators_pairs_and_maps() -> None:
    fit = CalibratedFit(update_weight=constant(1.0)).start(GROUP)
    fit.update(*batch(noise=0.0))
    values = {(metric, transform, element): value for metric, transform, element, value in fit.metrics()}
    assert values["scale", "", "2"] == pytest.approx(3 / 6 ** (1 / 3))
    assert values["target_m", "", "0->2"] == pytest.approx(3)
    assert values["map_m", "d", "1"] == pytest.approx(2)
    assert values["agreement", "a", "0"] == pytest.approx(1)
    assert all(np.isfinite(value) for value in values.values())


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("window", 0),
        ("update_weight", 0.05),
        ("noise", "white"),
        ("largest_scale", 1.0),
        ("huber", -1),
        ("bounds", (1, -1)),
        ("bounds", ((-1, -1), (1, 1))),
    ],
)
def test_wrong_hyperparameters(keyword: str, value: object) -> None:
    with pytest.raises(ValueError, match=keyword):
        CalibratedFit(**{keyword: value}).start(GROUP)


def test_in_training() -> None:
    """ASL with the calibrated fit on the rusty triangle: the maps compose, and survive a restart."""
    from ambidex.envs.triangle.robot import TriangleVecEnv

    group = load("triangle")
    model = SymmetricPPO(
        "MlpPolicy",
        TriangleVecEnv(8, scenario="triangle-rust", seed=0),
        symmetries=group,
        loss=ASL(fit=CalibratedFit(offsets=False, update_weight=constant(0.2))),
        n_steps=32,
        batch_size=128,
        n_epochs=2,
        seed=0,
        device="cpu",
    )
    model.learn(8 * 32 * 4)
    maps = model.action_maps()
    action = np.random.default_rng(0).normal(size=3)
    for (first, second), product in group.multiplication_table().items():
        expected = action if product == "identity" else maps[str(product)](action)
        np.testing.assert_allclose(maps[first](maps[second](action)), expected, atol=1e-9)
    copy = SymmetricPPO(
        "MlpPolicy",
        model.get_env(),
        symmetries=group,
        loss=model.loss,
        n_steps=32,
        batch_size=128,
        device="cpu",
    )
    copy.set_symmetry_state(model.symmetry_state())
    for name, found in copy.action_maps().items():
        np.testing.assert_array_equal(found.multipliers, maps[name].multipliers)


def test_training_tells_it_the_action_box() -> None:
    box = spaces.Box(np.array([-1.0, -2.0], np.float32), np.array([1.0, 3.0], np.float32))
    assert CalibratedFit().within(box).bounds == ((-1.0, -2.0), (1.0, 3.0))
    assert CalibratedFit(bounds=(-5.0, 5.0)).within(box).bounds == (-5.0, 5.0)
    assert CalibratedFit().within(spaces.Discrete(3)).bounds is None
    env = TriangleVecEnv(4, scenario="triangle", seed=0)
    model = SymmetricPPO("MlpPolicy", env, symmetries=load("triangle"), loss=ASL(), n_steps=16, batch_size=64)
    assert model._preparation is not None
    fit = model._preparation.states[ASL].fit
    assert isinstance(fit, CalibratedState)
    assert fit.spec.bounds is not None
    low, high = fit.spec.bounds
    np.testing.assert_array_equal(low, env.action_space.low)
    np.testing.assert_array_equal(high, env.action_space.high)
    flat = CalibratedFit().within(spaces.Box(np.array([0, -1], np.float32), np.array([0, 1], np.float32)))
    assert flat.bounds == ((-np.inf, -1.0), (np.inf, 1.0))


def test_a_roll_out_of_a_few_states_changes_nothing() -> None:
    fit = CalibratedFit().start(GROUP)
    fit.update(*batch(states=15))
    np.testing.assert_array_equal(fit.log_scale, 0)
    fit.update(*batch(states=16))
    assert fit.history.shape[0] == 1
