"""Charts as PNG and SVG files, drawn by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ambidex.common.escaping import file_name, printable
from ambidex.report.charts.charts import Chart, Line, charts
from ambidex.report.charts.colours import colours
from ambidex.report.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")

_DASHES = {"solid": "-", "dot": ":", "dash": "--"}
_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#6b7280",
    "axes.grid": True,
    "axes.labelcolor": "#374151",
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.1,
    "font.size": 9,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "xtick.color": "#374151",
    "ytick.color": "#374151",
    "svg.fonttype": "none",
    "svg.hashsalt": "ambidex",
    "text.parse_math": False,  # names are words, whatever stands in them
}


def drawn(summary: Summary) -> Iterator[tuple[str, bytes]]:
    """Each figure's file name and content."""
    for scenario in summary.scenarios:
        for chart in charts(scenario, seed=summary.seed):
            for format_ in FORMATS:
                yield (
                    f"{file_name(scenario.name, chart.key)}.{format_}",
                    draw(chart, format_, heading=scenario.name),
                )


def draw(chart: Chart, format_: str, heading: str) -> bytes:
    """The chart as the bytes of a PNG or SVG file, the same for the same chart."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.9), layout="constrained")
        _draw(figure, chart, heading)
        file = io.BytesIO()
        figure.savefig(file, format=format_, dpi=180, metadata={"Date": None} if format_ == "svg" else None)
        return file.getvalue()


def _draw(figure: Figure, chart: Chart, heading: str) -> None:
    from matplotlib.ticker import EngFormatter

    axes = figure.add_subplot()
    for line in chart.lines:
        _draw_line(axes, line)
    axes.set_title(printable(f"{heading}: {chart.title}"))
    axes.set_xlabel(chart.over.title)
    axes.set_ylabel(chart.y_title)
    if chart.over.thousands:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(x=0.01)
    figure.legend(loc="outside lower center", ncols=min(4, len(chart.lines)))


def _draw_line(axes: Axes, line: Line) -> None:
    colour = colours()[line.colour][0]
    if line.band is not None:
        axes.fill_between(line.x, *line.band, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        line.x,
        line.y,
        _DASHES[line.dash],
        color=colour,
        alpha=0.25 if line.broad else None,
        linewidth=8 if line.broad else 0.9 if line.reference else 1.7,
        marker="o" if len(line.x) < 3 and not line.reference else None,
        markersize=4,
        label=printable(line.label) or None,
    )
