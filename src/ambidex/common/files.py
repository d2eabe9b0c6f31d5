"""Writing files so that a crash, a full disk or a second process never leaves half of one."""

from __future__ import annotations

import glob
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.json import from_json
from ambidex.common.reading import read_bytes

Arrays = dict[str, npt.NDArray[Any]]
_NOTE = "ambidex"
_DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64"}
_STALE_SECONDS = 60.0


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path to write to, with the same ending; it becomes ``path`` once all is written, or is removed.

    So ``path`` holds the old content or the new, never a part.
    """
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    _clear_leftovers(path)
    aside.unlink(missing_ok=True)
    try:
        yield aside
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and bring it to the disk."""
    with written_aside(path) as aside, open(aside, "xb", opener=_no_link) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], *, note: str | None = None) -> None:
    """Write arrays as safetensors.

    :param note: a text that the file carries besides
    """
    write_bytes(path, arrays_to_bytes(arrays, note=note))


def arrays_to_bytes(arrays: Mapping[str, npt.NDArray[Any]], *, note: str | None = None) -> bytes:
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    return save(contiguous, None if note is None else {_NOTE: note})


def arrays_from_bytes(content: bytes) -> Arrays:
    """The arrays; a ValueError says what is wrong with them."""
    return _noted_arrays(content)[0]


def read_arrays(path: Path) -> Arrays:
    return read_noted_arrays(path)[0]


def read_noted_arrays(path: Path) -> tuple[Arrays, str | None]:
    """The arrays of a safetensors file and the text that it carries."""
    try:
        return _noted_arrays(read_bytes(path))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def _noted_arrays(content: bytes) -> tuple[Arrays, str | None]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = _header(content)
    for name, entry in header.items():
        kind = entry.get("dtype") if isinstance(entry, dict) else None
        if name != "__metadata__" and kind not in _DTYPES:  # such as BF16
            raise ValueError(f"{name!r} holds {kind!r}, which numpy has no numbers for")
    try:
        arrays = dict(load(content))
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    return arrays, header.get("__metadata__", {}).get(_NOTE)


def _header(content: bytes) -> dict[str, Any]:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise ValueError("its header breaks off")
    header = from_json(content[8 : 8 + length].decode("utf-8"))
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        raise ValueError("its header is none")
    return header


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _clear_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they wrote the same file have left beside it."""
    for other in path.parent.glob(f".*-{glob.escape(path.name)}"):
        number = re.fullmatch(r"\.([0-9]{1,9})-.*", other.name)
        if number is None or other.name != f".{number[1]}-{path.name}" or other.is_symlink():
            continue
        try:
            is_old = time.time() - other.stat().st_mtime > _STALE_SECONDS
            if is_old and other.is_file() and not Path(f"/proc/{number[1]}").exists():
                other.unlink(missing_ok=True)
        except OSError:
            continue


def flush_directory(path: Path) -> None:
    """Make renames inside ``path`` survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
