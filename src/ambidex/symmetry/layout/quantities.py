"""The kinds of quantity that an observation or action can be, and what a motion of the body does to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry import isometry as geometry
from ambidex.symmetry.layout.body import Motion
from ambidex.symmetry.maps import TOLERANCE

ANGLES = {"roll": "x", "pitch": "y", "yaw": "z"}


class Quantity(Protocol):
    """One kind of quantity: the labels of its elements, and its matrix under a motion of the body."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        """What the motion makes of it; ``name`` and ``owner`` are whose quantity it is."""


@dataclass(frozen=True)
class Scalar:
    """Numbers that no isometry changes: a height, a battery level, a contact."""

    count: int = 1

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",) if self.count == 1 else tuple(f"[{i}]" for i in range(self.count))

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        return np.eye(self.count)


@dataclass(frozen=True)
class Unknown:
    """Numbers of which nobody has said yet what they are; no transform can be made of them."""

    count: int

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",) if self.count == 1 else tuple(f"[{i}]" for i in range(self.count))

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        raise ValueError(
            f"transform {motion.transform!r}: the field {name!r} is unknown; say what its {self.count} "
            "elements are"
        )


@dataclass(frozen=True)
class Contact(Scalar):
    """Whether a limb touches something."""


@dataclass(frozen=True)
class Vector:
    """Components of a vector in the body's frame.

    :param axes: the components that there are, in their order
    :param pseudo: whether it is a pseudovector (a spin, small angles), which turns around in mirrors
    :param names: what the components are called, if not after their axes
    """

    axes: tuple[str, ...]
    pseudo: bool = False
    names: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{name}" for name in self.names or self.axes)

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        whole = motion.matrix(repr(name))
        if self.pseudo:
            whole = whole * np.round(np.linalg.det(whole))
        rows = ["xyz".index(axis) for axis in self.axes]
        part = whole[np.ix_(rows, rows)]
        if not np.allclose(part @ part.T, np.eye(len(rows)), atol=TOLERANCE):
            raise ValueError(
                f"transform {motion.transform!r} mixes the components {', '.join(self.axes)} of "
                f"{name!r} with components that the layout does not have; it is no symmetry of them"
            )
        return part


@dataclass(frozen=True)
class Tensor:
    """Components of a symmetric tensor, such as an inertia: T becomes M T M^T.

    :param components: the pairs of axes that there are, such as ``"xy"``, in their order
    """

    components: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{component}" for component in self.components)

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        whole = motion.matrix(repr(name))
        places = [tuple("xyz".index(axis) for axis in component) for component in self.components]
        matrix = np.zeros((len(places), len(places)))
        for column, (first, second) in enumerate(places):
            unit = np.zeros((3, 3))
            unit[first, second] = unit[second, first] = 1
            image = whole @ unit @ whole.T
            matrix[:, column] = [image[place] for place in places]
            image[tuple(np.transpose([*places, *(place[::-1] for place in places)]))] = 0
            if np.abs(image).max() > TOLERANCE:
                raise ValueError(
                    f"transform {motion.transform!r} mixes the components {', '.join(self.components)} of "
                    f"{name!r} with components that the layout does not have; it is no symmetry of them"
                )
        return matrix


@dataclass(frozen=True)
class Quaternion:
    """The body's orientation as a unit quaternion.

    The symmetric orientation is M R M^-1, for rotations and for reflections M alike: the scalar part stays,
    the vector part is a pseudovector.

    :param order: ``"wxyz"`` or ``"xyzw"``
    """

    order: str

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{letter}" for letter in self.order)

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        turned = motion.matrix(repr(name))
        whole = np.eye(4)  # as wxyz
        whole[1:, 1:] = turned * np.round(np.linalg.det(turned))
        places = ["wxyz".index(letter) for letter in self.order]
        return whole[np.ix_(places, places)]


@dataclass(frozen=True)
class JointValue:
    """A position, velocity, torque or command of one joint.

    :param unsigned: whether it keeps its sign where the joint's turns (a temperature, the cosine of an angle)
    :param limits: its lowest and highest value, if declared
    """

    unsigned: bool = False
    limits: tuple[float, float] | None = field(default=None, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",)

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        sign = 1.0 if self.unsigned or owner is None else motion.joints[owner][1]
        return np.array([[sign]])


@dataclass(frozen=True)
class Clock:
    """Sine and cosine of a gait's phase, of the whole robot or of each limb.

    A limb's clock goes with the limb. The robot's stays, or is half a period later, as the transform says.
    """

    parts: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{part}" for part in self.parts)

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        if owner is not None:
            return np.eye(len(self.parts))
        if motion.phase is None:
            raise ValueError(
                f"transform {motion.transform!r}: say what becomes of the clock {name!r}: phase: half "
                "(half a period later, as when left and right change places) or phase: same"
            )
        return np.eye(len(self.parts)) * (-1.0 if motion.phase == "half" else 1.0)


@dataclass(frozen=True)
class HeightMap:
    """Heights on a grid around the body, row after row.

    :param shape: the number of rows and of columns
    :param rows: the direction in which the rows follow each other
    :param columns: the direction from one column to the next
    :param spacing: the distances between rows and between columns
    :param centre: where the grid's centre is in the body's frame
    """

    shape: tuple[int, int]
    rows: str
    columns: str
    spacing: tuple[float, float] = (1.0, 1.0)
    centre: tuple[float, float] = (0.0, 0.0)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"[{row},{column}]" for row in range(self.shape[0]) for column in range(self.shape[1]))

    def matrix(self, motion: Motion, name: str, owner: str | None) -> FloatArray:
        whole = motion.matrix(repr(name))
        error = ValueError(
            f"transform {motion.transform!r} carries points of the height map {name!r} to where it has "
            f"none; its grid of {self.shape[0]} x {self.shape[1]} has no such symmetry"
        )
        if not np.allclose(whole[2], (0, 0, 1)):
            raise error
        row, column = np.divmod(np.arange(self.shape[0] * self.shape[1]), self.shape[1])
        steps = np.stack([geometry.direction(self.rows)[:2], geometry.direction(self.columns)[:2]])
        spacing = np.array(self.spacing)
        middle = (np.array(self.shape) - 1) / 2
        points = (np.stack([row, column], axis=1) - middle) * spacing @ steps + np.array(self.centre)
        image = points @ whole[:2, :2].T
        place = (image - np.array(self.centre)) @ steps.T / spacing + middle
        nearest = np.round(place).astype(int)
        if np.abs(place - nearest).max() > 1e-6 or (nearest < 0).any() or (nearest >= self.shape).any():
            raise error
        matrix = np.zeros((len(points), len(points)))
        matrix[nearest[:, 0] * self.shape[1] + nearest[:, 1], np.arange(len(points))] = 1
        return matrix
