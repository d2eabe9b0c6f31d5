"""Runs on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import AsJson

app = typer.Typer()


@app.command()
def report(
    directories: Annotated[list[Path], typer.Argument(help="Run directories, or directories of them.")],
    out: Annotated[Path, typer.Option(help="The HTML page.")] = Path("report.html"),
    tables: Annotated[Path | None, typer.Option(help="Also write tables here: Markdown, LaTeX, CSV.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write figures here: PNG and SVG.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Report runs on one HTML page that opens from disk, beside the paper's figures.

    Example: ambidex report runs --out report.html --tables tables --figures figures
    """
    from ambidex.report import write_report

    written = write_report(directories, out, tables=tables, figures=figures, seed=seed)
    if as_json:
        print(json.dumps(written, indent=2))
        return
    for path in (*written["tables"], *written["figures"], written["page"]):
        print(path)
    absent = len(written["missing"]) + len(written["unreadable"])
    if absent:
        print(f"runs missing, unfinished or unreadable: {absent}; the page lists them")
