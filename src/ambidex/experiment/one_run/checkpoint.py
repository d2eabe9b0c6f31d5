"""Checkpoints on disk: safetensors and JSON, hashed, written aside and renamed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambidex.common.files import Arrays, arrays_from_bytes, arrays_to_bytes, flush_directory, write_bytes
from ambidex.common.json import from_json
from ambidex.common.reading import read_bytes

FORMAT = 1
KEPT = 2
_MANIFEST = "manifest.json"
_STATE = "state.json"
_ASIDE = ".writing-"
_LARGEST_MANIFEST = 1_000_000  # bytes


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


def name_of(iteration: int) -> str:
    return f"{iteration:06d}"


def write(directory: Path, checkpoint: Checkpoint) -> None:
    """Add a checkpoint to ``directory``, in place of one of the same iteration, which has to be the run's."""
    directory.mkdir(parents=True, exist_ok=True)
    final = directory / name_of(checkpoint.iteration)
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


def prune(directory: Path, names: Sequence[str]) -> list[str]:
    """Drop the checkpoints of these names save the last two; the names of those."""
    kept = sorted(names, key=int)[-KEPT:]
    for name in names:
        if name not in kept and (directory / name).is_dir() and not (directory / name).is_symlink():
            shutil.rmtree(directory / name)
    return kept


def read(path: Path) -> Checkpoint:
    """Read one checkpoint; raises `DamagedCheckpoint` naming the file that is not as written."""
    try:
        manifest = from_json(read_bytes(path / _MANIFEST, _LARGEST_MANIFEST).decode("utf-8"))
        hashes: dict[str, str] = dict(manifest["sha256"])
        version = manifest["format"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCheckpoint(f"{path}: {_MANIFEST} cannot be read ({error})") from None
    if version != FORMAT:
        raise DamagedCheckpoint(f"{path}: format {version!r}, this version reads format {FORMAT}")
    if _STATE not in hashes:
        raise DamagedCheckpoint(f"{path}: {_MANIFEST} does not name {_STATE}")
    strange = [name for name in hashes if "/" in name or "\\" in name or name.startswith(".")]
    if strange:
        raise DamagedCheckpoint(f"{path}: {_MANIFEST} names {strange[0]!r}, which is no file of a checkpoint")
    contents = {name: _verified(path / name, expected) for name, expected in hashes.items()}
    try:
        state = from_json(contents.pop(_STATE).decode("utf-8"))
        arrays = {name.removesuffix(".safetensors"): arrays_from_bytes(c) for name, c in contents.items()}
        iteration = state.pop("iteration")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCheckpoint(f"{path} does not hold the state of a run ({error})") from None
    if not isinstance(iteration, int) or name_of(iteration) != path.name:
        raise DamagedCheckpoint(f"{path} holds the state after another iteration")
    return Checkpoint(iteration, arrays, state)


def newest(
    directory: Path, warn: Callable[[str], None], names: Collection[str] | None = None
) -> Checkpoint | None:
    """The newest whole checkpoint, None if there is none.

    :param warn: told of every damaged checkpoint that is passed over
    :param names: those of the run; None: whatever is there
    """
    for path in reversed(found(directory)):
        if names is not None and path.name not in names:
            continue
        try:
            return read(path)
        except DamagedCheckpoint as damage:
            warn(f"damaged checkpoint passed over: {damage}")
    return None


def found(directory: Path) -> list[Path]:
    """What is named as a checkpoint, the oldest first; links are not followed."""
    if not directory.is_dir():
        return []
    named = [path for path in directory.iterdir() if path.name.isdecimal() and len(path.name) <= 12]
    return sorted((path for path in named if not path.is_symlink()), key=lambda path: int(path.name))


def _verified(path: Path, expected: str) -> bytes:
    try:
        content = read_bytes(path)
    except OSError as error:
        raise DamagedCheckpoint(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise DamagedCheckpoint(str(error)) from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise DamagedCheckpoint(f"{path} is not what was written (its sha256 differs from the manifest)")
    return content
