"""The figure files: their formats, their colours, and that the same runs give the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ambidex.experiment.configure.methods import METHODS
from ambidex.report import load_runs, summarise, write_figures
from ambidex.report.charts.charts import Chart, charts
from ambidex.report.charts.files import FORMATS, draw

from .conftest import WriteRun

KEYS = ["return", "value-distance", "rejection-asl", "targets-asl", "maps-asl", "target-error-asl"]


def returns_chart(directory: Path) -> Chart:
    return charts(summarise(load_runs([directory])).scenarios[0])[0]


def test_each_figure_as_png_and_svg(study: Path, tmp_path: Path) -> None:
    written = write_figures([study], tmp_path / "figures")
    assert [path.name for path in written] == [
        f"triangle-rust-{key}.{e}" for key in KEYS for e in ("png", "svg")
    ]
    for path in written:
        content = path.read_bytes()
        if path.suffix == ".png":
            assert content.startswith(b"\x89PNG")
        else:
            assert ElementTree.fromstring(content).tag.endswith("svg")


def test_the_papers_colours_and_the_dotted_baseline(study: Path) -> None:
    paths = [
        e
        for e in ElementTree.fromstring(draw(returns_chart(study), "svg", "x")).iter()
        if e.tag.endswith("path")
    ]
    styles = [path.get("style", "") for path in paths]
    ppo, asl = METHODS.get("ppo").colours[0], METHODS.get("asl").colours[0]
    assert any(f"stroke: {ppo}" in style and "stroke-dasharray" in style for style in styles)
    assert any(f"stroke: {asl}" in style and "stroke-dasharray" not in style for style in styles)


@pytest.mark.parametrize(("method", "channel"), [("psl", 0), ("msl", 1), ("asl", 2)])
def test_psl_is_red_msl_green_asl_blue(method: str, channel: int) -> None:
    for colour in METHODS.get(method).colours:
        channels = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
        assert max(channels) == channels[channel]


@pytest.mark.parametrize("format_", FORMATS)
def test_the_same_runs_give_the_same_bytes(study: Path, format_: str) -> None:
    assert draw(returns_chart(study), format_, "x") == draw(returns_chart(study), format_, "x")


def test_lines_and_references(study: Path) -> None:
    found = {chart.key: chart for chart in charts(summarise(load_runs([study])).scenarios[0])}
    assert list(found) == KEYS
    targets = found["targets-asl"]
    truths = [line.y[0] for line in targets.lines if line.reference]
    assert truths == pytest.approx([2, 3, 1.5])
    assert [line.broad for line in targets.lines] == [
        True,
        False,
    ] * 3  # the truth behind its line
    assert [line.label for line in found["return"].lines] == ["PPO", "ASL"]
    assert all(line.band is not None for line in found["return"].lines)


def test_curves_over_the_time_that_they_cost(tmp_path: Path, write_run: WriteRun) -> None:
    def write(method: str, seed: int, seconds: Any, steps: int) -> None:
        returns = {step: [float(step)] for step in (100, 200)}
        place = tmp_path / method / str(seed)
        write_run(place, method=method, seed=seed, returns=returns, steps=steps, timings={"cpu": seconds})

    def over_time() -> list[Chart]:
        found = charts(summarise(load_runs([tmp_path])).scenarios[0])
        return [one for one in found if one.key == "return-time"]

    write("asl", 0, 600, 200)
    assert over_time() == []  # alone it says nothing that steps do not
    write("asl", 1, 1800, 200)
    write("ppo", 0, 120, 400)
    write("ppo", 1, None, 400)  # not recorded
    (chart,) = over_time()
    assert {line.label: line.x.tolist() for line in chart.lines} == {"PPO": [0.5, 1.0], "ASL": [10.0, 20.0]}
    assert "not recorded" not in chart.caption
    for seed, odd in enumerate(("soon", -3, 0)):
        write("a-first", seed, odd, 400)
    write("b-next", 0, 60, 200)
    (chart,) = over_time()
    assert "Of a-first it was not recorded." in chart.caption
    returns = charts(summarise(load_runs([tmp_path])).scenarios[0])[0]
    colours = {line.label: line.colour for line in returns.lines}
    assert {line.label: line.colour for line in chart.lines} == {
        label: colour for label, colour in colours.items() if label != "a-first"
    }


def test_the_bands_depend_on_the_seed_and_the_means_do_not(scattered: Path) -> None:
    scenario = summarise(load_runs([scattered])).scenarios[0]
    pairs = list(zip(charts(scenario, seed=0), charts(scenario, seed=1), strict=True))
    assert [one.key for one, _ in pairs] == ["return", "value-distance"]
    for one, other in pairs:
        for line, twin in zip(one.lines, other.lines, strict=True):
            assert line.band is not None and twin.band is not None
            assert np.array_equal(line.y, twin.y)
            assert not np.array_equal(line.band[0], twin.band[0])
            assert not np.array_equal(line.band[1], twin.band[1])


def test_one_seed_and_one_evaluation_can_be_drawn(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path / "run", returns={100: [1.0]})
    assert len(write_figures([tmp_path / "run"], tmp_path / "figures")) == 2
