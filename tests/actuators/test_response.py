"""The regression of responses against slow obvious ones, and which transitions count how much."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from ambidex import load
from ambidex.actuators.response import (
    BLOCKS,
    answers,
    coefficients,
    intercepts,
    moments,
    robust_moments,
    without_controls,
)
from ambidex.actuators.transitions import OrbitViews, Transitions, View, orbit_views
from tests.actuators.test_identification import TRIANGLE, logged


def all_rows(orbit: OrbitViews, transitions: Transitions, view: View) -> np.ndarray:
    """The rows of all blocks: what is to be expected of a command is told block by block."""
    blocks = transitions.blocks(BLOCKS)
    return np.concatenate(
        [orbit.rows(block.observations @ view.observations.T, block, view) for block in blocks]
    )


def responses(orbit: OrbitViews, sums: np.ndarray, *, alike: bool = False) -> tuple[np.ndarray, np.ndarray]:
    return answers(orbit, without_controls(orbit, sums)[0], alike=alike)


def small_problem() -> tuple[OrbitViews, Transitions]:
    (orbit,) = orbit_views(TRIANGLE, mirrored=False)
    arrays = [array.astype(np.float64) for array in logged("triangle-rust", 12, seed=3)]
    rng = np.random.default_rng(1)
    arrays[2] += 0.3 * rng.standard_normal(arrays[2].shape)  # no model fits it exactly
    return orbit, Transitions(*arrays)


def test_the_response_is_the_least_squares_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """All coefficients at once by a general optimiser: controls of each limb, common response, gains."""
    monkeypatch.setattr("ambidex.actuators.response.DIRECTION_RIDGE", 1e-9)
    orbit, transitions = small_problem()
    gains, response = responses(orbit, moments(orbit, transitions).sum(axis=0))
    seen = {
        member: np.concatenate(
            [all_rows(orbit, transitions, view) for view in orbit.views if view.member == member]
        )
        for member in orbit.members
    }
    size = len(orbit.terms)

    def residuals(unknown: np.ndarray) -> np.ndarray:
        log_gains = np.append(unknown[:2], -unknown[:2].sum())
        parts = []
        for log_gain, own in zip(log_gains, seen.values(), strict=True):
            controls, terms, outcome = np.split(own, [-size - 1, -1], axis=1)
            left = outcome[:, 0] - terms @ (np.exp(log_gain * orbit.terms.degrees) * unknown[2:])
            weights, *_ = np.linalg.lstsq(controls, left, rcond=None)
            parts.append(left - controls @ weights)
        return np.concatenate(parts)

    solution = least_squares(residuals, np.append([0.0, 0.0], response), xtol=1e-14, ftol=1e-14, gtol=1e-12)
    expected = np.exp(np.append(solution.x[:2], -solution.x[:2].sum()))
    np.testing.assert_allclose(gains, expected, rtol=2e-3)
    assert np.ptp(gains) > 0.5


def test_the_offsets_are_the_least_squares_solution() -> None:
    orbit, transitions = small_problem()
    sums = moments(orbit, transitions).sum(axis=0)
    gains, response = responses(orbit, sums, alike=True)
    size, features = len(orbit.terms), orbit.feature_count
    designs, answers = [], []
    for view in orbit.views:
        controls, terms, outcome = np.split(all_rows(orbit, transitions, view), [-size - 1, -1], axis=1)
        gain = gains[orbit.members == view.member][0]
        shift = np.zeros((len(controls), 3))
        shift[:, view.member] = -gain * view.sign * (controls[:, :features] @ response[:features])
        designs.append(np.concatenate([controls, shift], axis=1))
        answers.append(outcome[:, 0] - terms @ (gain**orbit.terms.degrees * response))
    solution, *_ = np.linalg.lstsq(np.concatenate(designs), np.concatenate(answers), rcond=None)
    np.testing.assert_allclose(intercepts(orbit, sums, gains, response), solution[-3:], atol=1e-4)


def test_coefficients_expect_what_least_squares_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the gains known, one linear problem for the controls of each limb and the common response."""
    monkeypatch.setattr("ambidex.actuators.response.DIRECTION_RIDGE", 1e-9)
    orbit, transitions = small_problem()
    sums = moments(orbit, transitions).sum(axis=0)
    gains, _ = responses(orbit, sums)
    size = len(orbit.terms)
    seen = [all_rows(orbit, transitions, view) for view in orbit.views]
    width = seen[0].shape[1] - size - 1
    designs = []
    for view, own in zip(orbit.views, seen, strict=True):
        limb = int(np.flatnonzero(orbit.members == view.member)[0])
        design = np.zeros((len(own), 3 * width + size))
        design[:, limb * width : (limb + 1) * width] = own[:, :width]
        design[:, 3 * width :] = own[:, width:-1] * gains[limb] ** orbit.terms.degrees
        designs.append(design)
    outcomes = np.concatenate([own[:, -1] for own in seen])
    solution, *_ = np.linalg.lstsq(np.concatenate(designs), outcomes, rcond=None)
    expected = np.concatenate(designs) @ solution
    found = [own[:, :-1] @ one for own, one in zip(seen, coefficients(orbit, sums), strict=True)]
    np.testing.assert_allclose(np.concatenate(found), expected, atol=2e-3)
    assert np.std(expected) > 0.1


def test_moments_count_contacts_a_tenth_and_outliers_less() -> None:
    """A slow loop over the transitions of ants that touch the ground now and then."""
    orbit = orbit_views(load("ant"), mirrored=False)[1]
    rng = np.random.default_rng(0)
    states = rng.normal(size=(48, 28))
    states[:, 24:] = rng.random((48, 4)) < 0.5
    arrays = [states, *rng.normal(size=(1, 48, 8)), states + rng.normal(size=(48, 28)) ** 3]
    transitions = Transitions(*arrays, means=np.zeros((48, 8)))
    plan = 0.1 * rng.normal(size=(8, orbit.row_size - 1))
    found = moments(orbit, transitions, plan)
    for number, view in enumerate(orbit.views):
        seen = all_rows(orbit, transitions, view)
        contact = (states @ view.observations.T)[:, 24]
        errors = np.abs(seen[:, -1] - seen[:, :-1] @ plan[number])
        for block in range(8):
            own = range(6 * block, 6 * block + 6)
            expected = np.zeros((orbit.row_size, orbit.row_size))
            for row in own:
                alike = [other for other in own if contact[other] == contact[row]]
                usual = 2.2 * np.median(errors[alike])
                assert usual > 0.1 * np.sqrt(np.mean(errors[alike] ** 2))
                weight = (0.1 if contact[row] else 1.0) * min(1.0, usual / errors[row])
                expected += weight * np.outer(seen[row], seen[row])
            np.testing.assert_allclose(found[block, number], expected, rtol=1e-9, atol=1e-9)


def test_impacts_do_not_spoil_the_estimate() -> None:
    """In one step of twenty something strikes the limbs, far harder than they move by themselves."""
    observations, actions, following, means = (array.astype(float) for array in logged("triangle-rust"))
    rng = np.random.default_rng(5)
    struck = rng.random(len(observations)) < 0.05
    usual = np.std(following - observations, axis=0)[3:6]
    following[struck, 3:6] += 20 * usual * rng.normal(size=(struck.sum(), 3))
    (orbit,) = orbit_views(TRIANGLE)
    transitions = Transitions(observations, actions, following, means)
    true = np.array([6.0, 3.0, 2.0]) / 36 ** (1 / 3)  # limbs 1 and 2 need 2 and 3 times limb 0's command
    errors = [
        np.abs(responses(orbit, sums.sum(axis=0))[0] / true - 1).max()
        for sums in (moments(orbit, transitions), robust_moments(orbit, transitions))
    ]
    assert errors[0] > 0.1
    assert errors[1] < 0.03
