"""`TransitionFit` as a fit of ASL: what it sees of a roll-out, what it makes of it, its state."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from stable_baselines3.common.callbacks import BaseCallback

from ambidex import ASL, SymmetricPPO, TransitionFit, identify, load
from ambidex.actuators.response import coefficients, moments
from ambidex.actuators.transitions import Transitions
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn.fits.protocol import Fit, FitState, WatchesTransitions
from ambidex.learn.fits.transition import TransitionState, certainty
from tests.actuators.test_identification import logged

GROUP = load("triangle")


def transitions(scenario: str, steps: int = 125, seed: int = 0) -> Transitions:
    return Transitions(*(array.astype(np.float64) for array in logged(scenario, steps, seed=seed)))


def updated(fit: TransitionState, seen: Transitions) -> TransitionState:
    fit.watch(seen)
    fit.update(seen.means, {})
    return fit


def test_it_is_a_fit_that_begins_with_the_given_maps() -> None:
    assert isinstance(TransitionFit(), Fit)
    state: FitState = TransitionFit().start(GROUP)
    assert isinstance(state, WatchesTransitions)
    for name, found in state.action_maps().items():
        np.testing.assert_array_equal(found.multipliers, GROUP[name].action_map.multipliers)
        np.testing.assert_array_equal(found.biases, 0)
        np.testing.assert_array_equal(found.weights, 1)


def test_one_sure_roll_out_is_enough() -> None:
    seen = transitions("triangle-rust")
    fit = updated(TransitionFit().start(GROUP), seen)
    direct = identify(
        GROUP, seen.observations, seen.actions, seen.next_observations, means=seen.means, offsets=False
    )
    half_width = np.log(direct.interval.scale[:, 1] / direct.scale)
    expected = np.log(direct.scale) * [certainty(width) for width in half_width]
    np.testing.assert_allclose(fit.log_scale, expected, atol=1e-9)
    assert np.exp(fit.log_scale[1] - fit.log_scale[0]) == pytest.approx(2, rel=0.02)
    assert np.exp(fit.log_scale[2] - fit.log_scale[0]) == pytest.approx(3, rel=0.02)


def test_what_is_not_identified_keeps_the_given_map() -> None:
    fit = updated(TransitionFit().start(GROUP), transitions("triangle-rust", steps=3))
    np.testing.assert_array_equal(fit.log_scale, 0)
    assert not any(metric == "target_m" for metric, *_ in fit.metrics())


def test_roll_outs_add_up() -> None:
    """A fit that forgets nothing; what is an outlier it tells from what it saw before."""
    fit = TransitionFit(memory=1e12).start(GROUP)
    first, second = transitions("triangle-rust", 40, seed=1), transitions("triangle-rust", 40, seed=2)
    fit.watch(first)
    (before,) = fit.moments
    fit.watch(second)
    (orbit,) = fit.orbits
    added = moments(orbit, second, coefficients(orbit, before.sum(axis=0)))
    np.testing.assert_allclose(fit.moments[0], before + added, rtol=1e-6, atol=1e-6)
    assert fit.transitions == pytest.approx(len(first) + len(second))


def test_it_follows_wear() -> None:
    """An ideal robot that turns rusty: with a short memory the old days are soon forgotten."""
    for memory, near in ((2000, True), (1e9, False)):
        fit = TransitionFit(memory=memory).start(GROUP)
        for seed in range(4):
            fit.watch(transitions("triangle", seed=seed))
        for seed in range(4, 8):
            updated(fit, transitions("triangle-rust", seed=seed))
        ratio = np.exp(fit.log_scale[2] - fit.log_scale[0])
        assert (abs(ratio - 3) < 0.3) == near


def test_function_weights_fall_with_the_uncertainty_of_the_multiplier() -> None:
    fit = TransitionFit(function_weight=lambda uncertainty: 1 - uncertainty).start(GROUP)
    fit.half_widths[0] = [0.3, 0.4, np.nan]
    weights = fit.action_maps()["a"].weights  # a keeps limb 0 and swaps 1 and 2
    np.testing.assert_allclose(weights, [1.0, 0.6, 0.6])  # what a limb's own counterpart is, is sure


def test_state_survives_a_file() -> None:
    fit = updated(TransitionFit().start(GROUP), transitions("triangle-rust"))
    other = TransitionFit().start(GROUP)
    other.set_state(load_tensors(save_tensors(fit.state())))
    for one in (fit, other):
        updated(one, transitions("triangle-rust", seed=1))
    assert fit.metrics() == other.metrics()
    with pytest.raises(ValueError, match="'moments_0'"):
        other.set_state({name: array for name, array in fit.state().items() if name != "moments_0"})


class Recorder(BaseCallback):
    """Every step that does not end an episode, as the environment saw it."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[list[tuple[np.ndarray, np.ndarray, np.ndarray] | None]] = [[] for _ in range(4)]

    def _on_step(self) -> bool:
        for robot in range(4):
            done = self.locals["dones"][robot]
            step = (
                self.model._last_obs[robot].copy(),
                self.locals["clipped_actions"][robot].copy(),
                self.locals["new_obs"][robot].copy(),
            )
            self.steps[robot].append(None if done else step)
        return True


@pytest.mark.parametrize("fast", [True, False])
def test_it_sees_the_steps_of_all_robots_but_not_across_resets(
    fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Transitions] = []
    watch = TransitionState.watch

    def record(self: TransitionState, rows: Transitions) -> None:
        seen.append(rows)
        watch(self, rows)

    monkeypatch.setattr(TransitionState, "watch", record)
    env = TriangleVecEnv(4, scenario="triangle-rust", seed=0)
    model = SymmetricPPO(
        "MlpPolicy", env, symmetries=GROUP, loss=ASL(fit=TransitionFit()), n_steps=64, n_epochs=1, seed=0,
        policy_kwargs={"log_std_init": 1.0}, fast=fast,
    )  # fmt: skip
    recorder = Recorder()
    model.learn(256, callback=recorder)
    kept = [step for robot in recorder.steps for step in robot[:-1] if step is not None]
    expected = [np.stack(column) for column in zip(*kept, strict=True)]
    (rows,) = seen
    assert len(rows) == len(kept) < 4 * 63  # episodes of 50 steps end within the roll-out
    found = (rows.observations, rows.actions, rows.next_observations)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array, wanted.astype(np.float64))
    assert np.abs(rows.actions).max() == np.max(env.action_space.high)  # clipped
    assert rows.means.shape == rows.actions.shape


def test_training_finds_the_rusty_limbs_at_once() -> None:
    env = TriangleVecEnv(16, scenario="triangle-rust", seed=0)
    model = SymmetricPPO(
        "MlpPolicy", env, symmetries=GROUP, loss=ASL(fit=TransitionFit()), n_steps=64, n_epochs=1, seed=0
    )
    model.learn(3 * 1024)
    true = env.true_action_maps()
    assert true is not None
    for name, estimator in model.action_maps().items():
        np.testing.assert_allclose(estimator.multipliers, true[name][0], rtol=0.08)
    restored = SymmetricPPO(
        "MlpPolicy", env, symmetries=GROUP, loss=ASL(fit=TransitionFit()), n_steps=64, n_epochs=1, seed=1
    )
    restored.set_symmetry_state(model.symmetry_state())
    for name, estimator in restored.action_maps().items():
        np.testing.assert_array_equal(estimator.multipliers, model.action_maps()[name].multipliers)


def test_a_description_without_names_is_refused_before_training() -> None:
    with pytest.raises(ValueError, match="speed is not among the observations"):
        TransitionFit().start(load("triangle-paper"))


def test_wrong_hyperparameters_are_named() -> None:
    with pytest.raises(ValueError, match="memory is a positive number"):
        TransitionFit(memory=0)
    with pytest.raises(ValueError, match="largest_scale is above 1"):
        TransitionFit(largest_scale=1)
    with pytest.raises(ValueError, match="update_weight is a function"):
        TransitionFit(update_weight=0.5)  # type: ignore[arg-type]


def test_the_state_of_a_version_that_added_up_every_column_of_every_view() -> None:
    """It is the state of a fit that looks for offsets, too, which needs all of them."""
    seen, later = transitions("triangle-rust"), transitions("triangle-rust", seed=1)
    older = updated(TransitionFit(offsets=True).start(GROUP), seen)
    other = TransitionFit().start(GROUP)
    other.set_state(older.state())
    fit = updated(TransitionFit().start(GROUP), seen)
    np.testing.assert_allclose(other.moments[0].sum(), fit.moments[0].sum(), rtol=1e-3)
    for one in (fit, other):
        updated(one, later)
    np.testing.assert_allclose(other.log_scale, fit.log_scale, atol=1e-4)
