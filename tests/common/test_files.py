"""A file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambidex.common import figures
from ambidex.common.files import write_text, written_aside


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_what_fails_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), written_aside(path) as aside:
        aside.write_text("half")
        raise KeyboardInterrupt
    assert (path.read_text(), names(tmp_path)) == ("old", ["film.gif"])


def test_the_old_content_stays_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    write_text(path, "old")
    with written_aside(path) as aside:
        aside.write_text("new")
        assert (path.read_text(), aside.suffix, aside.parent) == ("old", ".gif", tmp_path)
    assert (path.read_text(), names(tmp_path)) == ("new", ["film.gif"])


class FullDisk:
    """A figure that breaks while it is written."""

    def findobj(self, kind: type) -> list[object]:
        return []

    def savefig(self, path: Path, **options: object) -> None:
        path.write_text("half")
        raise OSError("no space left on device")


def test_a_figure_that_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space"):
        figures.save(FullDisk(), tmp_path / "robot.png")  # type: ignore[arg-type]
    assert names(tmp_path) == []


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("b.svg", b"<?xml"), ("c", b"\x89PNG")])
def test_the_ending_of_a_figure_says_its_format(tmp_path: Path, name: str, start: bytes) -> None:
    from matplotlib.figure import Figure

    figures.save(Figure(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
