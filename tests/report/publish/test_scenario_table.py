"""One row per scenario, against numbers computed by hand."""

from __future__ import annotations

from pathlib import Path

from tests.report.conftest import Ambidex, WriteRun

HEAD = "scenario,seeds,steps,max_return_mean,low,high,paper_ppo,paper_msl,paper_psl,paper_asl,cpu_minutes"


def test_a_table_that_was_computed_by_hand(tmp_path: Path, write_run: WriteRun, ambidex: Ambidex) -> None:
    # The mean of the two seeds is 10, 20, ..., 60, 0: the highest five are 20 to 60, whose mean is 40.
    first = [5, 15, 25, 35, 45, 55, 0]  # 35 in those five
    second = [15, 25, 35, 45, 55, 65, 0]  # 45
    for seed, values in enumerate((first, second)):
        returns = {100 * (i + 1): [value - 1, value + 1] for i, value in enumerate(values)}
        place = tmp_path / "runs" / "A1.1" / "equivariant" / f"seed-{seed}"
        write_run(
            place,
            scenario="A1.1",
            method="equivariant",
            seed=seed,
            returns=returns,
            steps=700,
            timings={"cpu": 60.0 + 120 * seed, "rollout": 9999.0},  # 1 and 3 minutes
        )
    write_run(
        tmp_path / "runs" / "mine",
        scenario="triangle",
        method="equivariant",
        returns={100: [3.0], 200: [4.0]},
        timings={"rollout": 60.0},  # by the clock: that says what else the machine did
    )
    write_run(tmp_path / "runs" / "A2.1", scenario="A2.1", method="equivariant", status="running")
    out = tmp_path / "table.csv"
    page = tmp_path / "page.html"
    status, said, _ = ambidex("report", str(tmp_path / "runs"), "--out", str(page), "--table", str(out))
    assert (status, str(out) in said) == (0, True)
    assert out.read_text().splitlines() == [
        HEAD,
        "A1.1,2,700,40.0,35.0,45.0,892,2082,2157,2183,2.0",
        "triangle,1,1000,3.5,3.5,3.5,,,,,",
    ]


def test_the_same_to_be_read(tmp_path: Path, write_run: WriteRun, ambidex: Ambidex) -> None:
    # Windows of five end at 500, 600 and 700; their means are 2160, 2190 and 2172, the paper's best 2183.
    values = [2100, 2160, 2180, 2180, 2180, 2250, 2070]
    returns = {100 * (i + 1): [value] for i, value in enumerate(values)}
    for scenario, timings in {"A1.1": {}, "A2.1": {"cpu": 90.0}}.items():
        write_run(
            tmp_path / "runs" / scenario,
            scenario=scenario,
            method="equivariant",
            returns=returns,
            steps=700,
            timings=timings,
        )
    write_run(tmp_path / "runs" / "mine", scenario="triangle", method="equivariant", returns={100: [3.0]})
    out = tmp_path / "table.md"
    page = tmp_path / "page.html"
    status, _, _ = ambidex("report", str(tmp_path / "runs"), "--out", str(page), "--table", str(out))
    assert status == 0
    rows = [line for line in out.read_text().splitlines() if line.startswith(("| A", "| t"))]
    assert rows == [
        "| A1.1 | 1 | 700 | 2,190 | – | 892 | 2,082 | 2,157 | **2,183** | 600 | – |",
        "| A2.1 | 1 | 700 | 2,190 | – | 891 | 1,975 | 2,049 | **2,180** | 600 | 2 |",
        "| triangle | 1 | 1,000 | 3.00 | – | – | – | – | – | – | – |",
    ]


def test_runs_that_collapsed_are_said(tmp_path: Path, write_run: WriteRun, ambidex: Ambidex) -> None:
    ends = {"A1.1": ["done", "collapsed"], "A2.1": ["collapsed"]}
    for scenario, states in ends.items():
        for seed, state in enumerate(states):
            returns = {100: [2000.0]} if state == "done" else {100: [10.0]}
            place = tmp_path / "runs" / f"{scenario}-{seed}"
            write_run(
                place, scenario=scenario, method="equivariant", seed=seed, status=state, returns=returns
            )
    said = {}
    for kind in ("csv", "md"):
        out = tmp_path / f"table.{kind}"
        page = str(tmp_path / "page.html")
        assert ambidex("report", str(tmp_path / "runs"), "--out", page, "--table", str(out))[0] == 0
        said[kind] = [line for line in out.read_text().splitlines() if line.startswith(("A", "| A"))]
    assert said["csv"] == [
        "A1.1,1,1000,2000.0,2000.0,2000.0,892,2082,2157,2183,",
        "A2.1,0,,,,,891,1975,2049,2180,",
    ]
    assert said["md"] == [
        "| A1.1 | 1, 1 collapsed | 1,000 | 2,000 | – | 892 | 2,082 | 2,157 | **2,183** | not yet | – |",
        "| A2.1 | 0, 1 collapsed | – | – | – | 891 | 1,975 | 2,049 | **2,180** | not yet | – |",
    ]


def test_a_second_method_that_only_collapsed_is_refused_too(
    tmp_path: Path, write_run: WriteRun, ambidex: Ambidex
) -> None:
    for method, state in {"equivariant": "done", "ppo": "collapsed"}.items():
        place = tmp_path / "runs" / method
        write_run(place, scenario="A1.1", method=method, status=state, returns={100: [10.0]})
    out = tmp_path / "table.csv"
    page = str(tmp_path / "page.html")
    status, _, complaint = ambidex("report", str(tmp_path / "runs"), "--out", page, "--table", str(out))
    assert (status, "these runs are of equivariant and ppo" in complaint) == (2, True)


def test_a_table_of_several_methods_is_refused(study: Path, tmp_path: Path, ambidex: Ambidex) -> None:
    out = tmp_path / "table.csv"
    status, _, complaint = ambidex(
        "report", str(study), "--out", str(tmp_path / "p.html"), "--table", str(out)
    )
    assert status == 2
    assert "one method, and these runs are of asl and ppo" in complaint
    assert not out.exists()
