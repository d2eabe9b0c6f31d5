"""What a value of a configuration has to be, in words: "a number above 0, such as 3e-05"."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def expected(field: FieldInfo) -> str:
    """What the field takes, with an example where its default is a number."""
    default = field.default
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    example = f", such as {default:g}" if is_number else ""
    none = " or none" if type(None) in get_args(field.annotation) else ""
    return f"{_kind(field.annotation)}{_range(field.metadata)}{example}{none}"


def _kind(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}" if len(arguments) > 1 else str(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(_kind(part) for part in arguments if part is not type(None))
    if origin is Annotated:
        return f"{_kind(arguments[0])}{_range(arguments[1].metadata)}"
    if origin is tuple:
        return "a list of whole numbers"
    return _KINDS.get(annotation, "a mapping of names to values")


def _range(metadata: list[Any]) -> str:
    """The bounds among the constraints of a field."""
    words = {"gt": "above", "ge": "from", "lt": "below", "le": "up to"}
    limits = {name: getattr(one, name) for one in metadata for name in words if hasattr(one, name)}
    if {"ge", "le"} <= set(limits):
        words["le"] = "to"
    return "".join(f" {words[name]} {limit:,}" for name, limit in limits.items())
