"""The page in a real browser, headless: no console errors, and the figures are there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ambidex.report import write_page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)

ASL_LIGHT, ASL_DARK = "stroke: rgb(31, 95, 214)", "stroke: rgb(116, 169, 255)"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine; test_page.py parses the page"
)


def browse(page: Path, profile: Path, *options: str) -> tuple[str, list[str]]:
    """The page's final document, and what it said on the console."""
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        *options,
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_figures_are_drawn_without_errors(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ambidex.report.charts.charts._INVISIBLE", -1.0)  # draw what is constant too
    document, console = browse(write_page([study], tmp_path / "page.html"), tmp_path / "profile")
    assert console == []
    plots = re.findall(r'<div class="plot[^"]*js-plotly-plot', document)
    assert len(plots) == 6
    # Two lines with a band each, and one line per pair with its truth in two figures.
    assert document.count('class="scatterlayer mlayer"') == 6
    assert len(re.findall(r'class="trace scatter', document)) == 4 + 2 + 3 + 6 + 6 + 2
    assert 'data-ready="true"' in document
    assert ASL_LIGHT in document and ASL_DARK not in document


def test_a_dark_page_is_drawn_in_its_own_colours(study: Path, tmp_path: Path) -> None:
    page = write_page([study], tmp_path / "page.html")
    dark, console = browse(page, tmp_path / "dark", "--blink-settings=preferredColorScheme=0")
    assert console == []
    assert ASL_DARK in dark and ASL_LIGHT not in dark


def test_a_console_error_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><script>nowhere()</script>")
    assert "nowhere is not defined" in browse(page, tmp_path / "profile")[1][0]
