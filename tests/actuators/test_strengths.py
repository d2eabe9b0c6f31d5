"""Motors' strengths from impulses, on legs whose motors and inertia are known."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex import TransitionFit, identify
from ambidex.actuators.limbs import limb_views
from ambidex.actuators.strengths import limb_moments, projected, strengths
from ambidex.actuators.transitions import Transitions
from tests.actuators.two_legs import FINE, KD, KP, POSITION, STEP, moved, two_legs

WEAK_KNEE = (1.0, 0.5, 1.0, 1.0)


def ratios(scale: np.ndarray) -> np.ndarray:
    """How much stronger the left motors are than the right ones: hip and knee."""
    return scale[2:] / scale[:2]


def test_a_weak_knee_is_found_and_its_hip_is_sound() -> None:
    found = identify(two_legs(), **moved(WEAK_KNEE))
    assert found.identifiable.all()
    np.testing.assert_allclose(ratios(found.scale), [1.0, 0.5], rtol=0.015)
    low, high = found.interval.scale.T
    true = np.array([1, 2, 1, 1]) / np.array([1, np.sqrt(2), 1, np.sqrt(2)])
    assert ((low < true) & (true < high)).all()


def test_the_command_alone_would_blame_the_wrong_share_and_the_wrong_joint() -> None:
    """What the drive is for: without it the answer to a command is taken for the strength."""
    found = identify(two_legs(None), **moved(WEAK_KNEE))
    hip, knee = ratios(found.scale)
    assert knee > 0.58
    assert hip > 1.03


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A pair has one interval, for the scale of one motor is the inverse of the other's."""
    held, halves = [], []
    for seed in range(6):
        found = identify(two_legs(), **moved((1.0, 0.8, 1.0, 1.0), 1000, seed=seed))
        low, high = found.interval.scale[:2].T
        true = np.array([1, np.sqrt(1.25)])
        held += [*((low < true) & (true < high))]
        halves += [*np.log(high / low) / 2]
    assert sum(held) >= 11
    assert max(halves) < 0.05


def test_two_stages_are_what_least_squares_makes_of_them() -> None:
    """The slow way: predict the impulses from the instruments, then take them for the impulses."""
    (limb,) = limb_views(two_legs())
    seen = Transitions(**moved(WEAK_KNEE, 400))
    sums = limb_moments(limb, seen).sum(axis=0)
    squares, products, _, _ = projected(limb, sums)
    for number, view in enumerate(limb.views):
        rows, air = limb.rows(seen, view, np.zeros(400))
        np.testing.assert_array_equal(air, 1)
        count, terms = limb.control_count, limb.terms
        controls, instruments, impulses, changes = np.split(
            rows, [count, count + terms, count + 2 * terms], axis=1
        )
        exogenous = np.concatenate([controls, instruments], axis=1)
        told = exogenous @ np.linalg.lstsq(exogenous, impulses, rcond=None)[0]
        both = np.concatenate([controls, told], axis=1)
        expected = np.linalg.lstsq(both, changes, rcond=None)[0][count:]
        found = np.linalg.solve(squares[number], products[number])
        np.testing.assert_allclose(found[:: limb.feature_count], expected[:: limb.feature_count], rtol=1e-3)


def test_a_push_from_outside_is_not_taken_for_an_answer() -> None:
    """Ordinary least squares on the impulses would be misled: strong pushes move joint and controller."""
    arrays = moved((1.0, 1.0, 1.0, 1.0), push=4.0)
    (limb,) = limb_views(two_legs())
    rows, _ = limb.rows(Transitions(**arrays), limb.views[0], np.zeros(len(arrays["actions"])))
    count, terms = limb.control_count, limb.terms
    plain = np.concatenate([rows[:, :count], rows[:, count + terms : count + 2 * terms]], axis=1)
    ordinary = np.linalg.lstsq(plain, rows[:, count + 2 * terms :], rcond=None)[0][count:]
    squares, products, _, _ = projected(limb, limb_moments(limb, Transitions(**arrays)).sum(axis=0))
    told = np.linalg.solve(squares[0], products[0])
    true = 37.5  # of the knee: the inverse of the inertia, [1, 1]
    knee = limb.feature_count
    assert told[knee, 1] == pytest.approx(true, rel=0.03)
    assert ordinary[knee, 1] < 0.9 * true
    found = identify(two_legs(), **moved(WEAK_KNEE, push=4.0))
    assert ratios(found.scale)[1] == pytest.approx(0.5, rel=0.03)


def test_strengths_are_exact_where_the_sums_are() -> None:
    """Sums of products that obey A diag(p) J exactly, with an A that depends on the posture."""
    (limb,) = limb_views(two_legs())
    rng = np.random.default_rng(0)
    strength = np.array([0.3, 0.9, 1.1, 2.0])
    answer = rng.standard_normal((limb.terms, 2))
    answer[0, 0] = answer[limb.feature_count, 1] = 5.0
    squares, products = [], []
    for members in limb.members:
        some = rng.standard_normal((50, limb.terms))
        squares.append(some.T @ some)
        products.append(squares[-1] @ (np.repeat(strength[members], limb.feature_count)[:, None] * answer))
    found, _ = strengths(limb, np.array(squares), np.array(products), np.ones(2))
    middle = np.sqrt(strength[[0, 1]] * strength[[2, 3]])
    np.testing.assert_allclose(found, strength / np.tile(middle, 2), rtol=1e-4)


def test_a_policy_without_noise_tells_nothing() -> None:
    arrays = moved(WEAK_KNEE, noise=0.0)
    found = identify(two_legs(), **arrays)
    assert not found.identifiable.any()
    assert all("follow from the state alone" in reason for reason in found.reasons)


def test_too_few_transitions_are_said() -> None:
    found = identify(two_legs(), **moved(WEAK_KNEE, 40))
    assert not found.identifiable.any()
    assert "there are 40 transitions" in found.reasons[0]


def test_a_reversed_motor_is_named() -> None:
    turned = np.array([1, 1, 1, -1])
    arrays = {
        name: array * turned if name in ("actions", "means") else array
        for name, array in moved((1.0, 1.0, 1.0, 1.0)).items()
    }
    found = identify(two_legs({**POSITION, "kp": 1e6}), **arrays)  # so stiff that only the command counts
    assert "the other way round: is its motor" in found.reasons[3]
    assert "a counterpart of it" in found.reasons[1]
    assert found.identifiable[[0, 2]].all()


def test_offsets_are_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="reads the same encoder"):
        identify(two_legs(), **moved(WEAK_KNEE, 40), offsets=True)
    with pytest.raises(ValueError, match="TransitionFit: offsets cannot be told"):
        TransitionFit(offsets=True).start(two_legs())


def test_the_fit_in_training_finds_the_same_and_survives_a_file() -> None:
    group = two_legs()
    parts = [Transitions(**moved(WEAK_KNEE, 1000, seed=seed)) for seed in (0, 1, 2)]
    fit, other = TransitionFit().start(group), TransitionFit().start(group)
    for seen in parts[:2]:
        fit.watch(seen)
        fit.update(seen.means, {})
    other.set_state(fit.state())
    for one in (fit, other):
        one.watch(parts[2])
        one.update(parts[2].means, {})
    assert fit.metrics() == other.metrics()
    np.testing.assert_allclose(ratios(np.exp(fit.log_scale)), [1.0, 0.5], rtol=0.02)


def folded(steps: int = 2000, knee: float = -2.0) -> dict[str, np.ndarray]:
    """Legs that never stretch, whose hips turn the harder the straighter the knee; left hip at half."""
    rng = np.random.default_rng(0)
    rest = np.array([0.0, knee, 0.0, knee])
    position, speed, rows = rest.copy(), np.zeros(4), []
    for _ in range(steps):
        mean = rest + 0.3 * np.sin(3 * (position - rest)) - 0.02 * speed
        action = mean + 0.3 * rng.standard_normal(4)
        outside = 0.5 * rng.standard_normal(4)
        before = np.concatenate([position, speed])
        for _ in range(FINE):
            hips = 1 / (0.05 + 0.05 * (1 + np.cos(position[[1, 3]])))
            answer = np.array([hips[0], 25.0, hips[1], 25.0])
            torque = np.array([0.5, 1, 1, 1]) * (KP * (action - position) - KD * speed) + outside
            speed = speed + STEP / FINE * answer * torque
            position = position + STEP / FINE * speed
        rows.append((before, action, np.concatenate([position, speed]), mean))
    names = ("observations", "actions", "next_observations", "means")
    return dict(zip(names, (np.array(column) for column in zip(*rows, strict=True)), strict=True))


def test_a_weak_motor_of_a_folded_leg_is_not_called_reversed() -> None:
    """Stretched out, where the legs never were, a line through what was seen has the other sign."""
    found = identify(two_legs(), **folded())
    assert found.identifiable.all(), found.reasons
    np.testing.assert_allclose(ratios(found.scale), [0.5, 1.0], rtol=0.05)
