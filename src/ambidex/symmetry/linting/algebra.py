"""The multiplication tables of a set of transforms, one per side, and where they contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.group import IDENTITY
from ambidex.symmetry.maps import DictMap, LinearMap, as_simple_as_possible
from ambidex.symmetry.transform import Symmetry

ACTION, BODY = "action", "body"
LARGEST_CLOSURE = 256  # a search for hidden contradictions ends here

Sides = dict[str, LinearMap]
Parts = dict[str, Sides]


def parts_of(symmetries: Iterable[Symmetry]) -> Parts:
    """Each transform's maps by side: observation (or one per key of a Dict observation) and action.

    Where every transform knows how it moves the robot's body, that is a side too: a wrong joint map is
    wrong in observations and actions alike, and only the body contradicts it.
    """
    symmetries = list(symmetries)
    parts: Parts = {}
    for symmetry in symmetries:
        observation = symmetry.observation_map
        if isinstance(observation, DictMap):
            sides: Sides = {f"observation[{key}]": part for key, part in observation.maps.items()}
        else:
            sides = {"observation": observation}
        parts[symmetry.name] = {**sides, ACTION: symmetry.action_map}
    if all(symmetry.isometry is not None for symmetry in symmetries):
        for symmetry in symmetries:
            parts[symmetry.name][BODY] = as_simple_as_possible(np.array(symmetry.isometry))
    return parts


def telling_sides(parts: Parts) -> list[tuple[str, ...]]:
    """The sides, or sides together, that tell transforms apart: what is so on them is so on all the others.

    The body tells. Where it is not known, the whole observation does, and so does the action. One key of a
    Dict observation, or choices, may do the same under different transforms: a half turn does nothing to the
    tensor xx, yy, zz.
    """
    sides = list(next(iter(parts.values())))
    if BODY in sides and _always_acts((BODY,), parts):
        return [(BODY,)]
    telling = [tuple(side for side in sides if side not in (ACTION, BODY))]
    if not any(isinstance(maps[ACTION], ChoiceMap) for maps in parts.values()):
        telling.append((ACTION,))
    return telling


def _always_acts(group: tuple[str, ...], parts: Parts) -> bool:
    """Whether every transform that does anything does something on these sides."""
    return not any(
        all(maps[side].is_identity for side in group) and not all(part.is_identity for part in maps.values())
        for maps in parts.values()
    )


def orders(sides: Sides) -> dict[str, int | None]:
    """The order of each side that is not the identity."""
    return {side: part.order for side, part in sides.items() if not part.is_identity}


def orders_differ(sides: Sides, telling: list[tuple[str, ...]]) -> bool:
    """Whether a side is not back at the identity when one that tells is; sides without order are left out."""
    known = {side: order for side, order in orders(sides).items() if order is not None}
    wholes = [math.lcm(*(known[side] for side in group if side in known)) for group in telling]
    return any(whole % order for whole in wholes if whole > 1 for order in known.values())


@dataclass(frozen=True)
class Product:
    """``first @ second`` where the sides do not agree on what it is.

    :param claims: per side, the elements that the product equals there (none: it leaves the set)
    """

    first: str
    second: str
    claims: dict[str, frozenset[str]]

    @property
    def elements(self) -> set[str]:
        named = {self.first, self.second, *(name for names in self.claims.values() for name in names)}
        return named - {IDENTITY}

    def __str__(self) -> str:
        words = [
            f"{' or '.join(repr(n) for n in sorted(names)) if names else 'no given transform'} on the {side}"
            for side, names in self.claims.items()
        ]
        return f"{self.first!r} after {self.second!r} is {', but '.join(words)}."


def contradictions(parts: Parts, is_closed: bool) -> list[Product]:
    """The products on which the sides disagree or, in a set that claims to be a group, that leave it."""
    telling = telling_sides(parts)
    known: dict[str, dict[object, set[str]]] = {}
    sides = list(next(iter(parts.values())))
    for side in sides:
        known[side] = {}
        for name, maps in parts.items():
            known[side].setdefault(maps[side].key, set()).add(name)
    broken = []
    for first, left in parts.items():
        for second, right in parts.items():
            claims = {}
            for side in sides:
                product = left[side] @ right[side]
                names = set(known[side].get(product.key, ()))
                if product.is_identity:
                    names.add(IDENTITY)
                claims[side] = frozenset(names)
            agreed = frozenset.intersection(*claims.values())
            told = any(frozenset.intersection(*(claims[side] for side in group)) for group in telling)
            if not agreed and (is_closed or told):
                broken.append(Product(first, second, claims))
    return broken


def hidden_contradiction(parts: Parts) -> str | None:
    """A product that is the identity on a side that tells but not on all, if the set's own say too little.

    Closes the set; the word of the first such product is returned. Sides on which some given transform does
    nothing tell less than the others by design and are not asked.
    """
    telling = [group for group in telling_sides(parts) if _always_acts(group, parts)]
    seen: set[object] = set()
    newest = list(parts.items()) if telling else []
    while newest:
        previous, newest = newest, []
        for word, maps in previous:
            key = tuple(part.key for part in maps.values())
            if key in seen:
                continue
            seen.add(key)
            identities = {side for side, part in maps.items() if part.is_identity}
            if len(identities) < len(maps) and any(identities.issuperset(group) for group in telling):
                return word
            if len(seen) > LARGEST_CLOSURE:
                return None
            for name, factor in parts.items():
                newest.append((f"{word}*{name}", {side: part @ factor[side] for side, part in maps.items()}))
    return None
