"""The house: which room may import which, and how large a file and a folder may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ambidex"
ROOMS = (
    "common",
    "symmetry",
    "envs",
    "derivation",
    "verification",
    "actuators",
    "learn",
    "experiment",
    "diagnosis",
    "report",
    "cli",
)
"""Each may import what stands before it."""
MOST_FILES = 14
MOST_LINES = 400

FILES = sorted(SOURCE.rglob("*.py"))


def modules_imported(text: str, package: tuple[str, ...]) -> Iterator[str]:
    """Every module that a source text imports, inside of functions and for type checkers too.

    ``from a import b`` gives ``a.b``, whether b is a module or a name in one.

    :param package: where the text stands, for relative imports
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) + 1 - node.level]) if node.level else []
            base += node.module.split(".") if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def forbidden(room: str, imported: str) -> bool:
    """Whether a file of a room may not import this module."""
    first, *rest = imported.split(".")
    if first != "ambidex":
        return False
    if not rest or rest[0] not in ROOMS:  # the public names may come from any room
        return rest[:1] != ["__version__"]
    return ROOMS.index(rest[0]) > ROOMS.index(room)


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_stands_before_it(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {imported}"
        for path in sorted((SOURCE / room).rglob("*.py"))
        for imported in modules_imported(path.read_text(), ("ambidex", *path.relative_to(SOURCE).parts[:-1]))
        if forbidden(room, imported)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import ambidex.report.page", True),
        ("from ambidex import report", True),
        ("from ambidex.report import page", True),
        ("def f():\n    from ambidex.report.page import render", True),
        ("from ...report import page", True),
        ("from .. import report", False),
        ("from ambidex import SymmetricPPO", True),
        ("from ambidex import __version__", False),
        ("from ambidex.symmetry import load", False),
        ("import numpy.report", False),
    ],
)
def test_the_parser_of_imports(text: str, found: bool) -> None:
    package = ("ambidex", "learn", "fits")
    assert any(forbidden("learn", imported) for imported in modules_imported(text, package)) == found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_one_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES, "a file past 400 lines is two files"


def test_a_folder_is_one_role() -> None:
    folders = {path.parent for path in FILES}
    counts = {str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}
