"""The triangle robot's dynamics and task, as pure functions of arrays whose last axis is the limb.

The paper's 2D robot is an equilateral triangle with a limb at each vertex. Each limb is a link with inertia,
damping and a spring to its neutral position, driven by a torque and stopped at a largest angle:

    INERTIA * acceleration = torque - DAMPING * speed - STIFFNESS * angle

The torque on a limb is what its actuator makes of the action. All else (movement, reward, battery) follows
from the torque alone, so whatever an actuator does, the action that restores the torque restores the whole
outcome: the true action maps are exact and can be written down.

The limbs do not touch each other and their targets are drawn alike, so turning or reflecting the ideal robot
changes nothing: the five symmetries hold exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray
from ambidex.envs.triangle.perturbations import LIMBS, TriangleConditions

TIME_STEP = 0.05  # s
INERTIA = 0.004  # kg m^2
DAMPING = 0.06  # N m s / rad
STIFFNESS = 0.4  # N m / rad
LARGEST_ANGLE = 1.5  # rad, where a limb stops
LARGEST_SPEED = 30.0  # rad / s, more than the largest torque reaches

LARGEST_TARGET = 0.5  # rad
LARGEST_START_ANGLE = 0.1  # rad
LOWEST_START_LEVEL = 0.5  # of the battery, which is full at 1
TRACKING_COST = 4.0  # per rad^2: errors of half a radian cost all of the reward's 1
SPEED_COST = 0.04  # per (rad/s)^2: keeps the best torques of an ideal limb below 1/3 of the action range
DRAIN = 0.02  # of the battery, per step and (N m)^2
EPISODE_STEPS = 50

LARGEST_OBSERVATION = np.array(
    [LARGEST_ANGLE] * LIMBS + [LARGEST_SPEED] * LIMBS + [LARGEST_TARGET] * LIMBS + [1.0], np.float32
)
SMALLEST_OBSERVATION = np.append(-LARGEST_OBSERVATION[:-1], np.float32(0.0))


def torques(
    actions: FloatArray, angles: FloatArray, battery: FloatArray, conditions: TriangleConditions
) -> FloatArray:
    """The torques on the limbs; an empty battery drives none."""
    limits = conditions.command_limits
    driven = np.clip(conditions.gains * actions, -limits, limits)
    if conditions.has_region:
        driven *= np.where(angles < 0, conditions.region_gains, 1.0)
    if not battery.all():
        driven *= (battery > 0)[..., None]
    return driven + conditions.loads


def move(angles: FloatArray, speeds: FloatArray, torques: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The angles and speeds after one step of semi-implicit Euler; a limb that meets its stop rests there."""
    accelerations = (torques - DAMPING * speeds - STIFFNESS * angles) / INERTIA
    new_speeds = np.clip(speeds + TIME_STEP * accelerations, -LARGEST_SPEED, LARGEST_SPEED)
    free_angles = angles + TIME_STEP * new_speeds
    new_angles = np.clip(free_angles, -LARGEST_ANGLE, LARGEST_ANGLE)
    new_speeds *= new_angles == free_angles
    return new_angles, new_speeds


def drain(battery: FloatArray, torques: FloatArray) -> FloatArray:
    """The battery's level after a step; it feeds the torques that reach the limbs."""
    return np.maximum(battery - DRAIN * _mean_square(torques), 0.0)


def tracking_cost(angles: FloatArray, targets: FloatArray) -> FloatArray:
    return TRACKING_COST * _mean_square(angles - targets)


def speed_cost(speeds: FloatArray) -> FloatArray:
    """Asks for calm movement. A cost of actions would do so too, but change a rusty limb's best movement."""
    return SPEED_COST * _mean_square(speeds)


def observe(
    angles: FloatArray, speeds: FloatArray, targets: FloatArray, battery: FloatArray
) -> npt.NDArray[np.float32]:
    """Angles, speeds and targets of the limbs, then the battery (the paper's has angles and battery only)."""
    observation = np.empty((*battery.shape, 3 * LIMBS + 1), np.float32)
    observation[..., 0:3] = angles
    observation[..., 3:6] = speeds
    observation[..., 6:9] = targets
    observation[..., 9] = battery
    return observation


def _mean_square(values: FloatArray) -> FloatArray:
    mean: FloatArray = np.einsum("...i,...i->...", values, values) / LIMBS
    return mean
