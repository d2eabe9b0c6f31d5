"""What `run.json` says about where a run came from."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ambidex.experiment.one_run import record, run
from ambidex.experiment.one_run.trust import resumes

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_the_commit_of_the_source_tree_is_known():
    head = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert resumes.commit().removesuffix("-dirty") == head.stdout.strip()


def test_a_run_from_before_presets_and_collapses_is_read(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    about = json.loads(path.read_text())
    for name in ("preset", "stop_collapsed"):
        del about["config"][name]
    del about["timings"]["cpu"]
    path.write_text(json.dumps(about))
    config = record.read_config(tmp_path / "run")
    assert (config.preset, config.stop_collapsed) == (None, True)
    named = config.model_copy(update={"preset": "paper"})
    record.require_same_run(tmp_path / "run", named)


def test_the_time_of_the_processor_goes_on_when_a_run_does(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    before = record.read(finished)["timings"]["cpu"]
    assert 0 < before < 600
    run.resume(tmp_path / "run", steps=record.read_config(finished).steps + 128)
    assert record.read(tmp_path / "run")["timings"]["cpu"] > before
