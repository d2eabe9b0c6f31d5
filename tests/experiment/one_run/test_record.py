"""What `run.json` says about where a run came from."""

import subprocess
from pathlib import Path

import pytest

from ambidex.experiment.one_run import record

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_the_commit_of_the_source_tree_is_known():
    head = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert record._commit().removesuffix("-dirty") == head.stdout.strip()
