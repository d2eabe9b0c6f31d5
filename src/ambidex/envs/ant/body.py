"""What the ant task asks of a physics engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy.typing as npt

State = dict[str, npt.NDArray[Any]]
Vector = tuple[float, float, float]

JOINTS = 8
STEP_SECONDS = 0.0165
SUBSTEPS = 4
GRAVITY = 9.8
START_HEIGHT = 0.75


class Reading(NamedTuple):
    """What the task needs to know after a step.

    :param joint_positions: rad, joints 0 to 7
    :param joint_speeds: rad/s
    :param torso_position: m, in the world
    :param torso_angles: roll, pitch and yaw (ZYX Euler angles, rad)
    :param torso_velocity: m/s, in the world
    :param center: mean x and y of all parts, the floor included as one at the origin
    """

    joint_positions: Sequence[float]
    joint_speeds: Sequence[float]
    torso_position: Sequence[float]
    torso_angles: Sequence[float]
    torso_velocity: Sequence[float]
    center: Sequence[float]


class Pose(NamedTuple):
    """Where the body is and how it moves; the orientation is a quaternion (x, y, z, w)."""

    position: Sequence[float]
    orientation: Sequence[float]
    linear_velocity: Sequence[float]
    angular_velocity: Sequence[float]
    joint_positions: Sequence[float]
    joint_speeds: Sequence[float]

    @classmethod
    def at_rest(cls, orientation: Sequence[float], joint_positions: Sequence[float]) -> Self:
        """Over the origin at `START_HEIGHT`."""
        still = (0.0, 0.0, 0.0)
        position = (0.0, 0.0, START_HEIGHT)
        return cls(position, orientation, still, still, joint_positions, (0.0,) * JOINTS)


class AntSimulator(Protocol):
    """The ant's body in a physics engine.

    ``joint_frames`` has each joint's place, seen from the torso, and its axis when all angles are 0.
    """

    joint_limits: list[tuple[float, float]]
    joint_frames: list[tuple[Vector, Vector]]

    def reset(self, yaw: float, joint_positions: Sequence[float]) -> None:
        """Put the ant at rest at the origin, upright at `START_HEIGHT`."""

    def set_gravity(self, gravity: Vector) -> None: ...

    def set_foot_masses(self, masses: Sequence[float | None]) -> None:
        """In kg; None is the model's own mass. A reset keeps them."""

    def step(self, torques: Sequence[float]) -> None:
        """Advance by `STEP_SECONDS` with these torques in N m."""

    def read(self) -> Reading: ...

    def feet_on_ground(self) -> Sequence[float]:
        """For each foot 1.0 where it touched the floor in the last step, else 0.0."""

    def pose(self) -> Pose: ...

    def place(self, pose: Pose) -> None:
        """Put the body where ``pose`` says, with no memory of earlier contacts."""

    def get_state(self) -> State:
        """Everything that decides how the body goes on, gravity and masses included."""

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None: ...

    def close(self) -> None: ...
