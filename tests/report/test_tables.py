"""The three formats of a table, each read back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from ambidex.report import load_runs, summarise, write_tables
from ambidex.report.tables import Row, Table, latex, markdown, results_table

from .conftest import WriteRun


@pytest.fixture
def ant(tmp_path: Path, write_run: WriteRun) -> Path:
    for method, value in (("asl", 2000.4), ("ppo", 900.0)):
        metrics = {("value_distance", "a", ""): {1: 1.234}}
        write_run(
            tmp_path / method, scenario="A1.1", method=method, returns={61440: [value]}, metrics=metrics
        )
    return tmp_path


def test_ours_and_the_papers_in_the_papers_layout(ant: Path) -> None:
    table = results_table(summarise(load_runs([ant])).scenarios[0])
    assert [row.cells for row in table.rows] == [
        ["PPO", "1", "900", "0.0", "61k", "61k", "1.23", "1.23", "0.00"],
        ["paper", "12", "892", "12.6", "0.68M", "0.37M", "–", "–", "–"],
        ["ASL", "1", "2,000", "0.0", "61k", "61k", "1.23", "1.23", "0.00"],
        ["paper", "12", "2,183", "29.7", "3.82M", "2.65M", "1.01", "0.96", "0.06"],
    ]
    assert [row.quiet for row in table.rows] == [False, True, False, True]
    assert sum(span for _, span in table.groups) == len(table.columns)


@pytest.mark.parametrize(("points", "is_noted"), [(4, True), (9, True), (10, False)])
def test_few_evaluations_are_noted_under_the_table(
    tmp_path: Path, write_run: WriteRun, points: int, is_noted: bool
) -> None:
    write_run(tmp_path / "run", returns={100 * (1 + point): [1.0] for point in range(points)})
    note = results_table(summarise(load_runs([tmp_path])).scenarios[0]).note
    assert note.startswith(f"Only {points} evaluations: a window of five") == is_noted == bool(note)


def test_different_settings_are_noted_under_the_table(ant: Path, write_run: WriteRun) -> None:
    assert "different" not in results_table(summarise(load_runs([ant])).scenarios[0]).note
    write_run(ant / "psl", scenario="A1.1", method="psl", returns={61440: [1.0]}, config={"steps": 7})
    note = results_table(summarise(load_runs([ant])).scenarios[0]).note
    assert note.startswith("The methods were run with different steps: compare them with care. Only 1")


def test_csv_continues_the_papers_data(ant: Path, tmp_path: Path) -> None:
    _, _, path = write_tables([ant], tmp_path / "tables")
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [(row["method"], row["source"], row["seeds"]) for row in rows] == [
        ("ppo", "ours", "1"),
        ("ppo", "paper", "12"),
        ("asl", "ours", "1"),
        ("asl", "paper", "12"),
    ]
    assert [float(row["max_return_mean"]) for row in rows] == [900, 892, 2000.4, 2183]
    assert rows[0]["value_distance_mean"] == "1.234"
    assert rows[1]["value_distance_mean"] == rows[0]["probability_over_ppo"] == ""


def test_every_markdown_line_has_every_column(study: Path, tmp_path: Path) -> None:
    text = write_tables([study], tmp_path / "tables")[0].read_text()
    for table in text.split("### ")[1:]:
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len(lines) > 2
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "| 0→1 | 2.000 | 2.000 |" in text


def test_every_latex_line_has_every_column(study: Path, tmp_path: Path) -> None:
    text = write_tables([study], tmp_path / "tables")[1].read_text()
    tables = re.findall(r"\\begin\{tabular\}\{([|lr]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(tables) == 4
    for layout, body in tables:
        for line in (line for line in body.splitlines() if "\\\\" in line):
            spans = sum(int(span) - 1 for span in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == len(re.findall("[lr]", layout))
    assert text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
    assert text.isascii()


def test_special_characters_survive() -> None:
    table = Table("x", "50 % of a_b & c", [("", "a|b"), ("", "µ")], [Row(["x|y", "−1"])])
    assert "| x\\|y | −1 |" in markdown(table)
    assert "50 \\% of a\\_b \\& c" in latex(table)
    assert "x|y & $-$1 \\\\" in latex(table)
