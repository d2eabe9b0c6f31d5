"""Run directories as a crash, a full disk or a running sweep leave them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambidex.report import load_runs
from tests.report.conftest import WriteRun, announce


def test_a_sweep_is_read_to_its_last_run(study: Path) -> None:
    found = load_runs([study])
    assert [(run.method, run.seed) for run in found.runs] == [
        (m, s) for m in ("asl", "ppo") for s in range(3)
    ]
    asl = found.runs[2]
    assert asl.returns is not None
    assert asl.returns.steps.tolist() == list(range(100, 1001, 100))
    assert asl.returns.values.tolist() == [2.0 * step for step in range(100, 1001, 100)]
    assert asl.metrics["value_distance", "b", ""].values.tolist() == [2.0] * 10
    assert asl.group is not None and asl.group.names == ("a", "b", "c", "d", "e")
    assert asl.truth is not None and asl.truth["d"][0].tolist() == [1 / 3, 2, 1.5]


def test_overlapping_directories_count_once(study: Path) -> None:
    assert len(load_runs([study, study / "triangle-rust", study / "triangle-rust/ppo/seed-0"]).runs) == 6


def test_a_line_that_breaks_off_is_left_out(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", returns={100: [1, 3], 200: [5, 7]}, metrics={("x", "", ""): {5: 1.0}})
    for name, cut in (("evaluations.csv", "30,300,0,0,9"), ("symmetry.csv", "10,100,x,,,1")):
        with (run / name).open("a") as file:
            file.write(cut)
    (found,) = load_runs([run]).runs
    assert found.returns is not None and found.returns.values.tolist() == [2, 6]
    assert found.metrics["x", "", ""].steps.tolist() == [5]


def test_an_evaluation_that_breaks_off_is_left_out(tmp_path: Path, write_run: WriteRun) -> None:
    (found,) = load_runs([write_run(tmp_path / "run", returns={100: [1, 3], 200: [5]})]).runs
    assert found.returns is not None and found.returns.steps.tolist() == [100]


def test_rows_written_twice_count_once(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", returns={100: [1, 3]})
    with (run / "evaluations.csv").open("a") as file:
        file.write("10,100,1,1,3,100\n")
    (found,) = load_runs([run]).runs
    assert found.returns is not None and found.returns.values.tolist() == [2]


def test_a_run_that_has_only_begun(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", status="running", steps=0)
    for name in ("evaluations.csv", "symmetry.csv", "symmetry.yaml"):
        (run / name).unlink()
    (found,) = load_runs([run]).runs
    assert (found.status, found.returns, found.metrics, found.group, found.truth) == (
        "running",
        None,
        {},
        None,
        None,
    )


def test_empty_and_infinite_values_are_no_points(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", metrics={("x", "", ""): {5: float("nan"), 10: 2.0}})
    with (run / "symmetry.csv").open("a") as file:
        file.write("15,15,x,,,\n")
    (found,) = load_runs([run]).runs
    assert found.metrics["x", "", ""].values.tolist() == [2.0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "cannot be read"),
        ('{"format": 7, "config": {}}', "format 7"),
        ('{"format": 1, "config": {"scenario": "A1.1"}}', "has no 'status'"),
        ('{"format": 1, "status": "done", "steps": 1, "config": {"scenario": "A1.1"}}', "does not name"),
        ("[1, 2]", "not the record of a run"),
    ],
)
def test_an_unreadable_run_is_listed_and_the_others_read(
    study: Path, write_run: WriteRun, content: str, reason: str
) -> None:
    broken = write_run(study / "broken")
    (broken / "run.json").write_text(content)
    found = load_runs([study])
    assert len(found.runs) == 6
    assert reason in found.unreadable[broken]


def test_a_missing_column_is_named(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run")
    (run / "evaluations.csv").write_text("iteration,steps\n1,2\n")
    with pytest.raises(ValueError, match="lacks the column 'episode'"):
        load_runs([run])


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": {"multipliers": [1]}}', '{"a": [1, 2]}'])
def test_a_damaged_truth_is_named(tmp_path: Path, write_run: WriteRun, content: str) -> None:
    run = write_run(tmp_path / "run")
    (run / "truth.json").write_text(content)
    with pytest.raises(ValueError, match=r"truth\.json (does not map transforms|cannot be read)"):
        load_runs([run])


def test_empty_files_are_a_run_without_numbers(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "läufe" / "ein lauf")
    for name in ("evaluations.csv", "symmetry.csv"):
        (run / name).write_text("")
    (found,) = load_runs([tmp_path]).runs
    assert (found.returns, found.metrics) == (None, {})


def test_a_scenario_file_goes_by_its_name_wherever_it_lay(tmp_path: Path, write_run: WriteRun) -> None:
    for seed, place in enumerate(("/somewhere/limping.yaml", "limping.yaml")):
        write_run(tmp_path / str(seed), scenario=place, seed=seed)
    assert {run.scenario for run in load_runs([tmp_path]).runs} == {"limping"}


@pytest.mark.parametrize("content", ["[1]", '{"runs": [1]}', '{"runs": [{"config": {}}]}'])
def test_a_damaged_grid_announces_nothing(study: Path, content: str) -> None:
    (study / "sweep.json").write_text(content)
    assert load_runs([study]).planned == set()


def test_a_gymnasium_id_stands_for_a_scenario(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", scenario=None, config={"env": "Ant-v5"})
    assert load_runs([run]).runs[0].scenario == "Ant-v5"


def test_checkpoints_are_not_searched(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path / "checkpoints" / "run")
    with pytest.raises(ValueError, match=r"no run\.json"):
        load_runs([tmp_path])


def test_what_is_not_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a directory"):
        load_runs([tmp_path / "nowhere"])


def test_the_same_seed_twice_is_refused(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path / "one")
    write_run(tmp_path / "two")
    with pytest.raises(ValueError, match=r"one and .*two are both triangle-rust, asl, seed 0"):
        load_runs([tmp_path])


def test_a_sweep_announces_its_grid(study: Path) -> None:
    announce(study, ["ppo", "asl"], range(4))
    assert load_runs([study.parent]).planned == {
        ("triangle-rust", m, s) for m in ("ppo", "asl") for s in range(4)
    }
