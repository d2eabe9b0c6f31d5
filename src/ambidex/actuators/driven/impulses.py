"""What a sound motor gives its joint in one step: the integral of the torque that its drive asks for.

A position drive's torque changes within a step, since it follows the joint, and the more strongly the motor
pulls the sooner it stops pulling. So the answer of a joint to its command says little about its motor; the
answer to the impulse says all. Position and speed at both ends of a step fix a cubic, and Simpson's rule
integrates the torque along it exactly, as long as it stays within its limit.
"""

from __future__ import annotations

import numpy as np

from ambidex.actuators.transitions import Transitions
from ambidex.common.arrays import FloatArray, IntArray
from ambidex.symmetry.layout.drive import Drive
from ambidex.symmetry.layout.layout import Layout


def impulses(layout: Layout, transitions: Transitions) -> FloatArray:
    """Of each action in each transition: (T, n). For torques, of a step of one second.

    :param layout: with a drive that `missing_for_impulses` finds nothing wrong with
    """
    drive = layout.drive
    assert drive is not None
    targets = np.array(drive.scale) * transitions.actions
    limit = np.array(drive.limit)
    if drive.action == "torque":
        return np.clip(targets, -limit, limit)
    assert drive.step is not None
    places = _places(layout, "position_index"), _places(layout, "velocity_index")
    position, speed = (transitions.observations[:, place] for place in places)
    next_position, next_speed = (transitions.next_observations[:, place] for place in places)
    middle = (position + next_position) / 2 + drive.step / 8 * (speed - next_speed)
    middle_speed = 1.5 * (next_position - position) / drive.step - (speed + next_speed) / 4
    first, second, third = (
        _torque(drive, targets, *at).clip(-limit, limit)
        for at in ((position, speed), (middle, middle_speed), (next_position, next_speed))
    )
    found: FloatArray = drive.step / 6 * (first + 4 * second + third)
    return found


def missing_for_impulses(layout: Layout) -> str:
    """What the description does not say about its drive, as an error; empty if nothing is missing."""
    drive = layout.drive
    assert drive is not None
    if drive.action == "torque":
        return ""
    if drive.step is None:
        return f"a {drive.action} drive changes its torque within a step; give drive: the step in seconds"
    if drive.action == "position" and (drive.kp is None or drive.kd is None):
        return (
            "a joint under a position drive goes where it is told, soon by a strong motor and late by a weak "
            "one, and what is soon depends on the gains; give drive: kp and kd (only their ratio matters)"
        )
    for one in layout.actuators:
        if one.position_index is None:
            return f"the position of joint {one.joint!r} is not observed, so its drive's torque is not known"
    return ""


def _torque(drive: Drive, targets: FloatArray, position: FloatArray, speed: FloatArray) -> FloatArray:
    if drive.action == "velocity":
        return (np.array(drive.kd) if drive.kd is not None else 1.0) * (targets - speed)
    assert drive.kp is not None
    assert drive.kd is not None
    return np.array(drive.kp) * (targets - position) - np.array(drive.kd) * speed


def _places(layout: Layout, name: str) -> IntArray:
    return np.array([getattr(one, name) for one in layout.actuators])
