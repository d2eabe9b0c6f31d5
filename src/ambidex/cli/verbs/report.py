"""Runs on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import AsJson, print_json, say

app = typer.Typer()


@app.command()
def report(
    directories: Annotated[list[Path], typer.Argument(help="Run directories, or directories of them.")],
    out: Annotated[Path, typer.Option(help="The HTML page.")] = Path("report.html"),
    tables: Annotated[Path | None, typer.Option(help="Also write tables here: Markdown, LaTeX, CSV.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write figures here: PNG and SVG.")] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Also write this file, .csv or .md: a row per scenario, of runs of one method."),
    ] = None,
    summaries: Annotated[
        Path | None, typer.Option(help="Also copy here what is worth keeping of each run, without its logs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Report runs on one HTML page, beside the paper's figures.

    It opens from disk, without a server.

    Example: ambidex report runs --out report.html --tables tables --figures figures

    Example: ambidex report runs --table table.csv --summaries results
    """
    from ambidex.report import write_report

    written = write_report(
        directories, out, tables=tables, figures=figures, table=table, summaries=summaries, seed=seed
    )
    if as_json:
        print_json(written)
        return
    for path in (*written["tables"], *written["figures"], written["table"], written["page"]):
        if path is not None:
            say(path)
    if written["summaries"]:
        count = len(written["summaries"])
        say(f"{count} {'summary' if count == 1 else 'summaries'} in {summaries}")
    absent = len(written["missing"]) + len(written["unreadable"])
    if absent:
        print(f"runs missing, unfinished or unreadable: {absent}; the page lists them")
