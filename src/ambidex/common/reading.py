"""Reading files that may come from elsewhere: regular ones alone, of bounded size, never a hang."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

LARGEST_TEXT = 256_000_000  # bytes
LARGEST_ARRAYS = 4_000_000_000
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError)


def read_bytes(path: Path, most: int = LARGEST_ARRAYS) -> bytes:
    """The content of a regular file; a pipe, a device or more than ``most`` bytes are refused."""
    with _regular(path) as (file, size):
        if size > most:
            raise ValueError(f"{path} has {size:,} bytes, of which at most {most:,} are read")
        return file.read(size)  # of one that grows meanwhile, what it was


def read_text(path: Path, most: int = LARGEST_TEXT) -> str:
    """The same as text; what is not UTF-8 is said without echoing it."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8 (byte {error.start:,})") from None


def read_end(path: Path, most: int) -> bytes:
    """The last ``most`` bytes of a regular file, all of a smaller one."""
    with _regular(path) as (file, size):
        file.seek(max(0, size - most))
        return file.read(most)


@contextmanager
def _regular(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """An open file and its size; a pipe is refused without waiting for its other end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise ValueError(f"{path} is not a regular file")
    with os.fdopen(handle, "rb") as file:
        yield file, found.st_size


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an ``.npz`` archive; one whose header announces more than the archive holds is refused.

    Nothing is allocated before its size is known, and nothing is unpickled.
    """
    with path.open("rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or not zipfile.is_zipfile(file):
            raise ValueError(f"{path} is not an .npz archive, as numpy.savez writes it")
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as archive:
                _refuse_sizes(path, archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                return {name: _member(path, stored, name) for name in stored.files}
        except _BROKEN_ARCHIVE as error:
            raise ValueError(f"{path} is damaged: {error}") from None


def _member(path: Path, stored: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = stored[name]
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: {name!r} is damaged: {error}") from None
    except (ValueError, TypeError, SyntaxError) as error:
        raise ValueError(f"{path}: {name!r} is not an array of numbers: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path}: {name!r} is not an array of numbers")
    return array


def _refuse_sizes(path: Path, archive: zipfile.ZipFile) -> None:
    total = sum(entry.file_size for entry in archive.infolist())
    if total > LARGEST_ARRAYS:
        raise ValueError(f"{path} unpacks to {total:,} bytes, of which at most {LARGEST_ARRAYS:,} are read")
    for entry in archive.infolist():
        with archive.open(entry) as member:
            if not entry.filename.endswith(".npy"):
                continue
            try:
                version = np.lib.format.read_magic(member)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(member)
            except (ValueError, TypeError, SyntaxError, UnicodeDecodeError) as error:
                raise ValueError(f"{path}: {entry.filename!r} is not an array of numbers: {error}") from None
            needed = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize
            if min(shape, default=0) < 0 or needed > entry.file_size:
                raise ValueError(
                    f"{path}: {entry.filename!r} announces the shape {shape} and holds less; it is damaged"
                )
