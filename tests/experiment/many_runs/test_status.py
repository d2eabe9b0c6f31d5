import json
import shutil

import pytest

from ambidex.experiment.many_runs.status import status
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.trust.locking import lock


def _edit(directory, **changes):
    path = directory / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_finished_run(finished):
    (row,) = status(finished)
    assert (row.title, row.state, row.steps, row.total) == ("triangle-rust asl seed 0", "done", 512, 512)
    assert row.seconds_left is None


def test_speed_and_time_left_follow_from_the_timings(finished, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    config = record.read(copy)["config"]
    _edit(copy, status="running", config=config | {"steps": 1024})
    header = "iteration,rollout,fit,update,logging,evaluation\n"
    (copy / "timings.csv").write_text(header + "".join(f"{i},1,0,0.5,0.25,0.25\n" for i in range(1, 5)))
    assert status(copy)[0].state == "stopped"
    with lock(copy):
        (row,) = status(copy)
    assert row.state == "running"
    assert row.speed == pytest.approx(64)  # 128 steps in 2 seconds
    assert row.seconds_left == pytest.approx(8)
    assert row.figures() == ["512 of 1,024", f"{row.episode_return:,.1f}", "64", "0:00:08"]


def test_what_a_sweep_has_not_started_is_waiting(finished, tmp_path):
    config = record.read(finished)["config"]
    shutil.copytree(finished, tmp_path / "triangle-rust" / "asl" / "seed-0")
    runs = [
        {"directory": "triangle-rust/asl/seed-0", "config": config},
        {"directory": "triangle-rust/asl/seed-1", "config": config | {"seed": 1}},
    ]
    (tmp_path / "sweep.json").write_text(json.dumps({"runs": runs}))
    assert [(row.title, row.state) for row in status(tmp_path)] == [
        ("triangle-rust asl seed 0", "done"),
        ("triangle-rust asl seed 1", "waiting"),
    ]
    assert [entry.as_json()["state"] for entry in status(tmp_path)] == ["done", "waiting"]


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("run.json", "{", "run.json cannot be read"),
        ("run.json", "[1]", "is not the record of a run"),
        ("run.json", '{"format": 1}', "has no 'config'"),
        ("progress.csv", "iteration,steps\n1,128\n", "lacks the column 'episode_return'"),
    ],
)
def test_a_damaged_run_is_shown_with_the_reason_beside_the_others(finished, tmp_path, file, content, reason):
    for name in ("damaged", "whole"):
        shutil.copytree(finished, tmp_path / name)
    (tmp_path / "damaged" / file).write_text(content)
    damaged, whole = status(tmp_path)
    assert (damaged.state, whole.state) == ("unreadable", "done")
    assert reason in damaged.message


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"runs": 1}', '{"runs": [{"directory": "x"}]}'])
def test_a_damaged_grid_is_said_in_one_line(tmp_path, content):
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(ValueError, match=r"sweep\.json is damaged; remove it"):
        status(tmp_path)


def test_a_run_without_any_rows_yet(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("progress.csv", "timings.csv"):
        (tmp_path / "run" / name).write_text("")
    (row,) = status(tmp_path)
    assert (row.state, row.steps, row.episode_return, row.speed) == ("done", 0, None, None)


def test_an_empty_directory_says_what_writes_runs(tmp_path):
    with pytest.raises(ValueError, match="ambidex train"):
        status(tmp_path)
