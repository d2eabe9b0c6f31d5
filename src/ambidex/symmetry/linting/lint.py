"""`lint`: what is wrong with a description, found by algebra alone, and the smallest change that repairs it.

A robot's transforms form a group, and f on observations and g on actions are two pictures of it: whenever
one transform of the body after another is a third, so it is in f and in g. Where the body is not known, f
and g are held against each other. A wrong sign or index breaks this, mostly in many products at once; `lint`
looks for the one table whose repair explains them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambidex.symmetry.files.foreign import parse_any
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.layout.quantities import Unknown
from ambidex.symmetry.linting import repair
from ambidex.symmetry.linting.against import hold_against
from ambidex.symmetry.linting.algebra import (
    BODY,
    Parts,
    contradictions,
    hidden_contradiction,
    orders,
    orders_differ,
    parts_of,
    telling_sides,
)
from ambidex.symmetry.linting.naming import Naming
from ambidex.symmetry.linting.spaces import space_findings
from ambidex.symmetry.linting.suspicion import suspicious_fields
from ambidex.symmetry.transform import Kind

if TYPE_CHECKING:
    import gymnasium

MOST_SHOWN = 8  # contradictions listed one by one where no single repair explains them


def lint(group: SymmetryGroup, env: gymnasium.Env[Any, Any] | None = None) -> list[Finding]:
    """Everything wrong or suspicious in a group of transforms; an empty list if nothing is.

    :param group: the transforms to check
    :param env: also check the sizes and bounds of this environment's spaces
    """
    parts = parts_of(group)
    found = [*_redundant_elements(parts), *_algebra(group, parts)]
    found += suspicious_fields(group)
    if env is not None:
        name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        found += space_findings(group, env.observation_space, env.action_space, name)
    return found


def lint_file(
    description: str | Path,
    env: gymnasium.Env[Any, Any] | None = None,
    *,
    robot: SymmetryGroup | None = None,
    trust: bool = False,
) -> list[Finding]:
    """`lint` for a file or a catalog name; tables that make no transform at all are findings too.

    What is wrong with generators is found in them, before it is in all their products.

    :param description: also a mirror as other code writes it: a file of Cassie-style lists, of cusrl's tables
        or of the paper's authors, or ``module:function``
    :param robot: hold the description against this group, which is trusted
    :param trust: whether to run ``module:function``
    """
    parsed = parse_any(description, robot, trust=trust)
    found = parsed.findings() or list(_unknown_fields(parsed.layout))
    if robot is not None and not found:
        found = hold_against(parsed, robot)
    if parsed.generate and not found:
        found = lint(parsed.given())
    return found or lint(parsed.group(), env)


def _unknown_fields(layout: Layout | None) -> Iterator[Finding]:
    for side, blocks in ({} if layout is None else layout.blocks_by_side).items():
        element = 0
        for block in blocks:
            if isinstance(block.quantity, Unknown):
                yield Finding(
                    "not-said",
                    f"nobody has said what the {block.size} elements of {block.name!r} are.",
                    side=side,
                    element=element,
                    fix=f"replace unknown: {block.size} by what they are",
                )
            element += block.size


def _redundant_elements(parts: Parts) -> Iterator[Finding]:
    names = list(parts)
    for name in names:
        if all(part.is_identity for part in parts[name].values()):
            yield Finding(
                "identity",
                "changes nothing; the identity is not an element to learn from.",
                transform=name,
                fix=f"remove {name!r}",
            )
    for position, name in enumerate(names):
        for other in names[:position]:
            if parts[name] == parts[other]:
                yield Finding(
                    "duplicate", f"does the same as {other!r}.", transform=name, fix=f"remove {name!r}"
                )


def _algebra(group: SymmetryGroup, parts: Parts) -> list[Finding]:
    """Orders and products; where one repaired table explains everything, only that is reported."""
    kinds = {symmetry.name: symmetry.kind for symmetry in group}
    found = [*_order_findings(parts, kinds), *_product_findings(parts, group.is_closed)]
    if not found:
        return []
    repairs = [_named(one, group) for one in repair.find(parts, group.is_closed)]
    if not repairs:
        more = len(found) - MOST_SHOWN
        return found[:MOST_SHOWN] + (
            [Finding("more", f"and {more} more contradictions.")] if more > 0 else []
        )
    reason = found[0].message
    if len(found) > 1:
        reason += f" It is one of {len(found)} contradictions that this table explains."
    return [repairs[0].finding(reason) if len(repairs) == 1 else _one_of(repairs, reason)]


def _named(one: repair.Repair, group: SymmetryGroup) -> repair.Repair:
    """In the description's words where it has some and its table is as large as they say."""
    if group.layout is None:
        return one
    naming = Naming.of(group.layout, one.side, group[one.transform].isometry)
    return replace(one, naming=naming) if len(naming.names) == one.given.size else one


def _one_of(repairs: list[repair.Repair], reason: str) -> Finding:
    first = repairs[0]
    same_table = all((r.transform, r.side) == (first.transform, first.side) for r in repairs)
    listed = [r.fix for r in repairs[: repair.MOST_ALTERNATIVES]]
    if len(repairs) > len(listed):
        listed.append(f"make one of {len(repairs) - len(listed)} more changes that are as small")
    return Finding(
        "wrong-table",
        reason,
        transform=first.transform if same_table else None,
        side=first.side if same_table else None,
        element=first.element if same_table else None,
        fix=" or ".join(listed),
    )


def _order_findings(parts: Parts, kinds: dict[str, Kind | None]) -> Iterator[Finding]:
    telling = telling_sides(parts)
    for name, sides in parts.items():
        found = orders(sides)
        for side, order in found.items():
            if order is None:
                yield Finding("no-order", "no power of this map is the identity.", name, side)
            elif order != 2 and kinds[name] == "reflection" and BODY not in sides:
                yield Finding(
                    "orders-differ",
                    f"a reflection undoes itself, but this map has order {order}.",
                    name,
                    side,
                )
        if orders_differ(sides, telling):
            words = ", ".join(f"the {side} after {order}" for side, order in found.items() if order)
            yield Finding(
                "orders-differ",
                f"applied repeatedly, its sides return to the identity at different times: {words}.",
                name,
            )


def _product_findings(parts: Parts, is_closed: bool) -> list[Finding]:
    broken = contradictions(parts, is_closed)
    blamed = Counter(name for product in broken for name in product.elements)
    found = [
        Finding(
            "products-differ" if any(product.claims.values()) else "not-closed",
            str(product),
            transform=max(product.elements, key=lambda name: blamed[name]),
        )
        for product in broken
    ]
    if not found and (word := hidden_contradiction(parts)):
        found.append(
            Finding(
                "products-differ",
                f"{word} is the identity on one side but not on the other, so the sides do not follow the "
                "same multiplication table.",
            )
        )
    return found
