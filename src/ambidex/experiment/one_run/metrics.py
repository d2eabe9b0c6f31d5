"""What a run measures, as CSV files that a person can open and as TensorBoard events."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
    """

    def __init__(self, directory: Path, *, lengths: Mapping[str, int] | None = None, steps: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._files: dict[str, io.TextIOWrapper] = {}
        for name, length in (lengths or {}).items():
            _require_length(directory / name, length)
        for name, columns in COLUMNS.items():
            path = directory / name
            if lengths is None:
                self._files[name] = path.open("w", newline="", encoding="utf-8")
                self.add(name, [columns])
            else:
                os.truncate(path, lengths[name])  # drops what was written after the checkpoint
                self._files[name] = path.open("a", newline="", encoding="utf-8")
        self._tensorboard = SummaryWriter(directory / "tensorboard", purge_step=steps + 1)

    def add(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Append rows; numbers are written so that reading gives back the same bits, None as nothing."""
        file = self._files[name]
        csv.writer(file, lineterminator="\n").writerows([_plain(value) for value in row] for row in rows)
        file.flush()

    def add_scalars(self, steps: int, scalars: Mapping[str, float]) -> None:
        for name, value in scalars.items():
            self._tensorboard.add_scalar(name, value, steps)

    def settle(self) -> dict[str, int]:
        """Bring everything to the disk; the size of each CSV file in bytes."""
        for file in self._files.values():
            os.fsync(file.fileno())
        self._tensorboard.flush()
        return {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()}

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._tensorboard.close()


def _require_length(path: Path, length: int) -> None:
    """Refuse a file that has lost rows which stood in it at the checkpoint."""
    size = path.stat().st_size if path.exists() else 0
    if size < length:
        raise ValueError(
            f"{path} has {size} bytes, but {length} when the checkpoint was written; "
            "it was changed since, and the run cannot be continued without its rows"
        )


def _plain(value: Any) -> str | int:
    if value is None:
        return ""
    return value if isinstance(value, str | int) else repr(float(value))


def read_columns(path: Path, *names: str) -> list[tuple[str, ...]]:
    """These columns of every whole line; a line that is being written, or broke off, is left out."""
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    lines = csv.reader(text[: text.rfind("\n") + 1].splitlines())
    header = next(lines, [])
    missing = [name for name in names if name not in header]
    if header and missing:
        raise ValueError(f"{path} lacks the column {missing[0]!r}")
    return [tuple(line[header.index(name)] for name in names) for line in lines if len(line) == len(header)]
