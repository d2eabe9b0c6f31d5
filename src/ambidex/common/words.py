"""Words for people: what was probably meant, which keys are allowed, and several things in one breath."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ambidex.common.escaping import quoted


def suggestion(word: Any, known: Iterable[str], likeness: float = 0.6) -> str:
    """``"; did you mean 'hip'?"`` where a known word is close, otherwise nothing.

    :param likeness: from 0 to 1, how alike the two have to be
    """
    close = get_close_matches(str(word), list(known), n=1, cutoff=likeness)
    return f"; did you mean {close[0]!r}?" if close else ""


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def kind_of(value: Any) -> str:
    """What a value is, without its content, which may be that of a file given by mistake."""
    if isinstance(value, str | bytes):
        return "a text"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, Sequence) else quoted(value)


def check_keys(where: str, mapping: Any, allowed: Iterable[str]) -> Mapping[str, Any]:
    """Refuse anything but a mapping with these keys."""
    allowed = list(allowed)
    if not isinstance(mapping, Mapping):
        raise ValueError(f"{where}: expected keys among {', '.join(allowed)}, got {kind_of(mapping)}")
    for key in mapping:
        if key not in allowed:
            meant = suggestion(key, allowed) or f"; allowed: {', '.join(allowed)}"
            raise ValueError(f"{where}: unknown key {quoted(key)}{meant}")
    return mapping


def read_flag(where: str, mapping: Mapping[str, Any], key: str) -> bool:
    """A setting that is true or false, and false where it is not given."""
    value = mapping.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{where}: {key} is true or false, got {quoted(value)}")
    return value
