"""A heavy limb is told from weak motors by how joints answer each other's commands."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ambidex import identify, load
from ambidex.actuators.reciprocity import CrossAnswers, _evidence_of_load
from ambidex.actuators.scales import COUNTERPART_LOADED, LOADED
from ambidex.actuators.transitions import Transitions
from ambidex.learn.fits.transition import TransitionFit, TransitionState
from tests.actuators.test_identification import logged

ANT = load("ant")
LEG_OF_JOINT = np.repeat(np.arange(4), 2)
SOUND, WEAK = np.ones(8), np.array([1, 1, 0.6, 1, 1, 1, 1, 0.8])
HEAVY = np.array([3.0, 0, 0, 0])  # added to the inertia of both joints of a leg


def mechanism(
    gains: np.ndarray,
    loads: np.ndarray,
    steps: int = 6000,
    seed: int = 0,
    loaded_joints: tuple[int, ...] = (0, 1),
) -> Transitions:
    """Eight joints on a torso that gives way to all of them: v' - v = (M + loads)^-1 diag(gains) a + noise.

    Hips turn about one axis, so each drives the torso, and with it the other hips, the same way round; so do
    the knees, less, and the two kinds do not meet.
    """
    rng = np.random.default_rng(seed)
    of_hips = np.arange(8) % 2 == 0
    inertia = np.diag(np.where(of_hips, 4.0, 3.0)) - 0.5 * (of_hips[:, None] & of_hips)
    inertia -= 0.2 * (~of_hips[:, None] & ~of_hips)
    # In the signs of the ant's joints: a knee of leg 1 and 2 bends the other way round.
    signs = np.where(~of_hips & np.isin(LEG_OF_JOINT, (1, 2)), -1.0, 1.0)
    added = np.where(np.isin(np.arange(8) % 2, loaded_joints), loads[LEG_OF_JOINT], 0.0)
    mobility = np.linalg.inv(inertia + np.diag(added)) * np.outer(signs, signs)
    states = rng.normal(size=(steps, 28))
    states[:, 24:] = 0
    means = 0.3 * states[:, :8]
    actions = means + 0.4 * rng.normal(size=(steps, 8))
    following = states.copy()
    following[:, 9:24:2] += actions @ (mobility * gains).T + 0.1 * rng.normal(size=(steps, 8))
    return Transitions(states, actions, following, means)


def identified(seen: Transitions) -> Any:
    return identify(ANT, seen.observations, seen.actions, seen.next_observations, means=seen.means)


def test_the_balance_of_two_joints_by_hand() -> None:
    """N = [[2, 1], [1, 2]] behind gains of 1 and a half: A_12 p_1 = 0.5 = A_21 p_2."""
    answers, noise = np.array([[[2.0, 0.5], [1.0, 1.0]]]), np.array([[1.0, 0.1], [0.2, 1.0]])
    truth, members = np.array([[0.0, np.log(2)]]), np.arange(2)
    equal = (0.5 - 1.0) ** 2 / (0.1 + 0.2)
    assert _evidence_of_load(answers, noise, truth, members) == pytest.approx(-equal)  # nothing is left
    # Were the second gain a quarter: 0.5 * 4 - 1 = 1.
    unequal = 1**2 / (4**2 * 0.1 + 0.2)
    assert _evidence_of_load(answers, noise, 2 * truth, members) == pytest.approx(unequal - equal)


def test_answers_are_those_of_the_mechanism() -> None:
    cross = CrossAnswers(ANT)
    seen = mechanism(WEAK, HEAVY, steps=20_000)
    found = cross.answers(cross.moments(seen).sum(axis=0))
    # A slow and obvious way: ordinary least squares of each joint's change on all that is known.
    known = np.hstack([np.ones((len(seen), 1)), seen.observations, seen.means, seen.actions])
    for joint in range(8):
        change = (seen.next_observations - seen.observations)[:, 9 + 2 * joint]
        expected = np.linalg.lstsq(known, change, rcond=None)[0][-8:]
        np.testing.assert_allclose(found[joint], expected, atol=0.01)  # outliers count less
    assert np.abs(found[np.arange(8), np.arange(8)]).min() > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_weak_motors_are_weak_motors(seed: int) -> None:
    found = identified(mechanism(WEAK, np.zeros(4), seed=seed))
    assert not found.loaded.any()
    assert found.identifiable.all()
    assert found.scale[2] / found.scale[0] == pytest.approx(1 / 0.6, rel=0.05)
    assert found.scale[7] / found.scale[1] == pytest.approx(1 / 0.8, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_a_heavy_leg_is_no_weak_motor(seed: int) -> None:
    found = identified(mechanism(SOUND, HEAVY, seed=seed))
    assert found.loaded.all()
    assert not found.identifiable.any()
    np.testing.assert_array_equal(found.scale, 1)
    assert found.reasons[:2] == (LOADED, LOADED)
    assert found.reasons[2:] == (COUNTERPART_LOADED,) * 6


@pytest.mark.parametrize("seed", range(5))
def test_a_sound_robot_carries_nothing(seed: int) -> None:
    assert not identified(mechanism(SOUND, np.zeros(4), seed=seed)).loaded.any()


def test_joints_that_do_not_move_each_other_tell_nothing() -> None:
    for scenario in ("triangle", "triangle-rust", "triangle-weight", "triangle-friction"):
        assert not identify(load("triangle"), *logged(scenario)[:3]).loaded.any()


@pytest.mark.parametrize(("scenario", "is_heavy"), [("A4.1", True), ("A3.1", False), ("A1.1", False)])
def test_ants_of_the_benchmark(scenario: str, is_heavy: bool) -> None:
    env = gym.make("ambidex/AntMujoco-v0", scenario=scenario).unwrapped
    rng = np.random.default_rng(0)
    rows = []
    state, _ = env.reset(seed=0)
    for _ in range(12_000):
        action = np.clip(0.37 * rng.normal(size=8), env.action_space.low, env.action_space.high)
        following, _, terminated, truncated, _ = env.step(action.astype(np.float32))
        rows.append((state, action, following))
        state = env.reset()[0] if terminated or truncated else following
    observations, actions, after = map(np.array, zip(*rows, strict=True))
    found = identify(ANT, observations, actions, after)
    assert found.loaded.all() == found.loaded.any() == is_heavy


def test_a_fit_gives_heavy_limbs_the_given_map_and_stays_with_it() -> None:
    fit = TransitionFit(memory=1e12).start(ANT)
    fit.log_scale[:] = [0.3, 0.4, 0, 0, -0.2, -0.2, -0.1, -0.2]  # what it believed before
    for seen in (mechanism(SOUND, HEAVY), mechanism(SOUND, HEAVY, steps=40, seed=1)):
        fit.watch(seen)
        fit.update(seen.means, {})
        assert fit.loaded.all()
        np.testing.assert_allclose(fit.log_scale, 0, atol=1e-12)
    assert ("loaded", "", "0", 1.0) in fit.metrics()


def test_a_fit_that_has_seen_nothing_knows_of_no_load() -> None:
    fit = TransitionFit().start(ANT)
    fit.update(np.zeros((0, 8)), {})
    assert not fit.loaded.any()


def test_a_fit_goes_on_from_its_state_and_from_one_that_knew_no_loads() -> None:
    first, second = mechanism(SOUND, HEAVY), mechanism(SOUND, HEAVY, steps=500, seed=1)
    whole = TransitionFit().start(ANT)
    whole.watch(first)
    whole.update(first.means, {})
    resumed = TransitionFit().start(ANT)
    resumed.set_state(whole.state())
    for fit in (whole, resumed):
        fit.watch(second)
        fit.update(second.means, {})
    np.testing.assert_array_equal(resumed.cross_sums, whole.cross_sums)
    np.testing.assert_array_equal(resumed.loaded, whole.loaded)
    old = {name: array for name, array in whole.state().items() if name not in ("cross_sums", "loaded")}
    resumed.set_state(old)
    assert not resumed.loaded.any()
    assert not resumed.cross_sums.any()
    with pytest.raises(ValueError, match=r"the fit's state 'cross_sums' has the shape \(8, 3\)"):
        resumed.set_state(whole.state() | {"cross_sums": np.zeros((8, 3))})


BIPED = """
limbs:
  L: {{at: [0, 1], joints: {{hip: x, knee: y}}}}
  R: {{at: [0, -1], joints: {{hip: x, knee: y}}}}
observations:
  - tilt: scalar
  - joints: {{joint: [position, velocity]}}
actions:
  - torque: {{joint: torque, unsigned: {outward}}}
generators: [xz]
"""
TRIPOD = """
limbs:
  A: {at: {degrees: 0}, joints: {hip: z}}
  B: {at: {degrees: 120}, joints: {hip: z}}
  C: {at: {degrees: 240}, joints: {hip: z}}
observations:
  - velocity: {vector: [x, y]}
  - joints: {joint: [position, velocity]}
actions:
  - torque: joint
generators: [r120]
"""


def simple_robot(tmp_path: Path, description: str, mobility: np.ndarray, first_joint: int) -> Any:
    """The identification of a robot that answers its commands by these factors."""
    (tmp_path / "robot.yaml").write_text(description)
    count = len(mobility)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(8000, first_joint + 2 * count))
    means = 0.3 * states[:, first_joint : first_joint + count]
    actions = means + 0.4 * rng.normal(size=means.shape)
    following = states.copy()
    following[:, first_joint + 1 :: 2] += actions @ mobility.T + 0.05 * rng.normal(size=means.shape)
    return identify(load(str(tmp_path / "robot.yaml")), states, actions, following, means=means)


@pytest.mark.parametrize("outward", [False, True])
def test_commands_may_count_outward_where_speeds_count_about_an_axis(tmp_path: Path, outward: bool) -> None:
    inertia = np.diag([4.0, 3, 4, 3])
    inertia[0, 2] = inertia[2, 0] = -1.2
    inertia[1, 3] = inertia[3, 1] = -0.8
    polarity = np.array([1, 1, -1, 1]) if outward else np.ones(4)
    description = BIPED.format(outward=str(outward).lower())
    heavy = np.linalg.inv(inertia + np.diag([3, 3, 0, 0])) * polarity
    assert simple_robot(tmp_path, description, heavy, 1).loaded.all()
    weak = np.linalg.inv(inertia) * polarity * [0.6, 1, 1, 1]
    assert not simple_robot(tmp_path, description, weak, 1).loaded.any()


def test_what_else_is_observed_may_be_mixed_by_matrices(tmp_path: Path) -> None:
    mobility = np.linalg.inv(np.diag([8.0, 5, 5]) - 1.0)
    found = simple_robot(tmp_path, TRIPOD, mobility, 2)
    assert found.loaded.all()
    assert found.reasons == (LOADED, COUNTERPART_LOADED, COUNTERPART_LOADED)


def test_a_leg_is_named_as_a_whole_and_a_reversed_motor_as_such() -> None:
    seen = mechanism(SOUND, HEAVY, steps=20_000, loaded_joints=(0,))
    assert identified(seen).reasons[:2] == (LOADED, LOADED)
    reversed_knee = np.where(np.arange(8) == 5, -1.0, 1.0)
    reasons = identified(mechanism(reversed_knee, HEAVY)).reasons
    assert "the other way round: is its motor or encoder reversed" in reasons[5]


def test_a_heavy_leg_that_is_pulled_has_no_offset_either() -> None:
    seen = mechanism(SOUND, HEAVY)
    seen.next_observations[:, 9] += 0.2
    found = identify(
        ANT, seen.observations, seen.actions, seen.next_observations, means=seen.means, offsets=True
    )
    assert found.loaded.all()
    np.testing.assert_array_equal(found.offset, 0)


def test_a_saved_model_that_knew_no_loads_goes_on() -> None:
    fit = TransitionFit().start(ANT)
    old = {
        name: value
        for name, value in vars(fit).items()
        if name not in ("cross_answers", "cross_sums", "loaded")
    }
    found = TransitionState.__new__(TransitionState)
    found.__setstate__(old)
    seen = mechanism(SOUND, HEAVY)
    found.watch(seen)
    found.update(seen.means, {})
    assert found.loaded.all()
    assert copy.deepcopy(found).loaded.all()
