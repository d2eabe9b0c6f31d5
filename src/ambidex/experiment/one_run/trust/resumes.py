"""Where and with what a run is trained, each time that it is taken up again."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "ambidex",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "gymnasium",
    "numpy",
    "pybullet",
    "mujoco",
)
COMPARED = ("versions", "commit", "host")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def surroundings() -> dict[str, Any]:
    """Versions, commit and host."""
    return {
        "versions": {"python": platform.python_version()} | _versions(),
        "commit": commit(),
        "host": platform.node(),
    }


def hardware() -> dict[str, Any]:
    return {"cpu": _cpu(), "cores": os.cpu_count(), "platform": platform.platform()}


def changes(about: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What is not as it was when the run was last trained, in words.

    :param about: the run's record, with its earlier ``resumed``
    :param here: the `surroundings` of now
    """
    last: dict[str, Any] = {name: about.get(name) for name in COMPARED}
    for resumed in about.get("resumed", []):
        last |= {name: resumed.get(name) for name in COMPARED}
    versions = last["versions"] or {}
    words = [
        f"{name} {version} instead of {versions[name]}"
        for name, version in here["versions"].items()
        if name in versions and versions[name] != version
    ]
    for name in ("commit", "host"):
        if last[name] is not None and here[name] is not None and last[name] != here[name]:
            words.append(f"{name} {here[name]} instead of {last[name]}")
    return words


def commit() -> str | None:
    """The commit of the source tree that runs, marked if files in it are changed; None if installed."""
    root = Path(__file__).parents[5]
    if not (root / ".git").exists():
        return None
    try:
        run = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(run, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
