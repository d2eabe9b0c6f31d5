"""The page, read by a parser: complete, self-contained, and the same for the same runs."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ambidex.cli.command_line import app
from ambidex.report import write_page, write_report
from ambidex.report.charts import charts
from ambidex.report.charts.charts import Chart, Line
from ambidex.report.summary import ScenarioSummary

from .conftest import WriteRun

VOID = {"meta", "br", "img", "input", "link", "hr"}
LOADING = {"src", "href", "srcset", "poster", "data", "action"}


class Page(HTMLParser):
    """What a test asks of a page: its balance, ids, references, scripts and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.plots: list[str] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self._script: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [values["id"]] if values.get("id") else []
        self.references += [value for name, value in attrs if name in LOADING and value]
        if "plot" in (values.get("class") or "").split():
            self.plots.append(values["id"] or "")
        if tag == "script":
            self._script = values.get("data-plot") or values.get("id") or "main"
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._script = None
        self.text += " "

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data
        elif self.open and self.open[-1] != "style":
            self.text += data


@pytest.fixture
def html(study: Path, tmp_path: Path) -> str:
    return write_page([study], tmp_path / "new" / "page.html").read_text()


def test_the_page_is_well_formed(html: str) -> None:
    page = Page(html)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {"summary", "triangle-rust", "provenance"} <= set(page.ids)


def test_what_is_constant_is_said_instead_of_drawn(html: str) -> None:
    page = Page(html)
    assert page.plots == ["triangle-rust-return"]
    assert "Constant, so not drawn: a 0.100, b 0.100 and c 0.100." in page.text
    # limb 1 at 1.9, 2.0 and 2.1 in the three seeds: the mean of 3/1.9, 3/2 and 3/2.1 is 1.503
    assert "Constant, so not drawn: 0→1 2.000, 0→2 3.000 and 1→2 1.503." in page.text


def test_every_figure_has_its_data(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ambidex.report.charts.charts._INVISIBLE", -1.0)  # draw what is constant too
    page = Page(write_page([study], tmp_path / "page.html").read_text())
    keys = ["return", "value-distance", "rejection-asl", "targets-asl", "maps-asl", "target-error-asl"]
    assert page.plots == [f"triangle-rust-{key}" for key in keys]
    for plot in page.plots:
        figure = json.loads(page.scripts[plot])
        assert all(len(trace["x"]) == len(trace["y"]) > 0 for trace in figure["data"])
    returns = json.loads(page.scripts["triangle-rust-return"])["data"]
    assert [trace["line"].get("dash") for trace in returns if trace["showlegend"]] == ["dot", "solid"]
    assert returns[-1]["y"] == [2.0 * step for step in range(100, 1001, 100)]


def test_the_colours_of_the_figures_are_defined(html: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", html))
    defined = set(re.findall(r"(--[\w-]+):", html))
    assert used <= defined


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    page = Page(html)
    assert all(reference.startswith("#") for reference in page.references)
    without_plotly = html.replace(page.scripts["plotly"], "")
    assert not re.search(r"//[\w-]+\.\w|@import|url\(|fetch\(", without_plotly)
    assert "default-src 'none'" in html


def test_plotly_is_inside_once(html: str) -> None:
    from plotly.offline import get_plotlyjs

    assert gzip.decompress(base64.b64decode(Page(html).scripts["plotly"])).decode() == get_plotlyjs()
    assert len(html) < 3_000_000


def test_what_the_page_says(html: str) -> None:
    text = " ".join(Page(html).text.split())
    for phrase in (
        "PPO and ASL on triangle-rust",
        "6 runs: 3 seeds per method and scenario, 1,000 training steps each.",
        "Highest return on triangle-rust 1,600",
        "2.00 times PPO's 800",
        "2.00 · 3.00 · 1.50",
        "The true ratios are 2, 3 and 1.5.",
        "Each of the 3 seeds of ASL ended higher than all 3 of PPO.",
        "nothing missing",
        "torch 2.13.0",
        "0123abc",
        "ambidex train triangle-rust --method asl --seed 0",
    ):
        assert phrase in text


def test_missing_runs_are_told_first(study: Path, write_run: WriteRun, tmp_path: Path) -> None:
    write_run(study / "x", seed=3, status="failed", steps=10)
    (write_run(study / "y", seed=4) / "run.json").write_text("{")
    text = " ".join(Page(write_page([study], tmp_path / "page.html").read_text()).text.split())
    # PPO's seed 3, ASL's failed seed 3 and the unreadable run.
    assert "6 of 9 3 runs missing, failed or unfinished" in text
    assert "seed 3: failed at 10 of 1,000 steps" in text
    assert "cannot be read" in text


def test_one_seed_is_called_one_seed(tmp_path: Path, write_run: WriteRun) -> None:
    for method in ("ppo", "asl"):
        write_run(tmp_path / method, method=method, returns={100: [1.0]})
    text = " ".join(Page(write_page([tmp_path], tmp_path / "page.html").read_text()).text.split())
    assert "a difference between them may be luck" in text
    assert "One seed each, so there is no interval." in text
    assert "1 evaluation so far" in text


def test_a_page_before_the_first_evaluation(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path / "run", status="running", steps=64)
    page = Page(write_page([tmp_path], tmp_path / "page.html").read_text())
    assert page.plots == []
    assert "seed 0: running at 64 of 1,000 steps" in page.text


def test_a_scenario_of_ones_own_is_described_by_the_runs_copy(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", scenario="/gone/limping.yaml", returns={100: [1.0]})
    (run / "scenario.yaml").write_text(
        "limping: {env: ambidex/Ant-v0, symmetry: ant, description: A left foot drags.}\n"
    )
    text = " ".join(Page(write_page([tmp_path], tmp_path / "page.html").read_text()).text.split())
    assert "ASL on limping" in text and "A left foot drags." in text


def test_a_fit_without_pairs_can_be_shown(tmp_path: Path, write_run: WriteRun) -> None:
    metrics = {("target_b", "", "0->0"): {10: 0.5}, ("map_m", "a", "0"): {10: -1.0}}
    write_run(tmp_path / "run", returns={100: [1.0]}, metrics=metrics)
    page = Page(write_page([tmp_path], tmp_path / "page.html").read_text())
    assert page.plots == ["triangle-rust-return", "triangle-rust-biases-asl"]


def test_names_are_escaped(tmp_path: Path, write_run: WriteRun) -> None:
    hostile = "<script>alert(1)</script>"
    write_run(tmp_path / "run", scenario=None, config={"env": hostile}, returns={100: [1.0]})
    page = Page(write_page([tmp_path], tmp_path / "page.html").read_text())
    assert f"ASL on {hostile}" in page.text
    assert "alert(1)" not in "".join(page.scripts.values())


def test_the_papers_figures_stand_under_ours(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path / "run", scenario="A2.1", returns={61440: [2000.0]})
    text = " ".join(Page(write_page([tmp_path], tmp_path / "page.html").read_text()).text.split())
    assert "ASL 1 2,000 0.0 61k 61k – – – paper 12 2,180 33.5 3.69M 2.65M 0.95 1.08 0.10" in text


def test_the_same_runs_and_seed_give_the_same_page(scattered: Path, tmp_path: Path) -> None:
    first = write_page([scattered], tmp_path / "one.html").read_bytes()
    assert first == write_page([scattered], tmp_path / "two.html").read_bytes()


def test_another_seed_of_the_bootstrap_gives_other_intervals(scattered: Path, tmp_path: Path) -> None:
    """Beyond the seed itself, which the page prints: bands of the figures and intervals in the tables."""
    one, other = (
        Page(write_page([scattered], tmp_path / f"{seed}.html", seed=seed).read_text()) for seed in (0, 1)
    )
    assert one.plots == other.plots != []
    for plot in one.plots:
        traces = [json.loads(page.scripts[plot])["data"] for page in (one, other)]
        means = [[trace["y"] for trace in found if trace["showlegend"]] for found in traces]
        assert means[0] == means[1]
        assert traces[0] != traces[1]
    intervals = [re.findall(r"\[[\d.]+, [\d.]+\]", page.text) for page in (one, other)]
    assert len(intervals[0]) == len(intervals[1]) > 0
    assert intervals[0] != intervals[1]


def own_chart(section: str, method: str = "") -> Callable[[ScenarioSummary, int], list[Chart]]:
    def make(scenario: ScenarioSummary, seed: int) -> list[Chart]:
        line = Line("mine", np.array([1.0, 2.0]), np.array([3.0, 4.0]), "series-0")
        return [Chart("own", section, "My chart", "mine", [line], "What I drew.", method)]

    return make


@pytest.mark.parametrize(("section", "method"), [("returns", ""), ("symmetry", ""), ("fit", "ppo")])
def test_a_chart_of_ones_own_is_among_the_figures_and_on_the_page(
    section: str, method: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "CHARTS", [*charts.CHARTS, own_chart(section, method)])
    written = write_report([study], tmp_path / "page.html", figures=tmp_path / "figures")
    assert str(tmp_path / "figures" / "triangle-rust-own.svg") in written["figures"]
    page = Page((tmp_path / "page.html").read_text())
    assert page.plots.count("triangle-rust-own") == 1
    assert "My chart" in page.text and "What I drew." in page.text


@pytest.mark.parametrize(
    ("section", "method", "message"),
    [
        ("symetry", "", r"chart 'own': the page has no section 'symetry'; did you mean 'symmetry'\?"),
        ("fit", "msl", r"chart 'own': the section 'fit' has a part for each method; 'msl' is none"),
    ],
)
def test_a_chart_without_a_place_on_the_page_is_refused(
    section: str, method: str, message: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "CHARTS", [*charts.CHARTS, own_chart(section, method)])
    with pytest.raises(ValueError, match=message):
        write_page([study], tmp_path / "page.html")


def test_nothing_half_written_stays(study: Path, tmp_path: Path) -> None:
    write_page([study], tmp_path / "out" / "page.html")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["page.html"]


def test_the_verb(study: Path, tmp_path: Path) -> None:
    page, tables, figures = tmp_path / "page.html", tmp_path / "tables", tmp_path / "figures"
    options = ["--out", page, "--tables", tables, "--figures", figures]
    result = CliRunner().invoke(app, ["report", str(study), *map(str, options), "--json"])
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    assert Path(written["page"]).is_file()
    assert len(written["tables"]) == 3 and len(written["figures"]) == 12
    assert [row["max_return_mean"] for row in written["results"]] == [800, 1600]
    assert [row["learned"] for row in written["ratios"]] == pytest.approx([2, 3, 1.5025], abs=0.01)
    plain = CliRunner().invoke(app, ["report", str(study), "--out", str(page)])
    assert plain.stdout.split() == [str(page)]
