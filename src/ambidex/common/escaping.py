"""Names and messages from files of others, on their way to a terminal, a table, a page or a file name."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

LONGEST_MESSAGE = 2_000  # characters
LONGEST_QUOTE = 120
LONGEST_FILE_NAME = 120

# C0 and C1 controls without tab and newline, what turns the direction of writing, and lone surrogates
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def printable(text: str) -> str:
    """The text with every character that would command a terminal written out, as ``\\x1b``."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def message(error: BaseException | str) -> str:
    """What is wrong, of bounded length and safe to print; several findings stand on lines of their own."""
    said = _system_error(error) if isinstance(error, OSError) and error.filename else str(error)
    text = printable(said.strip())
    if not text and isinstance(error, BaseException):
        text = type(error).__name__
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."


def _system_error(error: OSError) -> str:
    """What the operating system refuses, without its number."""
    path = Path(os.fsdecode(error.filename))
    if not isinstance(error, FileNotFoundError):
        return f"{path}: {error.strerror}"
    kind = "file" if path.suffix else "file or folder"
    nor = "" if path.parent.exists() else f", nor a folder {path.parent}"
    return f"there is no {kind} {path}{nor}"


def sentence(error: BaseException | str) -> str:
    """The same on one line."""
    return " ".join(message(error).split())


def quoted(value: Any) -> str:
    """A value as a message quotes it: short, however large it is."""
    if isinstance(value, str | bytes) and len(value) > LONGEST_QUOTE:
        return f"{value[:LONGEST_QUOTE]!r} ..."
    if isinstance(value, dict | list | tuple | set):
        return f"{type(value).__name__} of {len(value):,}" if len(value) > 8 else _shortened(repr(value))
    return _shortened(_written(value))


def _written(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]} ..."


def csv_cell(text: str) -> str:
    """The text as a spreadsheet takes it: what it would run as a formula begins with an apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def from_csv_cell(cell: str) -> str:
    """What `csv_cell` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def script_json(value: Any) -> str:
    """JSON that ends no script element and begins no comment, whatever the names in it are."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def file_name(*parts: str) -> str:
    """The parts joined by ``-`` with nothing but letters, digits, ``.``, ``_`` and ``-``; never a path."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", "-".join(parts))
    return text[-LONGEST_FILE_NAME:].lstrip(".-") or "unnamed"
