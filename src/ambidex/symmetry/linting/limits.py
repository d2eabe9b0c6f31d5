"""Joints against their limits: a knee that bends forward is not the image of one that bends back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ambidex.symmetry.findings import Finding
from ambidex.symmetry.layout.fields import Block
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.layout.quantities import JointValue
from ambidex.symmetry.linting.algebra import parts_of
from ambidex.symmetry.maps import TOLERANCE
from ambidex.symmetry.transform import Symmetry

Limits = tuple[float, float]
LITTLE, MUCH = 0.25, 0.5  # of two ranges together; real limits differ a little from side to side


def contrary_limits(layout: Layout, symmetry: Symmetry) -> Iterator[Finding]:
    """Joints that a transform carries to where they cannot be, although they could with the other sign."""
    reported: set[frozenset[str]] = set()
    for (name, partner), (sign, own, theirs) in _carried(layout, symmetry).items():
        image, other = _turned(own, sign), _turned(own, -sign)
        is_contrary = _common(image, theirs) < LITTLE and _common(other, theirs) > MUCH
        if is_contrary and frozenset((name, partner)) not in reported:
            reported.add(frozenset((name, partner)))
            either = f"{name!r} or {partner!r}" if name != partner else repr(name)
            yield Finding(
                "contrary-limits",
                f"joint {name!r} is carried to {partner!r}, where its limits {_text(own)} become "
                f"{_text(image)}, but those of {partner!r} are {_text(theirs)}.",
                symmetry.name,
                fix=f"turn the axis of {either} around (or the sign that moves: or a table gives), "
                "or correct the limits",
            )


def _carried(layout: Layout, symmetry: Symmetry) -> dict[tuple[str, str], tuple[int, Limits, Limits]]:
    """Each joint and the one that it is carried to, with the sign of its value there and both limits."""
    carried: dict[tuple[str, str], tuple[int, Limits, Limits]] = {}
    sides = next(iter(parts_of([symmetry]).values()))
    for side, blocks in layout.blocks_by_side.items():
        elements = [block for block in blocks for _ in range(block.size)]
        matrix = sides[side].matrix
        for row, there in enumerate(elements):
            read = np.flatnonzero(np.abs(matrix[row]) > TOLERANCE)
            here = elements[read[0]]
            limits = _limits(layout, here), _limits(layout, there)
            if len(read) == 1 and here.name == there.name and limits[0] and limits[1]:
                sign = 1 if matrix[row, read[0]] > 0 else -1
                carried.setdefault((str(here.owner), str(there.owner)), (sign, limits[0], limits[1]))
    return carried


def _limits(layout: Layout, block: Block) -> Limits | None:
    """The declared limits of a joint's value that has the joint's sign."""
    joint = layout.body.joints.get(block.owner or "")
    if joint is None or not isinstance(block.quantity, JointValue) or block.quantity.unsigned:
        return None
    return block.quantity.limits or joint.limits


def _turned(limits: Limits, sign: int) -> Limits:
    low, high = sorted(sign * limit for limit in limits)
    return low, high


def _common(one: Limits, other: Limits) -> float:
    """How much of the two ranges together is in both of them."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return max(common, 0.0) / (max(one[1], other[1]) - min(one[0], other[0]))


def _text(limits: Limits) -> str:
    return f"[{limits[0]:.4g}, {limits[1]:.4g}]"
