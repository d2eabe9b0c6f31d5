"""Charts for the page, drawn by plotly in the browser."""

from __future__ import annotations

import base64
import gzip
import math
from functools import cache
from typing import Any

from ambidex.common.arrays import FloatArray
from ambidex.common.escaping import script_json
from ambidex.report.charts.charts import Chart, Line

_SIGNIFICANT = 6
_HEIGHT = 360
_LEGEND_ROW = 60


def figure_json(chart: Chart) -> str:
    """The chart as plotly's JSON, safe inside a script element.

    Colours are CSS variables; the page's script puts in their values for the light or the dark page.
    """
    traces = [trace for line in chart.lines for trace in _traces(line)]
    layout = {
        "hovermode": "x unified",
        "showlegend": True,
        "height": _HEIGHT + _LEGEND_ROW * (sum(bool(line.label) for line in chart.lines) // 5),
        "xaxis": {
            "title": {"text": chart.over.title, "standoff": 10},
            "tickformat": "~s" if chart.over.thousands else "",
            "hoverformat": ",.0f" if chart.over.thousands else ",.3~r",
        },
        "yaxis": {"title": {"text": chart.y_title, "standoff": 10}, "exponentformat": "none"},
    }
    return script_json({"data": traces, "layout": layout})


@cache
def plotly_script() -> str:
    """Plotly's own script, gzipped and in base64, a third of its size; the page unpacks it."""
    from plotly.offline import get_plotlyjs

    packed = gzip.compress(get_plotlyjs().encode(), compresslevel=9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _traces(line: Line) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    if line.band is not None:
        low, high = line.band
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": _numbers(line.x) + _numbers(line.x)[::-1],
                "y": _numbers(high) + _numbers(low)[::-1],
                "fill": "toself",
                "fillcolor": f"var(--{line.colour}-band)",
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": line.colour,
            }
        )
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers" if len(line.x) < 3 and not line.reference else "lines",
            "name": line.label,
            "x": _numbers(line.x),
            "y": _numbers(line.y),
            "line": {
                "color": f"var(--{line.colour}{'-band' if line.broad else ''})",
                "dash": line.dash,
                "width": 10 if line.broad else 1.2 if line.reference else 2.2,
            },
            "hoverinfo": "skip" if line.reference else "all",
            "hovertemplate": None if line.reference else "%{y:.4~g}",
            "showlegend": bool(line.label),
            "legendgroup": line.colour,
        }
    )
    return traces


def _numbers(values: FloatArray) -> list[float | None]:
    return [float(f"{value:.{_SIGNIFICANT}g}") if math.isfinite(value) else None for value in values.tolist()]
