"""Checkpoints on disk: safetensors and JSON, hashed, written aside and renamed, the last two kept."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambidex.common.files import Arrays, arrays_from_bytes, arrays_to_bytes, flush_directory, write_bytes

FORMAT = 1
KEPT = 2
_MANIFEST = "manifest.json"
_STATE = "state.json"
_ASIDE = ".writing-"


@dataclass(frozen=True)
class Checkpoint:
    """The whole state of a run between two iterations.

    :param iteration: how many iterations are done
    :param arrays: named groups of arrays, one safetensors file each
    :param state: everything that is not an array, as JSON holds it
    """

    iteration: int
    arrays: Mapping[str, Arrays]
    state: Mapping[str, Any]


class DamagedCheckpoint(ValueError):
    """A checkpoint whose files are not what was written."""


def write(directory: Path, checkpoint: Checkpoint) -> None:
    """Add a checkpoint to ``directory`` and drop those older than the last two."""
    directory.mkdir(parents=True, exist_ok=True)
    final = directory / f"{checkpoint.iteration:06d}"
    aside = directory / f"{_ASIDE}{final.name}"
    for leftover in directory.glob(f"{_ASIDE}*"):
        shutil.rmtree(leftover)
    try:
        aside.mkdir()
        files = {f"{name}.safetensors": arrays_to_bytes(group) for name, group in checkpoint.arrays.items()}
        state = {"iteration": checkpoint.iteration, **checkpoint.state}
        files[_STATE] = json.dumps(state, indent=1).encode()
        for name, content in files.items():
            write_bytes(aside / name, content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        manifest = {"format": FORMAT, "sha256": hashes}
        write_bytes(aside / _MANIFEST, json.dumps(manifest, indent=1).encode())
        flush_directory(aside)
        if final.exists():
            shutil.rmtree(final)
        aside.rename(final)
        flush_directory(directory)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    for old in _found(directory)[:-KEPT]:
        shutil.rmtree(old)


def read(path: Path) -> Checkpoint:
    """Read one checkpoint; raises `DamagedCheckpoint` naming the file that is not as written."""
    try:
        manifest = json.loads((path / _MANIFEST).read_bytes())
        hashes: dict[str, str] = dict(manifest["sha256"])
        version = manifest["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpoint(f"{path}: {_MANIFEST} cannot be read ({error})") from None
    if version != FORMAT:
        raise DamagedCheckpoint(f"{path}: format {version!r}, this version reads format {FORMAT}")
    if _STATE not in hashes:
        raise DamagedCheckpoint(f"{path}: {_MANIFEST} does not name {_STATE}")
    contents = {name: _verified(path / name, expected) for name, expected in hashes.items()}
    state = json.loads(contents.pop(_STATE))
    arrays = {name.removesuffix(".safetensors"): arrays_from_bytes(c) for name, c in contents.items()}
    return Checkpoint(state.pop("iteration"), arrays, state)


def newest(directory: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest whole checkpoint, None if there is none.

    :param warn: told of every damaged checkpoint that is passed over
    """
    for path in reversed(_found(directory)):
        try:
            return read(path)
        except DamagedCheckpoint as damage:
            warn(f"damaged checkpoint passed over: {damage}")
    return None


def _found(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(
        (path for path in directory.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
    )


def _verified(path: Path, expected: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedCheckpoint(f"{path} cannot be read ({error.strerror})") from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise DamagedCheckpoint(f"{path} is not what was written (its sha256 differs from the manifest)")
    return content
