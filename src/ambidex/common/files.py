"""Writing files so that a crash, a full disk or a second process never leaves half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path to write to, with the same ending; it becomes ``path`` once all is written, or is removed.

    So ``path`` holds the old content or the new, never a part.
    """
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield aside
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and bring it to the disk."""
    with written_aside(path) as aside, aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    write_bytes(path, arrays_to_bytes(arrays))


def arrays_to_bytes(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()})


def arrays_from_bytes(content: bytes) -> Arrays:
    from safetensors.numpy import load

    return dict(load(content))


def read_arrays(path: Path) -> Arrays:
    from safetensors import SafetensorError

    try:
        return arrays_from_bytes(path.read_bytes())
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def flush_directory(path: Path) -> None:
    """Make renames inside ``path`` survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
