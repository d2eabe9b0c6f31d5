"""What in a run directory is the run's own: nothing else is overwritten, pruned or followed."""

from __future__ import annotations

import re
from pathlib import Path

from ambidex.experiment.one_run.metrics import COLUMNS
from ambidex.experiment.one_run.trust.identity import COPIES

FILES = (
    "run.json",
    *COPIES.values(),
    "truth.json",
    "policy-best.safetensors",
    "policy-last.safetensors",
    *COLUMNS,
)
FOLDERS = ("checkpoints", "tensorboard", "replay")
_BEFORE_THE_START = ("lock", "worker.log")  # a lock that was taken in vain, what a sweep's worker said
_LEFTOVER = re.compile(r"\.[0-9]+-.+")


def require_empty(directory: Path) -> None:
    """Refuse a directory in which a new run would meet files that it did not write."""
    if (directory / "run.json").is_file():
        raise ValueError(f"{directory} holds a run already; `ambidex resume {directory}` continues it")
    found = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    foreign = [name for name in found if name not in _BEFORE_THE_START and not _is_leftover(name)]
    if "checkpoints" in foreign:
        raise ValueError(
            f"{directory} holds checkpoints, but no run.json that says of which run; "
            "train in another directory, or put run.json back and resume"
        )
    if foreign:
        raise ValueError(
            f"{directory} is neither empty nor a run: it holds {foreign[0]}; train in another directory"
        )


def require_own_files(directory: Path) -> None:
    """Refuse links and whatever else stands in the place of a run's own files."""
    for name in (*FILES, *FOLDERS):
        path = directory / name
        if path.is_symlink():
            raise ValueError(f"{path} is a link; a run's files are its own: replace it by what it leads to")
        is_right = path.is_dir() if name in FOLDERS else path.is_file()
        if path.exists() and not is_right:
            raise ValueError(f"{path} is not {'a directory' if name in FOLDERS else 'a regular file'}")


def clear_leftovers(directory: Path) -> None:
    """Remove what a killed process was writing beside the run's files; only for who holds the lock."""
    for path in directory.iterdir():
        if _is_leftover(path.name) and path.is_file() and not path.is_symlink():
            path.unlink()


def _is_leftover(name: str) -> bool:
    return _LEFTOVER.fullmatch(name) is not None and name.partition("-")[2] in FILES
