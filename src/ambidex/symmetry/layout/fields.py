"""The fields of a layout, read into blocks.

A block is one quantity of one owner (the robot, a limb, a joint) at one time. A transform carries it to the
same quantity of the owner's partner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ambidex.common.words import check_keys, read_flag
from ambidex.symmetry import isometry as geometry
from ambidex.symmetry.layout.body import Body, Motion, read_limits
from ambidex.symmetry.layout.quantities import (
    ANGLES,
    Clock,
    Contact,
    HeightMap,
    JointValue,
    Quantity,
    Quaternion,
    Scalar,
    Tensor,
    Unknown,
    Vector,
)

Key = tuple[str, str | None, int]
OPTIONS = ("of", "history", "newest")
JOINT_OPTIONS = ("unsigned", "limits")
MOST_ELEMENTS = 10_000  # images are no matter of index tables


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
    def key(self) -> Key:
        return (self.name, self.owner, self.age)

    @property
    def element_names(self) -> list[str]:
        stem = self.name if self.owner is None else f"{self.owner}.{self.name}"
        when = f"[t-{self.age}]" if self.age else ""
        return [f"{stem}{label}{when}" for label in self.quantity.labels]

    def image(self, motion: Motion) -> Key:
        """The key of the block that the motion carries this one to."""
        if self.owner is None:
            return self.key
        if self.owner in motion.joints:
            return (self.name, motion.joints[self.owner][0], self.age)
        if self.owner in motion.limbs:
            return (self.name, motion.limbs[self.owner], self.age)
        raise ValueError(
            f"transform {motion.transform!r}: nothing says where it moves limb {self.owner!r}; "
            "give the limb's place (at: [x, y]) or add it under moves:"
        )


def read_fields(where: str, items: Any, body: Body) -> list[Block]:
    """The blocks of a list of fields, in their order; no two may be the same."""
    blocks = _with_contacts_named(_read_list(where, items, body))
    size = sum(block.size for block in blocks)
    if size > MOST_ELEMENTS:
        raise ValueError(f"{where}: {size} elements are more than the {MOST_ELEMENTS} that a layout may have")
    seen: set[Key] = set()
    for block in blocks:
        if block.key in seen:
            raise ValueError(
                f"{where}: {block.element_names[0]!r} is given twice; give one of them another name "
                "(for joints another quantity, such as joint: previous_action)"
            )
        seen.add(block.key)
    return blocks


def _with_contacts_named(blocks: list[Block]) -> list[Block]:
    """A limb's contact is called ``contact``; where a limb has several, each is called after its field."""
    alike = [
        replace(block, name="contact") if isinstance(block.quantity, Contact) else block for block in blocks
    ]
    return alike if len({block.key for block in alike}) == len(alike) else blocks


def _read_list(where: str, items: Any, body: Body) -> list[Block]:
    if not isinstance(items, list) or not items:
        raise ValueError(f"{where}: expected a list of fields, such as - height: scalar, got {items!r}")
    blocks: list[Block] = []
    for item in items:
        if isinstance(item, Mapping) and "fields" in item:
            blocks += _read_fields_together(where, item, body)
        elif isinstance(item, Mapping) and len(item) == 1 and isinstance(next(iter(item)), str):
            ((name, spec),) = item.items()
            blocks += _read_field(f"{where}, field {name!r}", name, spec, body)
        else:
            raise ValueError(f"{where}: a field is written as - name: kind, got {item!r}")
    return blocks


def _read_fields_together(where: str, item: Mapping[str, Any], body: Body) -> list[Block]:
    """Several fields that repeat, limb by limb, step by step, or both."""
    check_keys(where, item, (*OPTIONS, "fields"))
    blocks = _read_list(where, item["fields"], body)
    if "of" in item:
        owned = next((block for block in blocks if block.owner is not None), None)
        if owned is not None:
            raise ValueError(
                f"{where}: {owned.element_names[0]!r} has an owner already; name it after of: only once"
            )
        limbs = body.select(where, item["of"], "limbs")
        blocks = [replace(block, owner=limb) for limb in limbs for block in blocks]
    elif "history" not in item:
        raise ValueError(f"{where}: say how the fields repeat, by of: (per limb) or history: (per step)")
    return _repeated(where, blocks, item)


def _read_field(where: str, name: str, spec: Any, body: Body) -> list[Block]:
    kinds = (*_QUANTITIES, "joint", "contact")
    spec = {spec: None} if isinstance(spec, str) else spec
    check_keys(where, spec, (*kinds, *OPTIONS, *JOINT_OPTIONS))
    given = [key for key in spec if key in kinds]
    if len(given) != 1:
        raise ValueError(f"{where}: give one kind among {', '.join(kinds)}")
    kind, value, of = given[0], spec[given[0]], spec.get("of")
    if kind != "joint" and any(option in spec for option in JOINT_OPTIONS):
        raise ValueError(f"{where}: {' and '.join(JOINT_OPTIONS)} belong to joint values only")
    if kind == "joint":
        limits = read_limits(where, spec.get("limits"))
        quantity: Quantity = JointValue(read_flag(where, spec, "unsigned"), limits)
        names = [name] if value is None else value if isinstance(value, list) else [value]
        owners = body.select(where, of, "joints")
        blocks = [Block(str(each), quantity, owner) for owner in owners for each in names]
    elif kind == "contact":
        if value is not None:
            raise ValueError(f"{where}: contact takes nothing; name the limbs after of:")
        blocks = [Block(name, Contact(), owner) for owner in body.select(where, of, "limbs")]
    else:
        read, expected = _QUANTITIES[kind]
        try:
            quantity = read(value)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{where}: {kind} takes {expected}, got {value!r}") from None
        limbs = [None] if of is None else body.select(where, of, "limbs")
        blocks = [Block(name, quantity, limb) for limb in limbs]
    return _repeated(where, blocks, spec)


def _repeated(where: str, blocks: list[Block], spec: Mapping[str, Any]) -> list[Block]:
    if "history" not in spec:
        if "newest" in spec:
            raise ValueError(f"{where}: newest goes with history, the number of time steps; add history: 5")
        return blocks
    steps, newest = spec["history"], spec.get("newest", "last")
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MOST_ELEMENTS:
        raise ValueError(f"{where}: history is the number of time steps, got {steps!r}")
    if newest not in ("first", "last"):
        raise ValueError(f"{where}: newest is first or last, got {newest!r}")
    ages = range(steps) if newest == "first" else range(steps - 1, -1, -1)
    return [replace(block, age=block.age * steps + age) for age in ages for block in blocks]


def _scalar(value: Any) -> Scalar:
    count = 1 if value is None else value
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_ELEMENTS:
        raise ValueError
    return Scalar(count)


def _unknown(value: Any) -> Unknown:
    return Unknown(_scalar(value).count)


def _some_of(value: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    chosen = allowed if value is None else tuple(value)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(allowed):
        raise ValueError
    return chosen


def _vector(value: Any) -> Vector:
    return Vector(_some_of(value, ("x", "y", "z")))


def _pseudovector(value: Any) -> Vector:
    return Vector(_some_of(value, ("x", "y", "z")), pseudo=True)


def _tensor(value: Any) -> Tensor:
    return Tensor(_some_of(value, ("xx", "yy", "zz", "xy", "xz", "yz")))


def _angles(value: Any) -> Vector:
    names = _some_of(value, tuple(ANGLES))
    return Vector(tuple(ANGLES[name] for name in names), pseudo=True, names=names)


def _quaternion(value: Any) -> Quaternion:
    if value not in ("wxyz", "xyzw"):
        raise ValueError
    return Quaternion(value)


def _clock(value: Any) -> Clock:
    return Clock(_some_of(value, ("sin", "cos")))


def _heights(value: Any) -> HeightMap:
    check_keys("heights", value, ("shape", "rows", "columns", "spacing", "centre"))
    rows, columns = str(value["rows"]), str(value["columns"])
    n_rows, n_columns = value["shape"]
    between_rows, between_columns = map(geometry.number, value.get("spacing", (1, 1)))
    x, y = map(geometry.number, value.get("centre", (0, 0)))
    if (
        {rows.removeprefix("-"), columns.removeprefix("-")} != {"x", "y"}
        or not all(isinstance(count, int) and 1 <= count <= MOST_ELEMENTS for count in (n_rows, n_columns))
        or min(between_rows, between_columns) <= 0
    ):
        raise ValueError
    return HeightMap((n_rows, n_columns), rows, columns, (between_rows, between_columns), (x, y))


_QUANTITIES: dict[str, tuple[Callable[[Any], Quantity], str]] = {
    "scalar": (_scalar, "nothing, or how many there are"),
    "unknown": (_unknown, "how many elements there are"),
    "vector": (_vector, "its components in order, such as [x, y, z]"),
    "pseudovector": (_pseudovector, "its components in order, such as [x, y, z]"),
    "tensor": (_tensor, "its components in order, such as [xx, yy, zz, xy, xz, yz]"),
    "angles": (_angles, "roll, pitch and yaw, or some of them, in order"),
    "quaternion": (_quaternion, "the order of its parts, wxyz or xyzw"),
    "phase": (_clock, "[sin, cos] in their order"),
    "heights": (_heights, "{shape: [rows, columns], rows: x, columns: y}, with the directions of the grid"),
}
