"""What is kept of a run is little, and a report of it says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ambidex.report import load_runs, summarise, write_report
from ambidex.report.publish.summaries import thinned
from ambidex.report.records import ratios, results
from ambidex.report.tables import maps_table
from tests.report.conftest import WriteRun, fitted_metrics, triangle_map, write_csv

LOGS = ("progress.csv", "timings.csv")


def test_a_report_of_the_summaries_says_the_same(tmp_path: Path, write_run: WriteRun) -> None:
    steps = range(1_000, 100_001, 1_000)
    for seed in range(2):
        directory = tmp_path / "runs" / str(seed)
        metrics = fitted_metrics((1.0, 1.9, 3.0), steps)
        for number, name in enumerate("abcde"):
            metrics["value_distance", name, ""] = {step: (number + seed) / step for step in steps}
            for element, multiplier in enumerate(triangle_map(name)):
                metrics["map_m", name, str(element)] = {step: multiplier + 1 / step for step in steps}
        metrics["target_m", "", "0->1"] = {step: 2 + 1 / step for step in steps}
        returns = {step: [step / 100 + seed] for step in steps}
        write_run(directory, seed=seed, returns=returns, metrics=metrics, truth=True)
        about = json.loads((directory / "run.json").read_text())
        resumed = {"time": "later", "steps": 5, "versions": {}, "commit": None, "host": "bench-8"}
        about |= {
            "host": "bench-7",
            "resumed": [resumed],
            "command": f"train --out {directory} --symmetry=/a/b.yaml '/d e/f g' runs/c",
        }
        about["config"]["symmetry"] = "/home/somebody/robots/b.yaml"
        (directory / "run.json").write_text(json.dumps(about))
        for name in LOGS:
            (directory / name).write_text("a line for each iteration\n")
    out = tmp_path / "kept"
    write_report([tmp_path / "runs"], tmp_path / "page.html", summaries=out)
    whole, kept = (summarise(load_runs([place])) for place in (tmp_path / "runs", out))
    for ours, theirs in zip(results(kept), results(whole), strict=True):
        assert ours == pytest.approx(theirs)
    assert ratios(kept) == ratios(whole)
    assert maps_table(kept.scenarios[0].methods[0]) == maps_table(whole.scenarios[0].methods[0])
    run = out / "triangle-rust" / "asl" / "seed-0"
    assert not any((run / name).exists() for name in LOGS)
    record = (run / "run.json").read_text()
    assert "bench" not in record
    assert json.loads(record)["command"] == "train --out 0 --symmetry=b.yaml 'f g' runs/c"
    assert json.loads(record)["config"]["symmetry"] == "b.yaml"
    assert json.loads(record)["config"]["scenario"] == "triangle-rust"
    lines = (run / "symmetry.csv").read_text().splitlines()
    # value distances 100, targets of 3 pairs at 8, 20 and 60 thousand and the last five, 15 + 5 last ones
    assert len(lines) == 1 + 100 + 3 * (3 + 5) + 15 + 5
    (out / "triangle-rust" / "asl" / "seed-0" / "run.json").unlink()
    page = tmp_path / "again.html"
    with pytest.raises(ValueError, match="seed-1 holds a run already"):
        write_report([tmp_path / "runs"], page, summaries=out)
    assert not page.exists()
    assert not (out / "triangle-rust" / "asl" / "seed-0" / "run.json").exists()


def test_targets_at_the_milestones_are_the_newest_of_then(tmp_path: Path) -> None:
    steps = [7_000, 9_000, 50_000, 61_000, *range(110_000, 190_000, 10_000)]
    rows = [[number, step, "target_m", "", "0->1", step / 1e4] for number, step in enumerate(steps)]
    path = tmp_path / "symmetry.csv"
    write_csv(path, [["iteration", "steps", "metric", "transform", "element", "value"], *rows])
    kept = [line.split(",") for line in thinned(path).splitlines()[1:]]
    assert [int(row[1]) for row in kept] == [7_000, 9_000, 50_000, *range(140_000, 190_000, 10_000)]
    assert all(float(row[5]) == int(row[1]) / 1e4 for row in kept)
