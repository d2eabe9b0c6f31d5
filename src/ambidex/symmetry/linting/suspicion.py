"""Tables against a layout: what is sound as algebra, but odd for what the elements are said to be."""

from __future__ import annotations

from collections.abc import Iterator

from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.layout.quantities import Scalar
from ambidex.symmetry.linting.algebra import BODY, parts_of
from ambidex.symmetry.linting.limits import contrary_limits
from ambidex.symmetry.linting.naming import Naming
from ambidex.symmetry.linting.repair import Repair
from ambidex.symmetry.maps import IndexMap, LinearMap
from ambidex.symmetry.transform import Symmetry


def suspicious_fields(group: SymmetryGroup) -> Iterator[Finding]:
    """Where a group's tables say something else than its layout."""
    layout = group.layout
    if layout is None:
        return
    for symmetry in group:
        sizes = list(_other_sizes(layout, symmetry))
        if sizes:
            yield from sizes
            continue
        yield from contrary_limits(layout, symmetry)
        expected = _by_layout(layout, symmetry)
        if expected is not None:
            yield from _differences(layout, symmetry, expected)
            continue
        yield from _odd_readings(layout, symmetry)
        yield from _joints_unlike_their_actuators(layout, symmetry)


def _other_sizes(layout: Layout, symmetry: Symmetry) -> Iterator[Finding]:
    given = next(iter(parts_of([symmetry]).values()))
    wanted = {side: sum(block.size for block in blocks) for side, blocks in layout.blocks_by_side.items()}
    for side, size in wanted.items():
        found = given[side].size if side in given else 0
        if found != size:
            yield Finding(
                "size",
                f"acts on {found} elements, the layout has {size}.",
                symmetry.name,
                side,
                fix="correct the table or the layout",
            )


def _by_layout(layout: Layout, symmetry: Symmetry) -> Symmetry | None:
    """What the layout makes of the transform's isometry; None if that does not say everything."""
    if symmetry.isometry is None:
        return None
    for phase in (None, "same", "half"):
        try:
            expected = layout.symmetry(symmetry.name, symmetry.isometry, phase=phase)
        except ValueError:
            continue
        if phase is None or expected == symmetry:
            return expected
    return None


def _differences(layout: Layout, symmetry: Symmetry, expected: Symmetry) -> Iterator[Finding]:
    given, wanted = (next(iter(parts_of([s]).values())) for s in (symmetry, expected))
    for side, part in given.items():
        if side == BODY or not isinstance(part, IndexMap) or not part.is_signed_permutation:
            continue  # a known imperfection is not the layout's matter
        naming = Naming.of(layout, side, symmetry.isometry)
        repair = Repair(symmetry.name, side, part, wanted[side], naming)
        if repair.changed:
            yield repair.finding("The layout and the transform's isometry say so.")


def _odd_readings(layout: Layout, symmetry: Symmetry) -> Iterator[Finding]:
    sides = next(iter(parts_of([symmetry]).values()))
    for side, blocks in layout.blocks_by_side.items():
        part = sides[side]
        if not isinstance(part, IndexMap):
            continue
        elements = [(block, name) for block in blocks for name in block.element_names]
        for element, (block, name) in enumerate(elements):
            source, source_name = elements[part.indices[element]]
            if (source.name, source.age) != (block.name, block.age):
                yield Finding(
                    "another-quantity",
                    f"{name!r} is read from {source_name!r}, another quantity.",
                    symmetry.name,
                    side,
                    element,
                )
            elif _joint_kind(block.owner) != _joint_kind(source.owner):
                yield Finding(
                    "another-joint",
                    f"{name!r} is read from {source_name!r}, a joint of another kind.",
                    symmetry.name,
                    side,
                    element,
                )
            elif isinstance(block.quantity, Scalar) and part.multipliers[element] < 0:
                yield Finding(
                    "scalar-flips",
                    f"{name!r} is a scalar, which no symmetry of the body turns around.",
                    symmetry.name,
                    side,
                    element,
                    f"{name} is a scalar (flip the multiplier of {side} {element} in {symmetry.name})",
                )


def _joint_kind(owner: str | None) -> str | None:
    """``hip`` of ``leg_0.hip``; limbs and joints that belong to no limb have no kind."""
    return owner.partition(".")[2] or None if owner else None


def _joints_unlike_their_actuators(layout: Layout, symmetry: Symmetry) -> Iterator[Finding]:
    """A joint's position and velocity follow the joint, and so does the action that drives it."""
    action = symmetry.action_map
    actuators = layout.actuators
    if not isinstance(action, IndexMap) or len(actuators) != action.size:
        return
    sides = next(iter(parts_of([symmetry]).values()))
    for element, actuator in enumerate(actuators):
        partner = actuators[action.indices[element]]
        side = (
            "observation" if actuator.observation_key is None else f"observation[{actuator.observation_key}]"
        )
        for index, source in (
            (actuator.position_index, partner.position_index),
            (actuator.velocity_index, partner.velocity_index),
        ):
            if index is None or source is None:
                continue
            found = _reading(sides[side], index)
            expected = (source, action.multipliers[element] > 0)
            if found is not None and found != expected:
                sign = "+" if expected[1] else "-"
                yield Finding(
                    "joint-unlike-actuator",
                    f"joint {actuator.joint!r} follows {partner.joint!r} as an action, "
                    f"so this should read {sign}{source}.",
                    symmetry.name,
                    side,
                    index,
                )


def _reading(part: LinearMap, element: int) -> tuple[int, bool] | None:
    """Which element it reads, and whether with a positive sign."""
    if not isinstance(part, IndexMap):
        return None
    return int(part.indices[element]), bool(part.multipliers[element] > 0)
