"""Things that are chosen by name, to which a user may add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from ambidex.common.words import suggestion


class Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Registry(Generic[Entry]):
    """Entries by name, in the order in which they were registered.

    :param kind: what an entry is called in errors
    """

    def __init__(self, kind: str, entries: Iterable[Entry] = ()) -> None:
        self._kind = kind
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self.register(entry)

    def register(self, entry: Entry) -> None:
        """Add an entry; its name must be new."""
        if entry.name in self._entries:
            raise ValueError(f"there is a {self._kind} {entry.name!r} already; give this one another name")
        self._entries[entry.name] = entry

    def remove(self, name: str) -> None:
        """Take an entry out again."""
        del self._entries[name]

    def get(self, name: str) -> Entry:
        if name not in self._entries:
            hint = suggestion(name, self._entries) or f"; there are {', '.join(self._entries)}"
            raise ValueError(f"no {self._kind} {name!r}{hint}")
        return self._entries[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())
