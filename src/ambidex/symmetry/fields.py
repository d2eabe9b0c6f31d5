"""What an observation or action *is*: the kinds of quantity, and what an isometry does to each.

A field of a layout becomes blocks. A block is one quantity of one owner (the robot, a limb, a joint) at one
time; a transform carries it to the same quantity of the owner's partner through a small matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ambidex.symmetry import isometry as geometry
from ambidex.symmetry.body import Body, Motion
from ambidex.symmetry.maps import TOLERANCE, FloatArray
from ambidex.symmetry.wording import check_keys

ANGLES = {"roll": "x", "pitch": "y", "yaw": "z"}
OPTIONS = ("of", "history", "newest", "unsigned")


class Quantity(Protocol):
    """One kind of quantity: the labels of its elements, and its matrix under a motion of the body."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def matrix(self, motion: Motion, block: Block) -> FloatArray: ...


@dataclass(frozen=True)
class Block:
    """One quantity of one owner at one time.

    :param name: the quantity's name; a transform carries a block to the block of the same name
    :param quantity: what kind of quantity it is
    :param owner: the limb or joint whose quantity it is, or None for the whole robot's
    :param age: how many steps ago it was observed
    """

    name: str
    quantity: Quantity
    owner: str | None = None
    age: int = 0

    @property
    def size(self) -> int:
        return len(self.quantity.labels)

    @property
    def key(self) -> tuple[str, str | None, int]:
        return (self.name, self.owner, self.age)

    @property
    def element_names(self) -> list[str]:
        stem = self.name if self.owner is None else f"{self.owner}.{self.name}"
        when = f"[t-{self.age}]" if self.age else ""
        return [f"{stem}{label}{when}" for label in self.quantity.labels]

    def image(self, motion: Motion) -> tuple[str, str | None, int]:
        """The key of the block that the motion carries this one to."""
        if self.owner is None:
            return self.key
        if self.owner in motion.joints:
            return (self.name, motion.joints[self.owner][0], self.age)
        if self.owner in motion.limbs:
            return (self.name, motion.limbs[self.owner], self.age)
        raise ValueError(
            f"transform {motion.transform!r}: nothing says where it moves limb {self.owner!r}; give the limb's "
            f"place (at: [x, y]) or add it under moves:"
        )


@dataclass(frozen=True)
class Scalar:
    """Numbers that no isometry changes: a height, a battery level, a contact."""

    count: int = 1

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",) if self.count == 1 else tuple(f"[{i}]" for i in range(self.count))

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        return np.eye(self.count)


@dataclass(frozen=True)
class Vector:
    """Components of a vector in the body's frame; a pseudovector (a rotation, a spin) turns around in mirrors.

    :param axes: the components that there are, in their order
    """

    axes: tuple[str, ...]
    pseudo: bool = False
    names: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{name}" for name in self.names or self.axes)

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        whole = motion.matrix(f"{block.name!r}")
        if self.pseudo:
            whole = whole * np.round(np.linalg.det(whole))
        rows = ["xyz".index(axis) for axis in self.axes]
        part = whole[np.ix_(rows, rows)]
        if not np.allclose(part @ part.T, np.eye(len(rows)), atol=TOLERANCE):
            raise ValueError(
                f"transform {motion.transform!r} mixes the components {', '.join(self.axes)} of {block.name!r} "
                "with components that the layout does not have; it is no symmetry of these observations"
            )
        return part


@dataclass(frozen=True)
class Quaternion:
    """The body's orientation as a unit quaternion.

    The symmetric orientation is M R M^-1, for rotations and for reflections M alike: the scalar part stays, the
    vector part is a pseudovector.

    :param order: ``"wxyz"`` or ``"xyzw"``
    """

    order: str

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f".{letter}" for letter in self.order)

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        turned = motion.matrix(f"{block.name!r}")
        whole = np.eye(4)  # as wxyz
        whole[1:, 1:] = turned * np.round(np.linalg.det(turned))
        places = ["wxyz".index(letter) for letter in self.order]
        return whole[np.ix_(places, places)]


@dataclass(frozen=True)
class JointValue:
    """A position, velocity, torque or command of one joint.

    :param unsigned: whether it keeps its sign where the joint's turns (a temperature, the cosine of an angle)
    """

    unsigned: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return ("",)

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        assert block.owner is not None
        sign = 1.0 if self.unsigned else motion.joints[block.owner][1]
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

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        if block.owner is not None:
            return np.eye(len(self.parts))
        if motion.phase is None:
            raise ValueError(
                f"transform {motion.transform!r}: say what becomes of the clock {block.name!r}: phase: half "
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

    def matrix(self, motion: Motion, block: Block) -> FloatArray:
        whole = motion.matrix(f"{block.name!r}")
        error = ValueError(
            f"transform {motion.transform!r} carries points of the height map {block.name!r} to where it has "
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


def read_fields(where: str, items: Any, body: Body) -> list[Block]:
    """The blocks of a list of fields, in their order."""
    if not isinstance(items, list) or not items:
        raise ValueError(f"{where}: expected a list of fields, such as - height: scalar, got {items!r}")
    blocks: list[Block] = []
    for item in items:
        if isinstance(item, Mapping) and "fields" in item:
            check_keys(where, item, ("history", "newest", "fields"))
            blocks += _repeated(where, read_fields(where, item["fields"], body), item)
            continue
        if not isinstance(item, Mapping) or len(item) != 1 or not isinstance(next(iter(item)), str):
            raise ValueError(f"{where}: a field is written as - name: kind, got {item!r}")
        ((name, spec),) = item.items()
        blocks += _read_field(f"{where}, field {name!r}", name, spec, body)
    return blocks


def _read_field(where: str, name: str, spec: Any, body: Body) -> list[Block]:
    if isinstance(spec, str):
        spec = {spec: None}
    check_keys(where, spec, (*_KINDS, "joint", "contact", *OPTIONS))
    kinds = [key for key in spec if key not in OPTIONS]
    if len(kinds) != 1:
        raise ValueError(f"{where}: give one kind among {', '.join((*_KINDS, 'joint', 'contact'))}")
    kind = kinds[0]
    value = spec[kind]
    if kind == "joint":
        names = ["value"] if value is None else value if isinstance(value, list) else [value]
        unsigned = spec.get("unsigned", False)
        blocks = [
            Block(str(quantity), JointValue(bool(unsigned)), owner)
            for owner in body.select(where, spec.get("of"), "joints")
            for quantity in names
        ]
    elif kind == "contact":
        if value is not None and "of" in spec:
            raise ValueError(f"{where}: name the limbs after contact: or after of:, not both")
        limbs = body.select(where, value if value is not None else spec.get("of"), "limbs")
        blocks = [Block("contact", Scalar(), limb) for limb in limbs]
    else:
        try:
            quantity = _KINDS[kind](value)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{where}: {_EXPECTED[kind]}, got {value!r}") from error
        owners = body.select(where, spec["of"], "limbs") if "of" in spec else [None]
        blocks = [Block(name, quantity, owner) for owner in owners]
    if "unsigned" in spec and kind != "joint":
        raise ValueError(f"{where}: unsigned belongs to joint values only")
    return _repeated(where, blocks, spec) if "history" in spec else blocks


def _repeated(where: str, blocks: list[Block], spec: Mapping[str, Any]) -> list[Block]:
    steps, newest = spec.get("history"), spec.get("newest", "last")
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"{where}: history is the number of time steps, got {steps!r}")
    if newest not in ("first", "last"):
        raise ValueError(f"{where}: newest is first or last, got {newest!r}")
    ages = range(steps) if newest == "first" else range(steps - 1, -1, -1)
    return [replace(block, age=block.age + age) for age in ages for block in blocks]


def _scalar(value: Any) -> Scalar:
    count = 1 if value is None else int(value)
    if count < 1:
        raise ValueError
    return Scalar(count)


def _axes(value: Any, allowed: Any) -> tuple[str, ...]:
    axes = tuple(allowed) if value is None else tuple(value)
    if not axes or len(set(axes)) < len(axes) or not set(axes) <= set(allowed):
        raise ValueError
    return axes


def _angles(value: Any) -> Vector:
    names = _axes(value, ANGLES)
    return Vector(tuple(ANGLES[name] for name in names), pseudo=True, names=names)


def _quaternion(value: Any) -> Quaternion:
    if value not in ("wxyz", "xyzw"):
        raise ValueError
    return Quaternion(value)


def _heights(value: Any) -> HeightMap:
    check_keys("heights", value, ("shape", "rows", "columns", "spacing", "centre"))
    rows, columns = value["rows"], value["columns"]
    if {str(rows)[-1], str(columns)[-1]} != {"x", "y"}:
        raise ValueError
    geometry.direction(rows), geometry.direction(columns)
    n, m = value["shape"]
    return HeightMap(
        (int(n), int(m)),
        rows,
        columns,
        tuple(map(float, value.get("spacing", (1, 1)))),  # type: ignore[arg-type]
        tuple(map(float, value.get("centre", (0, 0)))),  # type: ignore[arg-type]
    )


_KINDS: dict[str, Any] = {
    "scalar": _scalar,
    "vector": lambda value: Vector(_axes(value, "xyz")),
    "pseudovector": lambda value: Vector(_axes(value, "xyz"), pseudo=True),
    "angles": _angles,
    "quaternion": _quaternion,
    "phase": lambda value: Clock(_axes(value, ("sin", "cos"))),
    "heights": _heights,
}

_EXPECTED = {
    "scalar": "scalar takes nothing, or how many there are",
    "vector": "vector takes its components in order, such as [x, y, z]",
    "pseudovector": "pseudovector takes its components in order, such as [x, y, z]",
    "angles": "angles takes roll, pitch and yaw, or some of them, in order",
    "quaternion": "quaternion takes the order of its parts, wxyz or xyzw",
    "phase": "phase takes [sin, cos] in their order",
    "heights": "heights takes {shape: [rows, columns], rows: x, columns: y} with the directions of the grid",
}
