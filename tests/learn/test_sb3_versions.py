"""The oldest and the newest Stable-Baselines3 that the package allows, each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("test_ppo.py")


@pytest.mark.sb3_versions
@pytest.mark.parametrize(("requirement", "version"), [("==2.9.0", "2.9.0"), (">=2.9,<3", None)])
def test_learning_with(requirement: str, version: str | None, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, "--target", str(tmp_path), f"stable-baselines3{requirement}"], check=True)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    where = "import stable_baselines3 as sb3; print(sb3.__version__, sb3.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", where], env=environment, check=True, capture_output=True, text=True
    )
    assert str(tmp_path) in found.stdout
    if version is not None:
        assert found.stdout.startswith(f"{version} ")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", str(TESTS), "-q", "-p", "no:cacheprovider"],
        env=environment,
        cwd=TESTS.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
