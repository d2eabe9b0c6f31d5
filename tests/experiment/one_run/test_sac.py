"""SAC runs: killed through the command line and resumed to the bit, and what is done with them afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, replay_pieces, run
from ambidex.experiment.one_run.off_policy_loop import PIECES
from ambidex.experiment.one_run.progress import Silent
from ambidex.experiment.one_run.training import Training
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.evaluate import evaluate
from tests.experiment.one_run.test_resume import _assert_equal, _stop_after

SMALL = {
    "algorithm": "sac",
    "num_envs": 2,
    "rounds": 16,
    "batch_size": 16,
    "net_arch": [8],
    "learning_starts": 64,
    "fit_interval": 40,
    "buffer_size": 300,
    "evaluation_every": 4,
    "evaluation_episodes": 2,
    "metrics_every": 2,
    "checkpoint_seconds": 0.0,
}


def small(method: str, iterations: int, **others):
    return resolve("triangle-rust", method, SMALL | {"steps": 32 * iterations} | others)


def ambidex(*arguments: object, wait: bool = True) -> subprocess.Popen:
    command = [sys.executable, "-m", "ambidex.cli", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if wait:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    return process


def test_killed_through_the_command_line_and_equal_to_the_bit(tmp_path: Path) -> None:
    """With a ring that goes around, a fit and drawn transforms."""
    config = small("asl", 14)
    assert config.hyperparameters.symmetry_samples == 1
    run.train(config, tmp_path / "whole")
    sets = [f"--set={key}={value}" for key, value in SMALL.items() if key != "algorithm"]
    killed = tmp_path / "killed"
    process = ambidex(
        "train", "triangle-rust", "--algorithm", "sac", "--steps", 32 * 14, "--out", killed, *sets, wait=False
    )
    while not (killed / "checkpoints" / "000005").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert record.read(killed)["status"] != "done"
    ambidex("resume", killed)
    _assert_equal(tmp_path / "whole", killed)
    assert sum(piece.last - piece.first for piece in replay_pieces.pieces(killed / PIECES)) >= 150


@pytest.mark.parametrize(
    ("method", "iterations", "actuators"),
    [
        ("ppo", 1, None),
        ("augment", 5, "transition"),
        ("equivariant", 3, None),
        ("equivariant", 4, "transition"),
    ],
)
def test_resumed_and_equal_to_the_bit(
    method: str, iterations: int, actuators: str | None, tmp_path: Path
) -> None:
    """In the random steps at the start too, whose generator is the action space's."""
    config = small(method, 6, actuators=actuators)
    run.train(config, tmp_path / "whole")
    _stop_after(config, tmp_path / "stopped", iterations)
    run.resume(tmp_path / "stopped")
    _assert_equal(tmp_path / "whole", tmp_path / "stopped")


def test_a_damaged_checkpoint_leads_to_the_same_end(tmp_path: Path) -> None:
    config = small("msl", 12, buffer_size=100)
    run.train(config, tmp_path / "whole")
    _stop_after(config, tmp_path / "stopped", 9)
    newest = tmp_path / "stopped" / "checkpoints" / "000009" / "critic.optimizer.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    run.resume(tmp_path / "stopped")
    _assert_equal(tmp_path / "whole", tmp_path / "stopped")


def test_killed_within_its_first_checkpoint_and_equal_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its replay was written and the checkpoint was not; the next start writes one sooner, by the clock."""
    config, directory = small("msl", 6), tmp_path / "killed"
    run.train(config, tmp_path / "whole")
    write, keep = checkpoint.write, Training._checkpoint

    def before_it_is_written(folder: Path, kept: checkpoint.Checkpoint) -> None:
        raise KeyboardInterrupt

    def after_it_is_written(folder: Path, kept: checkpoint.Checkpoint) -> None:
        write(folder, kept)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Training, "_checkpoint", lambda own: keep(own) if own.iteration == 3 else None)
        patched.setattr(checkpoint, "write", before_it_is_written)
        run.train(config, directory)
    assert [piece.last for piece in replay_pieces.pieces(directory / PIECES)] == [48]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(checkpoint, "write", after_it_is_written)
        run.resume(directory)
    assert [piece.last for piece in replay_pieces.pieces(directory / PIECES)] == [16]
    run.resume(directory)
    _assert_equal(tmp_path / "whole", directory)


@pytest.fixture(scope="module", params=[("asl", None), ("equivariant", "transition")])
def finished(request, tmp_path_factory) -> Path:
    method, actuators = request.param
    directory = tmp_path_factory.mktemp("runs") / "triangle-rust" / f"sac-{method}" / "seed-0"
    run.train(small(method, 5, actuators=actuators), directory)
    return directory


def test_evaluate_and_act(finished: Path) -> None:
    assert len(evaluate(finished, which="last", episodes=2)) == 2
    policy = stored.load_policy(finished, "last")
    action = policy.act(policy.env.reset()[0])
    assert policy.env.action_space.contains(action)
    header = (finished / "progress.csv").read_text().splitlines()
    assert len(header) == 6 and header[-1].split(",")[4]  # the actor's loss


def test_export(finished: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from ambidex.experiment.trained.export import export

    assert export(finished, tmp_path / "policy.onnx", "last").difference < 1e-5


def test_diagnose_and_report(finished: Path, tmp_path: Path) -> None:
    from ambidex.diagnosis.policy import diagnose_run
    from ambidex.report import write_report

    found = diagnose_run(finished, states=600)
    assert found.plain_name == "SAC" and found.motion is not None
    assert all(np.isfinite(transform.value_distance) for transform in found.transforms)
    page = write_report([finished], tmp_path / "report.html")["page"]
    assert "SAC" in Path(page).read_text()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="method 'psl' is not for algorithm 'sac'"):
        small("psl", 1)
    with pytest.raises(ValueError, match="takes no n_epochs"):
        small("asl", 1, n_epochs=3)
    with pytest.raises(ValueError, match="does not learn its ent_coef"):
        resolve("triangle-rust", "asl", {"ent_coef": "auto"})


def test_a_run_that_ends_before_it_learns_says_so(tmp_path: Path) -> None:
    said: list[str] = []

    class Listener(Silent):
        def warn(self, message: str) -> None:
            said.append(message)

    run.train(small("ppo", 1, learning_starts=500), tmp_path / "run", reporter=Listener())
    assert [one for one in said if "learns nothing: 32 steps end before learning_starts, 500" in one]
