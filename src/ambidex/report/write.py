"""From run directories to files: the page, the tables, the figures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ambidex.common.files import write_bytes
from ambidex.experiment.many_runs.reading import load_runs
from ambidex.report import records
from ambidex.report.charts import files as drawing
from ambidex.report.page import render
from ambidex.report.publish.scenario_table import table_csv, table_markdown
from ambidex.report.publish.summaries import copy_summary, place_of
from ambidex.report.summary import Summary, summarise
from ambidex.report.tables import results_csv, tables_latex, tables_markdown

StrPath = str | os.PathLike[str]


def write_report(
    directories: Iterable[StrPath],
    out: StrPath,
    *,
    tables: StrPath | None = None,
    figures: StrPath | None = None,
    table: StrPath | None = None,
    summaries: StrPath | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Write the page, and the tables and figures where a directory is given; return every number.

    :param directories: run directories, or directories that hold them at any depth
    :param out: the HTML file
    :param tables: the directory for `write_tables`
    :param figures: the directory for `write_figures`
    :param table: the CSV file, or Markdown (``.md``), for one row per scenario, beside the paper's columns
    :param summaries: the directory for what is worth keeping of each run
    :param seed: of the bootstrap; the same runs and seed give the same files
    """
    runs = load_runs(directories)
    summary = summarise(runs, seed=seed)
    rows = None if table is None else _scenario_table(summary, Path(table))
    if summaries is not None:
        for run in runs.runs:
            place_of(run, Path(summaries))  # refused before anything is written
    return {
        "page": str(_write_page(summary, out)),
        "table": None if table is None or rows is None else str(_write(Path(table), rows.encode())),
        "summaries": [str(copy_summary(run, Path(summaries))) for run in runs.runs]
        if summaries is not None
        else [],
        "tables": [str(path) for path in _write_tables(summary, tables)] if tables is not None else [],
        "figures": [str(path) for path in _write_figures(summary, figures)] if figures is not None else [],
        "results": records.results(summary),
        "ratios": records.ratios(summary),
        "missing": records.missing(summary),
        "unreadable": summary.unreadable,
    }


def write_page(directories: Iterable[StrPath], out: StrPath, *, seed: int = 0) -> Path:
    """Write the report of some runs as one HTML file and return its path.

    One seed, few evaluations, unfinished and failed runs are reported as what they are.

    :param directories: run directories, or directories that hold them at any depth
    :param out: the file to write; its directory is made if it is missing
    :param seed: of the bootstrap; the same runs and seed give the same file
    """
    return _write_page(summarise(load_runs(directories), seed=seed), out)


def write_tables(directories: Iterable[StrPath], out: StrPath, *, seed: int = 0) -> list[Path]:
    """Write ``tables.md``, ``tables.tex`` and ``results.csv``, whose columns are those of the paper's data.

    :param directories: run directories, or directories that hold them at any depth
    :param out: the directory to write into, made if it is missing
    :param seed: of the bootstrap
    """
    return _write_tables(summarise(load_runs(directories), seed=seed), out)


def write_figures(directories: Iterable[StrPath], out: StrPath, *, seed: int = 0) -> list[Path]:
    """Write each figure as PNG and SVG, named ``<scenario>-<figure>``.

    :param directories: run directories, or directories that hold them at any depth
    :param out: the directory to write into, made if it is missing
    :param seed: of the bootstrap
    """
    return _write_figures(summarise(load_runs(directories), seed=seed), out)


def _write_page(summary: Summary, out: StrPath) -> Path:
    return _write(Path(out), render(summary).encode())


def _write_tables(summary: Summary, out: StrPath) -> list[Path]:
    contents = {
        "tables.md": tables_markdown(summary),
        "tables.tex": tables_latex(summary),
        "results.csv": results_csv(summary),
    }
    return [_write(Path(out) / name, text.encode()) for name, text in contents.items()]


def _scenario_table(summary: Summary, out: Path) -> str:
    if out.suffix not in (".csv", ".md"):
        raise ValueError(f"--table {out}: the table is written as .csv or .md; give it such an ending")
    return table_markdown(summary) if out.suffix == ".md" else table_csv(summary)


def _write_figures(summary: Summary, out: StrPath) -> list[Path]:
    return [_write(Path(out) / name, content) for name, content in drawing.drawn(summary)]


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return path
