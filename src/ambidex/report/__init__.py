"""REPORT: from run directories to statistics, tables, figures and one page."""

from ambidex.experiment.many_runs.reading import Run, Runs, load_runs
from ambidex.report.summary import Summary, summarise
from ambidex.report.write import write_figures, write_page, write_report, write_tables

__all__ = [
    "Run",
    "Runs",
    "Summary",
    "load_runs",
    "summarise",
    "write_figures",
    "write_page",
    "write_report",
    "write_tables",
]
