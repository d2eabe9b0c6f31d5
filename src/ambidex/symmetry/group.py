"""`SymmetryGroup`: the transforms of one robot, given or generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ambidex.symmetry.isometry import name_of
from ambidex.symmetry.maps import IndexMap
from ambidex.symmetry.transform import Symmetry

if TYPE_CHECKING:
    from ambidex.symmetry.layout.layout import Layout

LARGEST_GROUP = 1024
IDENTITY = "identity"


class SymmetryGroup:
    """The non-identity symmetries of a robot, in a stable order.

    :param symmetries: exactly these; nothing is added (see `from_generators` for a closed set)
    :param is_closed: whether the set claims to be a whole group, so that `lint` holds it to that
    :param layout: what each observation and action is, where a description by name gave it
    """

    def __init__(
        self,
        symmetries: Sequence[Symmetry],
        *,
        is_closed: bool = False,
        layout: Layout | None = None,
    ) -> None:
        if not symmetries:
            raise ValueError("a symmetry group needs at least one transform")
        self._elements: dict[str, Symmetry] = {}
        first = symmetries[0]
        for symmetry in symmetries:
            if symmetry.name in self._elements:
                raise ValueError(f"two transforms are named {symmetry.name!r}; give each its own name")
            for side in ("observation", "action"):
                size = getattr(symmetry, f"{side}_map").size
                expected = getattr(first, f"{side}_map").size
                if size != expected:
                    raise ValueError(
                        f"transform {symmetry.name!r} acts on {size} {side} elements, "
                        f"but {first.name!r} on {expected}"
                    )
            self._elements[symmetry.name] = symmetry
        self._names_by_key = {symmetry.key: symmetry.name for symmetry in reversed(symmetries)}
        self.is_closed = is_closed
        self.layout = layout

    @classmethod
    def from_generators(
        cls,
        generators: Sequence[Symmetry],
        *,
        names: Mapping[str, str] | None = None,
        layout: Layout | None = None,
    ) -> SymmetryGroup:
        """All products of the generators, the identity left out.

        A product is named after its isometry where that is known (``r180``, ``y=x``), otherwise after the
        shortest way to it: ``a^2``, ``a*b``.

        :param generators: a few transforms from which all others follow
        :param names: a better name for a product, by the name that it would have
        """
        cls(generators)  # the same checks of names and sizes
        for generator in generators:
            _check_returns(generator)
        by_key: dict[tuple[Any, ...], tuple[tuple[str, ...], Symmetry]] = {}
        for generator in generators:
            if not generator.is_identity:
                by_key.setdefault(generator.key, ((generator.name,), generator))
        newest = list(by_key.values())
        while newest:
            previous, newest = newest, []
            for word, element in previous:
                for generator in generators:
                    product = element @ generator
                    if product.is_identity or product.key in by_key:
                        continue
                    entry = ((*word, generator.name), product)
                    by_key[product.key] = entry
                    newest.append(entry)
                    if len(by_key) >= LARGEST_GROUP:
                        raise ValueError(
                            f"the generators {[g.name for g in generators]} give more than {LARGEST_GROUP} "
                            "elements; they do not belong to one finite group (lint each of them)"
                        )
        elements = _named(list(by_key.values()))
        if names:
            unknown = set(names) - {element.name for element in elements}
            if unknown:
                raise ValueError(
                    f"no product is called {sorted(unknown)}; "
                    f"the products are {[element.name for element in elements]}"
                )
            elements = [element.renamed(names.get(element.name, element.name)) for element in elements]
        return cls(elements, is_closed=True, layout=layout)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._elements)

    @property
    def observation_size(self) -> int | dict[str, int]:
        """The number of observations; for Dict observations the number for each key."""
        return next(iter(self)).observation_map.size

    @property
    def action_size(self) -> int:
        return next(iter(self)).action_map.size

    def find(self, symmetry: Symmetry) -> str | None:
        """The name of the element that does the same, ``"identity"``, or None if it is not in the group."""
        if symmetry.is_identity:
            return IDENTITY
        return self._names_by_key.get(symmetry.key)

    def multiplication_table(self) -> dict[tuple[str, str], str | None]:
        """``table[a, b]`` names ``a @ b``: an element, the identity, or None where it leaves the set."""
        return {(a.name, b.name): self.find(a @ b) for a in self for b in self}

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Symmetry]:
        return iter(self._elements.values())

    def only(self, names: Iterable[str]) -> SymmetryGroup:
        """Exactly these transforms of the group."""
        return SymmetryGroup([self[name] for name in names], layout=self.layout)

    def __getitem__(self, name: str) -> Symmetry:
        try:
            return self._elements[name]
        except KeyError:
            raise KeyError(f"no transform {name!r}; there are {', '.join(self.names)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._elements

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SymmetryGroup):
            return NotImplemented
        return self._elements == other._elements

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        closed = "closed" if self.is_closed else "not closed"
        return (
            f"<SymmetryGroup of {len(self)} ({closed}): {', '.join(self.names)}; "
            f"{self.observation_size} observations, {self.action_size} actions>"
        )


def _check_returns(generator: Symmetry) -> None:
    """A transform that never returns to the identity generates without end; say which element makes it so."""
    if generator.order is not None:
        return
    reason = "no power of it up to 1024 is the identity"
    for side, part in (("observation", generator.observation_map), ("action", generator.action_map)):
        if isinstance(part, IndexMap) and part.order is None:
            for cycle in part.cycles():
                product = float(part.multipliers[cycle].prod())
                if abs(abs(product) - 1) > 1e-9 * len(cycle):
                    way = " -> ".join(map(str, [*cycle, cycle[0]]))
                    reason = (
                        f"its {side} multipliers around {way} have the product {product:g}; "
                        "make that product 1 or -1"
                    )
                    break
    raise ValueError(f"transform {generator.name!r} never returns to the identity: {reason}")


def _named(products: list[tuple[tuple[str, ...], Symmetry]]) -> list[Symmetry]:
    taken = {word[0] for word, _ in products if len(word) == 1}
    elements = []
    for word, element in products:
        name = _spell(word)
        if len(word) > 1 and element.isometry is not None:
            geometric = name_of(element.isometry)
            if geometric is not None and geometric not in taken:
                name = geometric
                taken.add(name)
        elements.append(element.renamed(name))
    return elements


def _spell(word: tuple[str, ...]) -> str:
    """``("r90", "r90", "xz")`` as ``r90^2*xz``."""
    runs: list[tuple[str, int]] = []
    for name in word:
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return "*".join(name if count == 1 else f"{name}^{count}" for name, count in runs)
