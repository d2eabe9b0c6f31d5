"""Sweeps on Ray: what is killed goes on elsewhere, what cannot start leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ambidex.experiment.many_runs import status
from ambidex.experiment.many_runs.sweep import plan, sweep
from ambidex.experiment.one_run import record, run
from ambidex.experiment.one_run.trust.locking import is_locked

pytestmark = pytest.mark.usefixtures("at_our_own_pace")
RESULTS = ("policy-last.safetensors", "progress.csv", "evaluations.csv", "symmetry.csv")


@pytest.fixture
def at_our_own_pace(monkeypatch):
    """Ray lets its workers give way to all other processes, which on a busy machine they never get past."""
    monkeypatch.setenv("RAY_worker_niceness", "0")


def _wait_for(condition, seconds=600):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _has_checkpoint(directory):
    return any((directory / "checkpoints").glob("0*"))


def test_ray_that_is_not_installed_is_refused_before_anything_is_written(tmp_path, tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"needs Ray: pip install 'ambidex\[ray\]'"):
        sweep(plan(["triangle"], ["ppo"], range(1), tmp_path / "out", tiny), tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_ray_that_does_not_start_is_one_sentence_and_leaves_nothing_behind(tmp_path, tiny, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ValueError, match="Ray does not start: ") as refused:
        sweep(plan(["triangle"], ["ppo"], range(1), tmp_path / "out", tiny), tmp_path / "out", engine="ray")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def cluster(at_our_own_pace):
    """Two nodes on this machine, a CPU each, that share its disk; and the second of them."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes, second
    ray.shutdown()
    nodes.shutdown()


@pytest.mark.slow
def test_a_node_that_is_lost_in_the_middle_loses_no_run(tmp_path, tiny, cluster):
    nodes, second = cluster
    settings = tiny | {"steps": 128 * 100}
    planned = plan(["triangle-rust"], ["asl", "ppo"], range(2), tmp_path / "sweep", settings)
    for one in planned[:2]:
        run.train(one.config, tmp_path / "whole" / one.config.method)
    lost = threading.Event()

    def lose_the_second_node():
        _wait_for(lambda: sum(_has_checkpoint(one.directory) for one in planned) >= 2)
        nodes.remove_node(second, allow_graceful=False)
        lost.set()

    threading.Thread(target=lose_the_second_node, daemon=True).start()
    outcomes = sweep(planned, tmp_path / "sweep", engine="ray")
    assert lost.is_set()
    assert {outcome.message for outcome in outcomes} == {None}
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    assert {row.state for row in status.status(tmp_path / "sweep")} == {"done"}
    assert sum("resumed" in record.read(one.directory) for one in planned) >= 1
    for one in planned[:2]:
        for name in RESULTS:
            alone = tmp_path / "whole" / one.config.method / name
            assert (one.directory / name).read_bytes() == alone.read_bytes(), name


@pytest.mark.slow
def test_sixty_runs_are_all_done_and_none_is_lost(tmp_path, tiny, cluster):
    planned = plan(["triangle"], ["ppo", "asl"], range(30), tmp_path, tiny | {"steps": 256})
    heard = []
    outcomes = sweep(planned, tmp_path, engine="ray", listener=heard.append)
    assert len(outcomes) == len(heard) == 60
    assert {outcome.state for outcome in outcomes} == {"done"}
    rows = status.status(tmp_path)
    assert [(row.state, row.steps) for row in rows] == [("done", 256)] * 60
    assert len({row.title for row in rows}) == 60
    assert [one.state for one in sweep(planned, tmp_path, engine="ray")] == ["skipped"] * 60


def _children(parent: int, name: str) -> list[int]:
    """The processes below ``parent`` whose program is called ``name``."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            program, _, rest = (folder / "stat").read_text().partition(") ")
            if int(rest.split()[1]) == parent:
                own = [int(folder.name)] if program.partition("(")[2] == name else []
                found += own + _children(int(folder.name), name)
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["driver", "raylet"])
def test_a_killed_driver_or_raylet_leaves_runs_that_the_same_command_ends(tmp_path, tiny, killed):
    pytest.importorskip("ray")
    settings = [part for key, value in tiny.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-W", "ignore", "-m", "ambidex.cli", "sweep", "--scenarios", "triangle-rust"]
    command += ["--methods", "asl", "--out", str(tmp_path / "sweep"), "--engine", "ray", *settings]
    directory = tmp_path / "sweep" / "triangle-rust" / "asl" / "seed-0"
    driver = subprocess.Popen([*command, "--steps", str(128 * 100_000)], stdout=subprocess.DEVNULL)
    _wait_for(lambda: driver.poll() is None and _has_checkpoint(directory))
    for pid in [driver.pid] if killed == "driver" else _children(driver.pid, "raylet"):
        os.kill(pid, signal.SIGKILL)
    try:
        driver.wait(timeout=300)
    finally:
        driver.kill()
    _wait_for(lambda: not is_locked(directory))
    steps = str(record.read(directory)["steps"] + 128)
    done = subprocess.run([*command, "--steps", steps], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [row.state for row in status.status(tmp_path / "sweep")] == ["done"]
    whole = plan(["triangle-rust"], ["asl"], range(1), tmp_path / "whole", tiny | {"steps": int(steps)})[0]
    run.train(whole.config, whole.directory)
    for name in RESULTS:
        assert (directory / name).read_bytes() == (whole.directory / name).read_bytes(), name
