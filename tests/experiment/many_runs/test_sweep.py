import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from ambidex.experiment.many_runs import status
from ambidex.experiment.many_runs.sweep import plan, sweep, usable_cores
from ambidex.experiment.one_run import record, run
from ambidex.experiment.one_run.trust.locking import is_locked


def test_the_grid_is_a_product_seed_by_seed(tmp_path):
    runs = plan(["A1.1", "A2.1"], ["ppo", "asl"], range(2), tmp_path, {"steps": 10})
    assert [str(planned.directory.relative_to(tmp_path)) for planned in runs[:5]] == [
        "A1.1/ppo/seed-0",
        "A1.1/asl/seed-0",
        "A2.1/ppo/seed-0",
        "A2.1/asl/seed-0",
        "A1.1/ppo/seed-1",
    ]
    assert len(runs) == 8
    assert {planned.config.steps for planned in runs} == {10}


@pytest.mark.parametrize(
    ("scenarios", "methods", "words"),
    [
        (["A1.1"], ["sac"], "'sac'"),
        (["trianglee"], ["ppo"], "did you mean 'triangle'"),
        (["triangle", "triangle"], ["ppo"], "triangle ppo seed 0 would be run twice"),
        (["triangle"], ["ppo", "asl", "ppo"], "triangle ppo seed 0 would be run twice"),
    ],
)
def test_what_does_not_exist_or_is_given_twice_is_refused(tmp_path, scenarios, methods, words):
    with pytest.raises(ValueError, match=words):
        plan(scenarios, methods, range(1), tmp_path, {})


def test_cores_are_those_that_the_process_may_use_or_all_where_nothing_is_said(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert usable_cores() == 8


def test_a_sweep_finishes_resumes_skips_and_reports_failures(tmp_path, tiny, finished):
    runs = plan(["triangle-rust"], ["ppo", "asl"], range(1), tmp_path, tiny)
    broken = plan(["triangle"], ["ppo"], range(1), tmp_path, tiny | {"learning_rate": 1e30})
    outcomes = sweep(runs + broken, tmp_path, jobs=2)
    states = {outcome.run.directory: outcome for outcome in outcomes}
    assert [states[planned.directory].state for planned in runs] == ["done", "done"]
    assert states[broken[0].directory].state == "failed"
    assert "nan or infinity" in states[broken[0].directory].message

    alone = finished / "policy-last.safetensors"
    assert (runs[1].directory / "policy-last.safetensors").read_bytes() == alone.read_bytes()

    announced = json.loads((tmp_path / "sweep.json").read_text())
    methods = [run["config"]["method"] for run in announced["runs"]]
    assert methods == ["ppo", "asl", "ppo"]
    heard = []
    again = sweep(runs, tmp_path, listener=heard.append)
    assert [outcome.state for outcome in again] == ["skipped", "skipped"]
    assert heard == again
    assert json.loads((tmp_path / "sweep.json").read_text()) == announced
    assert {row.state for row in status.status(tmp_path)} == {"done", "failed"}


def test_other_settings_in_the_same_place_are_refused_before_anything_is_written(tmp_path, tiny):
    sweep(plan(["triangle"], ["ppo"], range(1), tmp_path, tiny), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="another gamma;"):
        sweep(plan(["triangle"], ["ppo"], range(3), tmp_path, tiny | {"gamma": 0.5}), tmp_path)
    with pytest.raises(ValueError, match="512 steps already"):
        sweep(plan(["triangle"], ["ppo"], range(3), tmp_path, tiny | {"steps": 256}), tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_damaged_grid_is_refused_before_anything_is_trained(tmp_path, tiny):
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(ValueError, match=r"sweep\.json is damaged"):
        sweep(plan(["triangle"], ["ppo"], range(1), tmp_path, tiny), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.json"]


def test_more_steps_extend_the_runs_that_are_there(tmp_path, tiny, finished):
    short, longer = (
        plan(["triangle-rust"], ["asl"], range(1), tmp_path, tiny | {"steps": steps}) for steps in (256, 512)
    )
    for runs in (short, longer):
        assert [outcome.state for outcome in sweep(runs, tmp_path)] == ["done"]
        assert status.status(tmp_path)[0].total == runs[0].config.steps
        assert [outcome.state for outcome in sweep(runs, tmp_path)] == ["skipped"]
    for name in ("policy-last.safetensors", "progress.csv", "evaluations.csv", "symmetry.csv"):
        assert (longer[0].directory / name).read_bytes() == (finished / name).read_bytes()
    announced = json.loads((tmp_path / "sweep.json").read_text())
    assert [entry["config"]["steps"] for entry in announced["runs"]] == [512]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_sweep_and_the_same_command_goes_on(tmp_path, tiny, ending):
    settings = [part for key, value in tiny.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "ambidex.cli", "sweep", "--scenarios", "triangle", "--methods", "asl"]
    command += ["--out", str(tmp_path), *settings, "--steps", str(128 * 100_000)]
    directory = tmp_path / "triangle" / "asl" / "seed-0"
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not (directory / "checkpoints").exists():
        assert parent.poll() is None
        time.sleep(0.05)
    parent.send_signal(ending)
    assert parent.wait() == (128 + ending if ending == signal.SIGTERM else -ending)
    patience = 0 if ending == signal.SIGTERM else 600
    while is_locked(directory):
        assert patience > 0
        patience -= 1
        time.sleep(0.05)
    made = record.read(directory)["steps"]
    (planned,) = plan(["triangle"], ["asl"], range(1), tmp_path, tiny | {"steps": made + 128})
    assert [outcome.state for outcome in sweep([planned], tmp_path)] == ["done"]


@pytest.mark.slow
def test_ray_resumes_a_run_whose_worker_is_killed(tmp_path, tiny):
    ray = pytest.importorskip("ray")
    settings = tiny | {"steps": 128 * 150}
    (planned,) = plan(["triangle-rust"], ["asl"], range(1), tmp_path / "sweep", settings)
    run.train(planned.config, tmp_path / "whole")
    killed = threading.Event()

    def kill_once_it_has_a_checkpoint():
        directory = planned.directory
        while not (list((directory / "checkpoints").glob("0*")) if directory.exists() else []):
            time.sleep(0.02)
        os.kill(int((directory / "lock").read_text()), signal.SIGKILL)
        killed.set()

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        killer = threading.Thread(target=kill_once_it_has_a_checkpoint, daemon=True)
        killer.start()
        (outcome,) = sweep([planned], tmp_path / "sweep", engine="ray")
    finally:
        ray.shutdown()
    assert killed.is_set()
    assert outcome.state == "done"
    assert record.read(planned.directory)["status"] == "done"
    for name in ("policy-last.safetensors", "progress.csv", "evaluations.csv", "symmetry.csv"):
        assert (planned.directory / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
