"""JSON from elsewhere is bounded and strict; JSON that is printed has no NaN."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ambidex.common import json
from ambidex.common.reading import read_bytes, read_end, read_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 500 + "]" * 500, "64 levels"),
        ("[" * 200_000, "64 levels|Expecting"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ("[-Infinity]", "-Infinity is not a number"),
        ("9" * 10_000, "digits"),
        ("{", "Expecting"),
    ],
    ids=["deep", "very deep", "twice", "NaN", "infinity", "digits", "cut"],
)
def test_what_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as refused:
        json.read_json(path)
    assert str(refused.value).startswith(f"{path} cannot be read: ")
    assert len(str(refused.value)) < 500


def test_what_is_too_long_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "MOST_CHARACTERS", 10)
    assert json.from_json("[1, 2, 3]") == [1, 2, 3]
    with pytest.raises(ValueError, match="12 characters"):
        json.from_json("[1, 2, 3, 4]")


def test_numbers_that_are_none_are_null() -> None:
    value = {"a": float("nan"), "b": [float("inf"), (1.5, -float("inf"))], "c": {"d": "NaN"}}
    assert json.to_json(value) == '{"a": null, "b": [null, [1.5, null]], "c": {"d": "NaN"}}'


def test_pipes_devices_and_large_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises((ValueError, IsADirectoryError)):
            read_bytes(path)
    (tmp_path / "large").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match="100 bytes, of which at most 10"):
        read_bytes(tmp_path / "large", 10)
    assert read_end(tmp_path / "large", 10) == b"x" * 10


def test_what_is_no_text_is_not_echoed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"secret \xff")
    with pytest.raises(ValueError, match=r"not text in UTF-8 \(byte 7\)$"):
        read_text(tmp_path / "x")
