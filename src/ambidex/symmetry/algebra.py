"""The multiplication tables of a set of transforms, one per side, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ambidex.symmetry.group import IDENTITY
from ambidex.symmetry.maps import DictMap, LinearMap, as_simple_as_possible
from ambidex.symmetry.transform import Symmetry

BODY = "body"
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
        parts[symmetry.name] = {**sides, "action": symmetry.action_map}
    if all(symmetry.isometry is not None for symmetry in symmetries):
        for symmetry in symmetries:
            parts[symmetry.name][BODY] = as_simple_as_possible(np.array(symmetry.isometry))
    return parts


def orders(sides: Sides) -> dict[str, int | None]:
    """The order of each side that is not the identity; in a sound transform they are all the same."""
    return {side: part.order for side, part in sides.items() if not part.is_identity}


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
            if not agreed and (is_closed or any(claims.values())):
                broken.append(Product(first, second, claims))
    return broken


def hidden_contradiction(parts: Parts) -> str | None:
    """A product that is the identity on one side only, for sets whose own products say too little.

    Closes the set; the word of the first such product is returned. A side on which some given transform
    does nothing at all is not faithful by design and is left out.
    """
    sides = [
        side
        for side in next(iter(parts.values()))
        if not any(maps[side].is_identity for maps in parts.values())
    ]
    if len(sides) < 2:
        return None
    seen: dict[object, None] = {}
    newest = [(name, {side: maps[side] for side in sides}) for name, maps in parts.items()]
    while newest:
        previous, newest = newest, []
        for word, maps in previous:
            key = tuple(maps[side].key for side in sides)
            if key in seen:
                continue
            seen[key] = None
            identities = [side for side in sides if maps[side].is_identity]
            if identities and len(identities) < len(sides):
                return word
            if len(seen) > LARGEST_CLOSURE:
                return None
            for name, factor in parts.items():
                newest.append((f"{word}*{name}", {side: maps[side] @ factor[side] for side in sides}))
    return None
