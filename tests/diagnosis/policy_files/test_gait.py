"""Gaits whose period, delay and differences are known."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex.diagnosis.policy_files.gait import delay_of, out_of_step, period_of, symmetry_index

TIMES = np.arange(400)


def wave(period: float, late: float = 0.0) -> np.ndarray:
    return np.sin(2 * np.pi * (TIMES - late) / period)


def test_the_index_compares_how_far_two_joints_move() -> None:
    motion = np.stack([3 * wave(40), wave(40), 2 * wave(40)], axis=1)
    image = motion[:, [1, 0, 2]]
    np.testing.assert_allclose(symmetry_index(motion, image), [1, -1, 0], atol=1e-12)  # 2 (3 - 1) / (3 + 1)
    assert symmetry_index(np.zeros((5, 1)), np.zeros((5, 1))).tolist() == [0]


def test_the_period_is_that_of_all_joints_together() -> None:
    assert period_of(np.stack([wave(40), wave(40, 20)], axis=1)) == 40
    assert period_of(np.stack([wave(20), wave(40)], axis=1)) == 40
    assert period_of(wave(33.3)[:, None]) == 33
    noisy = wave(40)[:, None] + 0.2 * np.random.default_rng(0).normal(size=(400, 1))
    assert period_of(noisy) == pytest.approx(40, abs=2)


@pytest.mark.parametrize(
    "motion",
    [
        np.random.default_rng(0).normal(size=(400, 3)),
        np.ones((400, 2)),
        TIMES[:, None] * 0.1,
        np.zeros((2, 1)),
    ],
    ids=["noise", "still", "drift", "too short"],
)
def test_what_does_not_repeat_itself_has_no_period(motion: np.ndarray) -> None:
    assert period_of(motion) is None


def test_legs_that_follow_each_other_by_half_a_period_are_in_step() -> None:
    motion = np.stack([wave(40), wave(40, 20)], axis=1)
    image = motion[:, ::-1]
    assert delay_of(motion, image, 40) == 20
    np.testing.assert_allclose(out_of_step(motion, image, 20), 0, atol=1e-12)
    together = np.stack([wave(40), wave(40)], axis=1)
    assert delay_of(together, together[:, ::-1], 40) == 0


def test_a_leg_that_is_bent_or_late_is_out_of_step() -> None:
    bent = np.stack([wave(40), wave(40, 20) + 0.5], axis=1)
    delay = delay_of(bent, bent[:, ::-1], 40)
    np.testing.assert_allclose(out_of_step(bent, bent[:, ::-1], delay), 0.5, atol=1e-12)
    late = np.stack([wave(40), wave(40, 26)], axis=1)  # 26 and 14 rows from one to the other
    delay = delay_of(late, late[:, ::-1], 40)
    assert 14 <= delay <= 26
    assert out_of_step(late, late[:, ::-1], delay).max() > 0.3
