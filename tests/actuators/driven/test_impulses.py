"""The impulse of a drive against a fine sum over the motion, and what a description lacks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ambidex import identify
from ambidex.actuators.driven.impulses import impulses
from ambidex.actuators.transitions import Transitions
from tests.actuators.two_legs import two_legs

STEP = 0.02


def along_a_cubic(drive: Mapping[str, Any], action: float, command: str) -> tuple[float, float]:
    """The impulse of the left hip, and what it is by a fine sum over a joint that moves along a cubic."""
    group = two_legs(drive)
    assert group.layout is not None
    times = np.linspace(0, STEP, 20_001)
    path = np.polynomial.Polynomial([0.1, 1.0, 40.0, 900.0])
    state, following = np.zeros((2, 1, 8))
    for row, time in ((state, 0.0), (following, STEP)):
        row[0, 0], row[0, 4] = path(time), path.deriv()(time)
    seen = Transitions(state, np.full((1, 4), action), following, np.zeros((1, 4)))
    position, speed = path(times), path.deriv()(times)
    if command == "position":
        torque = 30 * (0.25 * action - position) - 2 * speed
    else:
        torque = 2 * (0.25 * action - speed)
    limit = drive.get("limit", np.inf)
    return float(impulses(group.layout, seen)[0, 0]), float(np.trapezoid(torque.clip(-limit, limit), times))


def test_a_position_drive_pulls_less_the_nearer_it_comes() -> None:
    drive = {"action": "position", "kp": 30, "kd": 2, "scale": 0.25, "step": STEP}
    found, expected = along_a_cubic(drive, 1.5, "position")
    assert found == pytest.approx(expected, rel=1e-6)
    assert found < 0.7 * STEP * (30 * (0.375 - 0.1) - 2 * 1.0)  # the torque at the start, all along


def test_a_limit_cuts_the_torque_where_it_is_too_large() -> None:
    drive = {"action": "position", "kp": 30, "kd": 2, "scale": 0.25, "step": STEP, "limit": 1.5}
    found, expected = along_a_cubic(drive, 1.5, "position")
    assert found == pytest.approx(expected, rel=0.1)
    free, _ = along_a_cubic({**drive, "limit": 1e9}, 1.5, "position")
    assert found < 0.9 * free


def test_a_velocity_drive_needs_no_gain_for_ratios() -> None:
    drive = {"action": "velocity", "scale": 0.25, "step": STEP}
    found, expected = along_a_cubic(drive, 20.0, "velocity")
    assert 2 * found == pytest.approx(expected, rel=1e-6)
    with_gain, _ = along_a_cubic({**drive, "kd": 2}, 20.0, "velocity")
    assert with_gain == pytest.approx(expected, rel=1e-6)


def test_a_torque_is_what_is_commanded_within_its_limit() -> None:
    layout = two_legs({"action": "torque", "scale": 2, "limit": 3}).layout
    assert layout is not None
    rows = np.zeros((2, 8))
    actions = np.array([[0.5, -1, 2, -2], [0, 0, 0, 0]])
    np.testing.assert_allclose(
        impulses(layout, Transitions(rows, actions, rows, actions)), [[1, -2, 3, -3], [0] * 4]
    )


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ({"action": "position", "kp": 3, "kd": 1}, "give drive: the step"),
        ({"action": "position", "step": 0.02}, "give drive: kp and kd"),
        ({"action": "velocity"}, "give drive: the step"),
    ],
)
def test_what_a_description_lacks_is_said(drive: Mapping[str, Any], message: str) -> None:
    rows = np.zeros((9, 8))
    with pytest.raises(ValueError, match=message):
        identify(two_legs(drive), rows, rows[:, :4], rows)
