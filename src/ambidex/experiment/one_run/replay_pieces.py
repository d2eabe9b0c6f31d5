"""A replay buffer on disk: pieces of consecutive transitions, each written once and checked by its name.

A checkpoint needs no list of them. It counts the transitions that were stored until then, and the pieces that
hold the last of these, as many as the buffer has places, are its replay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import ReplayBuffer

from ambidex.common.arrays import IntArray
from ambidex.common.files import Arrays, arrays_from_bytes, arrays_to_bytes, flush_directory, write_bytes
from ambidex.common.reading import read_bytes
from ambidex.experiment.one_run.checkpoint import DamagedCheckpoint

_NAME = re.compile(r"(\d{10})-(\d{10})-([0-9a-f]{16})\.safetensors")
_PLAIN = ("actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class Piece:
    """The steps from ``first`` to before ``last`` of all environments, counted from the run's start."""

    path: Path
    first: int
    last: int
    digest: str


def write(directory: Path, buffer: ReplayBuffer, total: int, keep_from: int) -> None:
    """Write the steps that no piece holds yet, and remove the pieces that nobody needs any more.

    :param directory: of the pieces
    :param total: how many steps have been stored since the run's start, overwritten ones included
    :param keep_from: the first step that an earlier checkpoint may still need
    """
    directory.mkdir(parents=True, exist_ok=True)
    there = pieces(directory)
    first = max(there[-1].last if there else 0, total - buffer.buffer_size)
    if first < total:
        content = arrays_to_bytes(_arrays(buffer, np.arange(first, total) % buffer.buffer_size))
        write_bytes(directory / f"{first:010d}-{total:010d}-{_digest(content)}.safetensors", content)
        flush_directory(directory)
    for piece in there:
        if piece.last <= keep_from:
            piece.path.unlink()


def read(directory: Path, buffer: ReplayBuffer, total: int) -> None:
    """Fill an empty buffer as it was when ``total`` steps had been stored; removes later pieces.

    Raises `DamagedCheckpoint` naming the piece that is missing or not as written.
    """
    wanted = max(0, total - buffer.buffer_size)
    for piece in pieces(directory):
        if piece.first >= total:
            piece.path.unlink()  # written for a checkpoint that never came to be
            continue
        if piece.last <= wanted:
            continue
        if piece.first > wanted:
            break
        content = read_bytes(piece.path)
        if _digest(content) != piece.digest:
            raise DamagedCheckpoint(f"{piece.path} is not what was written (its name says another sha256)")
        arrays = arrays_from_bytes(content)
        if piece.last > total or len(arrays["actions"]) != piece.last - piece.first:
            raise DamagedCheckpoint(f"{piece.path} does not hold the steps that its name says")
        _fill(buffer, np.arange(piece.first, piece.last) % buffer.buffer_size, arrays)
        wanted = piece.last
    if wanted != total:
        raise DamagedCheckpoint(f"{directory} lacks the replay's steps from {wanted:,} to {total:,}")
    buffer.pos, buffer.full = total % buffer.buffer_size, total >= buffer.buffer_size


def clear(directory: Path) -> None:
    """Remove all pieces."""
    for piece in pieces(directory):
        piece.path.unlink()


def pieces(directory: Path) -> list[Piece]:
    """In the order of their steps."""
    if not directory.is_dir():
        return []
    found = [(path, match) for path in directory.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(
        (Piece(path, int(match[1]), int(match[2]), match[3]) for path, match in found),
        key=lambda piece: piece.first,
    )


def _arrays(buffer: ReplayBuffer, places: IntArray) -> Arrays:
    """Most next observations are those of the next step, and only the others are written."""
    arrays = {name: getattr(buffer, name)[places] for name in _PLAIN}
    for key, before, after in _observations(buffer):
        states, following = before[places], after[places]
        expected = np.concatenate([states[1:], following[-1:]])
        is_other = (following != expected).reshape(*following.shape[:2], -1).any(axis=-1)
        is_other[-1] = True
        arrays |= {
            f"{key}states": states,
            f"{key}ends": np.argwhere(is_other),
            f"{key}last": following[is_other],
        }
    return arrays


def _fill(buffer: ReplayBuffer, places: IntArray, arrays: Arrays) -> None:
    """Of a piece that is longer than the buffer the last steps count."""
    own = slice(max(0, len(places) - buffer.buffer_size), None)
    for name in _PLAIN:
        getattr(buffer, name)[places[own]] = arrays[name][own]
    for key, before, after in _observations(buffer):
        states = arrays[f"{key}states"]
        following = np.concatenate([states[1:], states[:1]])
        following[tuple(arrays[f"{key}ends"].T)] = arrays[f"{key}last"]
        before[places[own]], after[places[own]] = states[own], following[own]


def _observations(buffer: ReplayBuffer) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """A prefix of names, and the arrays of s and s'; one of each for every key of a Dict observation."""
    if isinstance(buffer.observations, dict):
        for key, part in buffer.observations.items():
            yield f"{key}/", part, buffer.next_observations[key]
    else:
        yield "", buffer.observations, buffer.next_observations


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
