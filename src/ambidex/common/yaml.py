"""YAML as people write it: read without its traps, written with one line per entry."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NoReturn

import yaml

MOST_CHARACTERS = 4_000_000
MOST_VALUES = 500_000
LONGEST_VALUE = 10_000  # characters
DEEPEST = 64
_CHARACTERS_OF_A_VALUE = 100  # a longer one counts as several

_BOOL = "tag:yaml.org,2002:bool"
_MERGE = "tag:yaml.org,2002:merge"


def from_yaml(text: str) -> Any:
    """The content of a text; a key given twice is refused, and ``on``, ``off``, ``yes``, ``no`` are words.

    So is what would take more time and memory than any description or configuration needs.
    """
    _refuse_bombs(text)
    return yaml.load(text, Loader=_Loader)


def read_yaml(where: str, text: str) -> Any:
    """The content of a text as `from_yaml` reads it; what is wrong with it is said in one sentence.

    :param where: what errors call the text, such as the file's name
    """
    try:
        return from_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{where} is not YAML: {problem(error)}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def problem(error: yaml.YAMLError) -> str:
    """What is wrong with a text and on which line, without a piece of it, which may be a secret."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        words = [part for part in (error.context, error.problem) if part]
        place = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
        return f"{', '.join(words)}{place}"
    return " ".join(str(error).split())


def _refuse_bombs(text: str) -> None:
    """Refuse by the events alone, which take no recursion, what is too large, deep or often repeated.

    An alias is counted as all the values that it stands for, since whoever walks the content meets them all.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text):,} characters of YAML, of which at most {MOST_CHARACTERS:,} are read")
    counts = [0]  # the values so far in each collection that is open, the outermost first
    anchors: list[str | None] = [None]
    known: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        anchor: str | None = None
        if isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_VALUE:
                _refuse(event, f"a value of more than {LONGEST_VALUE:,} characters")
            size, anchor = 1 + len(event.value) // _CHARACTERS_OF_A_VALUE, event.anchor
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                _refuse(event, f"*{event.anchor} stands inside of what it names")
            size = known.get(event.anchor, 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            counts.append(0)
            anchors.append(event.anchor)
            if len(counts) > DEEPEST:
                _refuse(event, f"nested more than {DEEPEST} levels deep")
            continue
        elif isinstance(event, yaml.CollectionEndEvent):
            size, anchor = 1 + counts.pop(), anchors.pop()
        else:
            continue
        counts[-1] += size
        if anchor is not None:
            known[anchor] = size
        if counts[-1] > MOST_VALUES:
            _refuse(event, f"more than {MOST_VALUES:,} values, those that aliases repeat included")


def _refuse(event: Any, what: str) -> NoReturn:
    raise ValueError(f"line {event.start_mark.line + 1}: {what}")


def to_yaml(content: Mapping[str, Any]) -> str:
    """A description with one line per limb, field and table."""
    lines = []
    for section, value in content.items():
        if not isinstance(value, Mapping | list):
            lines.append(f"{section}: {_one_line(value)}")
            continue
        lines.append(f"{section}:")
        if isinstance(value, list):
            lines += [f"  - {_item(item)}" for item in value]
            continue
        for name, entry in value.items():
            if isinstance(entry, Mapping) and "action" in entry:
                lines.append(f"  {_one_line(name)}:")
                lines += [f"    {key}: {_one_line(part)}" for key, part in entry.items()]
            elif isinstance(entry, list) and section == "observations":
                lines.append(f"  {_one_line(name)}:")
                lines += [f"    - {_item(item)}" for item in entry]
            else:
                lines.append(f"  {_one_line(name)}: {_one_line(entry)}")
    return "\n".join(lines) + "\n"


def _item(item: Any) -> str:
    if isinstance(item, Mapping) and len(item) == 1:
        return _one_line(item)[1:-1]
    return _one_line(item)


def _one_line(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.removesuffix("...\n").strip()


class _Dumper(yaml.SafeDumper):
    """Without anchors: a list that occurs twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The C loader, where there is one, is many times as quick; the two read the same."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL or first in "tTfF"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._checked: set[yaml.MappingNode] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged keys (``<<: *leg``) before a mapping's own, which override them."""
        if node not in self._checked:
            self._checked.add(node)
            self._check_keys(node)
        super().flatten_mapping(node)

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            key = "<<" if key_node.tag == _MERGE else self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise ValueError(f"line {line}: {key!r} cannot be a key; a key is a name")
            if key in seen:
                raise ValueError(f"line {line}: the key {key!r} is given twice")
            seen.add(key)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
