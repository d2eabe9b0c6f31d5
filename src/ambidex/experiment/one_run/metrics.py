"""What a run measures, as CSV files that a person can open and as TensorBoard events."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ambidex.common.escaping import csv_cell, from_csv_cell
from ambidex.common.reading import read_bytes, read_end, read_text

_OWN_FILE = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_END = 65_536  # bytes
COLUMNS = {
    "progress.csv": (
        "iteration",
        "steps",
        "episode_return",
        "episode_length",
        "policy_loss",
        "value_loss",
        "symmetry_policy_loss",
        "symmetry_value_loss",
        "approx_kl",
        "clip_fraction",
        "explained_variance",
        "std",
    ),
    "evaluations.csv": ("iteration", "steps", "episode", "goal", "return", "length"),
    "symmetry.csv": ("iteration", "steps", "metric", "transform", "element", "value"),
    "timings.csv": ("iteration", "rollout", "fit", "update", "logging", "evaluation"),
}


class MetricFiles:
    """The metric files of one run, cut back to where a checkpoint was written when a run is resumed.

    :param directory: the run directory
    :param lengths: the size of each CSV file in bytes at the checkpoint to go on from; None: a new run
    :param steps: training steps at that checkpoint; later TensorBoard events are discarded
    :param hashes: the sha256 of so many bytes of each; None: a checkpoint from before there were any
    """

    def __init__(
        self,
        directory: Path,
        *,
        lengths: Mapping[str, int] | None = None,
        steps: int = 0,
        hashes: Mapping[str, str] | None = None,
    ) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._files: dict[str, io.FileIO] = {}
        self._digests = {name: hashlib.sha256() for name in COLUMNS}
        for name, length in (lengths or {}).items():
            self._digests[name].update(_prefix(directory / name, length, (hashes or {}).get(name)))
        for name, columns in COLUMNS.items():
            self._files[name] = io.FileIO(
                os.open(directory / name, _OWN_FILE | (os.O_TRUNC if lengths is None else 0), 0o666), "ab"
            )
            if lengths is None:
                self.add(name, [columns])
            else:
                self._files[name].truncate(lengths[name])  # drops what was written after the checkpoint
        self._tensorboard = SummaryWriter(directory / "tensorboard", purge_step=steps + 1)

    def add(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Append rows; numbers are written so that reading gives back the same bits, None as nothing."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([_plain(value) for value in row] for row in rows)
        content = text.getvalue().encode("utf-8")
        _write_all(self._files[name], content)
        self._digests[name].update(content)

    def add_scalars(self, steps: int, scalars: Mapping[str, float]) -> None:
        for name, value in scalars.items():
            self._tensorboard.add_scalar(name, value, steps)

    def settle(self) -> dict[str, int]:
        """Bring everything to the disk; the size of each CSV file in bytes."""
        for file in self._files.values():
            os.fsync(file.fileno())
        self._tensorboard.flush()
        return {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()}

    def hashes(self) -> dict[str, str]:
        """The sha256 of each CSV file as it stands."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._tensorboard.close()


def _prefix(path: Path, length: int, expected: str | None) -> bytes:
    """What stood in a file at the checkpoint; refused if rows are lost or were changed since."""
    content = read_bytes(path) if path.is_file() else b""
    if len(content) < length:
        raise ValueError(
            f"{path} has {len(content)} bytes, but {length} when the checkpoint was written; "
            "it was changed since, and the run cannot be continued without its rows"
        )
    content = content[:length]
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise ValueError(
            f"{path} was changed since the checkpoint was written: its first {length} bytes are others; "
            "put the old file back, the run cannot be continued without its rows"
        )
    return content


def _write_all(file: io.FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def _plain(value: Any) -> str | int:
    if value is None:
        return ""
    if isinstance(value, str):
        return csv_cell(value)
    return value if isinstance(value, int) else repr(float(value))


def read_columns(path: Path, *names: str) -> list[tuple[str, ...]]:
    """These columns of every whole line; a line that is being written, or broke off, is left out."""
    if not path.is_file():
        return []
    text = read_text(path)
    return _columns(path, text[: text.rfind("\n") + 1], names)


def read_last_columns(path: Path, *names: str) -> list[tuple[str, ...]]:
    """The same of the last lines alone, however long the file is; the heading is that of the format."""
    if not path.is_file():
        return []
    content = read_end(path, _END)
    if len(content) < _END:
        return read_columns(path, *names)
    text = content[content.find(b"\n") + 1 : content.rfind(b"\n") + 1].decode("utf-8", "replace")
    return _columns(path, ",".join(COLUMNS[path.name]) + "\n" + text, names)


def _columns(path: Path, text: str, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    try:
        lines = csv.reader(text.splitlines())
        header = next(lines, [])
        missing = [name for name in names if name not in header]
        if header and missing:
            raise ValueError(f"{path} lacks the column {missing[0]!r}")
        if not header:
            return []
        places = [header.index(name) for name in names]
        rows = [[line[place] for place in places] for line in lines if len(line) == len(header)]
        if "'" in text:  # seldom, and a file of a long run has many cells
            rows = [[from_csv_cell(cell) for cell in row] for row in rows]
        return [tuple(row) for row in rows]
    except csv.Error as error:
        raise ValueError(f"{path} is not a table of values separated by commas: {error}") from None
