"""Files are read within their size."""

import tracemalloc
from pathlib import Path

import pytest

from ambidex.common.reading import read_bytes


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"abc")
    tracemalloc.start()
    try:
        assert read_bytes(tmp_path / "small") == b"abc"
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1_000_000


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a regular file"):
        read_bytes(tmp_path)
