"""The one file format: a description in YAML, by names (a layout and isometries) or as raw tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from ambidex.common import reading
from ambidex.common.escaping import quoted
from ambidex.common.files import write_text
from ambidex.common.words import check_keys, kind_of, read_flag, suggestion
from ambidex.common.yaml import read_yaml, to_yaml
from ambidex.symmetry import isometry as geometry
from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.files.raw_tables import check_tables, read_symmetry, table_of, tables_findings
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.layout import SECTIONS, Layout
from ambidex.symmetry.transform import Symmetry

KEYS = (*SECTIONS, "generators", "transforms", "names", "elements", "group")
BY_NAME = ("isometry", "moves", "phase", "kind")
TABLES = ("observation", "action", "kind", "isometry")


def catalog_names() -> tuple[str, ...]:
    """The descriptions that come with the package; `load` takes them by name."""
    folder = resources.files("ambidex.symmetry") / "catalog"
    return tuple(sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".yaml")))


def catalog_name(env_id: str) -> str | None:
    """What the catalog calls the robot of a Gymnasium id, if it has it; our own ids count without version."""
    space, _, name = env_id.rpartition("/")
    entry = name.lower().rpartition("-")[0] if space == "ambidex" else name.lower()
    return entry if entry in catalog_names() else None


def load(description: str | Path) -> SymmetryGroup:
    """The symmetries that a file, or the catalog under a name such as ``"ant"``, describes.

    :param description: the path of a YAML file, or a name of the catalog
    """
    return parse(description).group()


def save(group: SymmetryGroup, path: str | Path) -> None:
    """Write a group so that `load` gives it back: by names where its layout allows, otherwise as tables."""
    write_text(Path(path), description_text(group))


def description_text(group: SymmetryGroup) -> str:
    """The description that `save` writes."""
    content: dict[str, Any] = dict(group.layout.description) if group.layout else {}
    content["transforms"] = {element.name: _entry_of(element, group.layout) for element in group}
    if group.is_closed:
        content["group"] = True
    return to_yaml(content)


def parse(description: str | Path) -> ParsedDescription:
    """Read a description without building its group, so that `lint` can report all that is wrong in it."""
    where, text = read_text(description)
    content = read_yaml(where, text)
    try:
        return ParsedDescription.from_content(where, content)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


@dataclass(frozen=True)
class ParsedDescription:
    """What a file says.

    :param where: the file, for errors
    :param layout: what the observations and actions are, if the file says so
    :param entries: each transform as the file gives it, by names or as tables
    :param generate: whether the transforms are generators, from which the others follow
    :param names: better names for products of generators
    :param elements: the names of all elements, in the order wanted
    :param is_closed: whether the transforms claim to be a whole group
    """

    where: str
    layout: Layout | None
    entries: dict[str, dict[str, Any]]
    generate: bool
    names: dict[str, str]
    elements: list[str] | None
    is_closed: bool

    @classmethod
    def from_content(cls, where: str, content: Any) -> ParsedDescription:
        if isinstance(content, list):
            raise ValueError(
                "a description has sections, not list items; for a file in the format of the paper's "
                "authors use ambidex.symmetry.files.interop.read_paper_file"
            )
        if content is None:
            raise ValueError(
                "the file is empty; it needs generators: or transforms:, as tables, or as isometries of what "
                "observations: and actions: name (`ambidex derive` writes one from a robot's model)"
            )
        check_keys("description", content, KEYS)
        layout = None
        if "observations" in content or "actions" in content:
            layout = Layout({key: content[key] for key in SECTIONS if key in content})
        given = [key for key in ("generators", "transforms") if content.get(key)]
        if len(given) != 1:
            raise ValueError(
                "a description has either generators: (all products follow) or transforms: (exactly these)"
            )
        generate = given == ["generators"]
        for key in ("names", "elements"):
            if key in content and not generate:
                raise ValueError(f"{key}: goes with generators:, not with transforms:")
        names = content.get("names") or {}
        if not isinstance(names, Mapping):
            raise ValueError(f"names: expected {{product: better name}}, got {kind_of(names)}")
        elements = content.get("elements")
        if elements is not None and not (
            isinstance(elements, list) and all(isinstance(name, str) for name in elements)
        ):
            raise ValueError(f"elements: expected a list of names, got {kind_of(elements)}")
        entries = _read_entries(given[0], content[given[0]], layout)
        return cls(
            where,
            layout,
            entries,
            generate,
            {str(key): str(name) for key, name in names.items()},
            elements,
            read_flag("description", content, "group"),
        )

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The tables of each transform that the file gives: ``{"xz": {"observation": {"indices": ...}}}``."""
        with self._named_errors():
            return {
                name: entry if "action" in entry else table_of(self._by_name(name, entry))
                for name, entry in self.entries.items()
            }

    def findings(self) -> list[Finding]:
        """What is wrong with single tables, each on its own."""
        given = {name: entry for name, entry in self.entries.items() if "action" in entry}
        return [finding for name, entry in given.items() for finding in tables_findings(name, entry)]

    def group(self) -> SymmetryGroup:
        """Build the group; every broken table is named in one ValueError."""
        given = self.given()
        with self._named_errors():
            return self._generated(given) if self.generate else given

    def given(self) -> SymmetryGroup:
        """Exactly the transforms that the file names, without the products of its generators."""
        findings = self.findings()
        if findings:
            raise ValueError("\n".join(f"{self.where}: {finding}" for finding in findings))
        with self._named_errors():
            symmetries = [
                read_symmetry(name, entry) if "action" in entry else self._by_name(name, entry)
                for name, entry in self.entries.items()
            ]
            is_closed = self.is_closed and not self.generate
            return SymmetryGroup(symmetries, is_closed=is_closed, layout=self.layout)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}") from None

    def _generated(self, generators: SymmetryGroup) -> SymmetryGroup:
        group = SymmetryGroup.from_generators(list(generators), names=self.names, layout=self.layout)
        if self.elements is None:
            return group
        if sorted(self.elements) != sorted(group.names):
            raise ValueError(
                f"elements: lists {', '.join(map(str, self.elements))}, "
                f"but the generators give {', '.join(group.names)}"
            )
        return SymmetryGroup([group[name] for name in self.elements], is_closed=True, layout=self.layout)

    def _by_name(self, name: str, entry: dict[str, Any]) -> Symmetry:
        assert self.layout is not None
        given = entry.get("isometry")
        try:
            isometry = None if given is None else geometry.from_description(given)
        except ValueError as error:
            raise ValueError(f"transform {name!r}: {error}") from None
        return self.layout.symmetry(
            name, isometry, moves=entry.get("moves"), phase=entry.get("phase"), kind=entry.get("kind")
        )


def read_text(description: str | Path) -> tuple[str, str]:
    """A name for errors and the text of a file, or of the catalog's entry of that name."""
    path = Path(description)
    if isinstance(description, str) and not path.suffix and not path.is_file():
        known = catalog_names()
        if description not in known:
            raise ValueError(
                f"no file and no catalog entry is called {description!r}{suggestion(description, known)}"
                f" (the catalog has {', '.join(known)})"
            )
        file = resources.files("ambidex.symmetry") / "catalog" / f"{description}.yaml"
        return f"catalog {description!r}", file.read_text(encoding="utf-8")
    if not path.exists() and path.stem in catalog_names():
        raise ValueError(
            f"there is no file {str(path)!r}, but the catalog has {path.stem!r}; give that name, without "
            f"{path.suffix}"
        )
    if not path.exists():
        beside = [str(file) for file in path.parent.glob(f"*{path.suffix}")]
        meant = suggestion(path, beside) or suggestion(path.stem, catalog_names())
        hint = meant or "; give a description's file or a name of the catalog, such as ant"
        raise FileNotFoundError(f"there is no file {path}{hint}")
    return str(path), reading.read_text(path)


def _read_entries(section: str, given: Any, layout: Layout | None) -> dict[str, dict[str, Any]]:
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        given = {name: name for name in given}
    if not isinstance(given, Mapping):
        raise ValueError(f"{section}: expected the transforms by name, got {kind_of(given)}")
    entries = {}
    for name, entry in given.items():
        if not isinstance(name, str):
            raise ValueError(f"{section}: the name {quoted(name)} is not a text; quote it")
        where = f"transform {name!r}"
        if isinstance(entry, str):
            entry = {"isometry": entry}
        if isinstance(entry, Mapping) and ("observation" in entry or "action" in entry):
            check_keys(where, entry, TABLES)
            for side in ("observation", "action"):
                if side not in entry:
                    raise ValueError(f"{where}: the {side} table is missing; add {side}: {{indices: ...}}")
            check_tables(name, entry)
        else:
            check_keys(where, entry, (*BY_NAME, "observation", "action"))
            if layout is None:
                raise ValueError(
                    f"{where}: an isometry says nothing without a layout; add observations: and actions:, or "
                    "give tables, observation: {indices: [...], multipliers: [...]} and action: likewise"
                )
        entries[name] = dict(entry)
    return entries


def _entry_of(element: Symmetry, layout: Layout | None) -> Any:
    """The shortest entry that gives the element back."""
    if layout is not None and element.isometry is not None:
        name = geometry.name_of(element.isometry)
        moves = _moved_choices(element, layout)
        for phase in (None, "same", "half"):
            try:
                compiled = layout.symmetry(element.name, element.isometry, moves=moves, phase=phase)
            except ValueError:
                continue
            if compiled == element:
                entry: dict[str, Any] = {
                    "isometry": name if name is not None else element.isometry.tolist(),
                    "moves": moves,
                    "phase": phase,
                }
                entry = {key: value for key, value in entry.items() if value}
                return name if name is not None and len(entry) == 1 else entry
    return table_of(element)


def _moved_choices(element: Symmetry, layout: Layout) -> dict[str, str]:
    if not isinstance(element.action_map, ChoiceMap):
        return {}
    choices = layout.action_names
    sources = map(int, element.action_map.indices)
    return {choices[source]: target for target, source in zip(choices, sources, strict=True)}
