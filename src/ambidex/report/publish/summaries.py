"""What is worth keeping of a run when it is published: no logs of every iteration and element.

A summary is a run directory that every report reads, and its tables say the same: the record, the
evaluations, the description, the truth, and of `symmetry.csv` the mean value distance, the last of everything
else, and the targets of a fit also at a few steps on the way.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.escaping import csv_cell, file_name
from ambidex.common.files import write_bytes, write_json
from ambidex.experiment.many_runs.reading import Run
from ambidex.experiment.one_run.metrics import COLUMNS, read_columns
from ambidex.experiment.one_run.record import read
from ambidex.experiment.one_run.trust.identity import COPIES
from ambidex.report.statistics import WINDOW

KEPT = ("evaluations.csv", "truth.json", *COPIES.values())
AVERAGED = "value_distance"
TARGETS = ("target_m", "target_b")
MILESTONES = (8_000, 20_000, 60_000, 200_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
"""Steps at which the targets are kept, as they were then; and at the last five, which the report averages."""

_Row = tuple[str, ...]


def place_of(run: Run, out: Path) -> Path:
    """Where a run's summary belongs below ``out``, ``scenario/method/seed-n``; a run there is refused."""
    place = out / file_name(run.scenario) / file_name(run.method) / f"seed-{run.seed}"
    if (place / "run.json").exists():
        raise ValueError(f"{place} holds a run already; remove it, or choose another directory")
    return place


def copy_summary(run: Run, out: Path) -> Path:
    """Write the summary of a run to its place and return that.

    :param run: as `load_runs` reads it
    """
    place = place_of(run, out)
    place.mkdir(parents=True, exist_ok=True)
    if (run.directory / "symmetry.csv").is_file():
        write_bytes(place / "symmetry.csv", thinned(run.directory / "symmetry.csv").encode())
    for name in KEPT:
        if (run.directory / name).is_file():
            shutil.copyfile(run.directory / name, place / name)
    write_json(place / "run.json", _without_its_place(run.directory))
    return place


def _without_its_place(directory: Path) -> dict[str, Any]:
    """The record of a run without the names of its machine and its folders, nobody's business."""
    about = read(directory)
    for entry in (about, *about.get("resumed", [])):
        entry.pop("host", None)
    if "command" in about:
        try:
            words = shlex.split(about["command"])
        except ValueError:  # of another's hand
            words = []
        about["command"] = shlex.join(re.sub(r"(^|=)/(?:[^/]+/)*", r"\1", word) for word in words)
    for name in ("scenario", "symmetry"):
        if Path(about["config"].get(name) or "").is_absolute():
            about["config"][name] = Path(about["config"][name]).name
    return about


def thinned(path: Path) -> str:
    """The rows of a `symmetry.csv` that a summary keeps."""
    columns = COLUMNS["symmetry.csv"]
    rows: list[_Row] = read_columns(path, *columns)
    kept = [row for row in rows if row[2] != AVERAGED]
    last = {row[2:5]: row for row in kept}
    steps = sorted({int(row[1]) for row in kept if row[2] in TARGETS})
    chosen = {max((step for step in steps if step <= one), default=0) for one in MILESTONES}
    chosen |= set(steps[-WINDOW:])
    kept = [row for row in kept if last[row[2:5]] is row or (row[2] in TARGETS and int(row[1]) in chosen)]
    file = io.StringIO()
    averaged = _averaged([row for row in rows if row[2] == AVERAGED])
    written = [(*row[:2], *map(csv_cell, row[2:5]), *row[5:]) for row in (*averaged, *kept)]
    csv.writer(file, lineterminator="\n").writerows([columns, *written])
    return file.getvalue()


def _averaged(rows: Sequence[_Row]) -> list[_Row]:
    """The mean over the transforms at each step."""
    found: dict[tuple[str, str], list[float]] = {}
    for iteration, steps, _, _, _, value in rows:
        found.setdefault((iteration, steps), []).append(float(value))
    return [(*place, AVERAGED, "mean", "", repr(float(np.mean(values)))) for place, values in found.items()]
