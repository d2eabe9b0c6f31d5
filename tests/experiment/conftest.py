"""A small finished run that several tests read."""

from pathlib import Path

import pytest

from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import run

TINY = {
    "n_steps": 16,
    "num_envs": 8,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [16, 16],
    "evaluation_every": 2,
    "evaluation_episodes": 4,
    "metrics_every": 2,
    "checkpoint_seconds": 0.0,
    "steps": 8 * 16 * 4,
    "fit": "pairwise",
    "value_gate": 1.5,
}


@pytest.fixture(scope="session")
def tiny() -> dict:
    """Overrides of a run of four iterations of 128 steps."""
    return dict(TINY)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """The directory of a finished ASL run on the rusty triangle; not to be changed."""
    directory = tmp_path_factory.mktemp("runs") / "finished"
    run.train(resolve("triangle-rust", "asl", TINY), directory)
    return directory
