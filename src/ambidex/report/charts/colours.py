"""The colours of methods and of series, each for a light and a dark page."""

from __future__ import annotations

from ambidex.experiment.configure.methods import METHODS

SERIES_COLOURS = (
    ("#1f77b4", "#6cb6ee"),
    ("#e8710a", "#ffa657"),
    ("#2a8f2a", "#6fd36f"),
    ("#d62728", "#ff7f7f"),
    ("#8457b5", "#bf9cea"),
    ("#8c564b", "#cf9a8d"),
    ("#c2529f", "#f29bd4"),
    ("#5f6670", "#aab2bd"),
    ("#8a8b12", "#d4d55a"),
    ("#0f93a3", "#5cd3e0"),
    ("#3d3fa8", "#9a9cff"),
    ("#a3005c", "#ff7ab8"),
)
"""Planes in the paper's order (xz blue, yz orange, y=x green, y=-x red), then the ant's 12 pairs."""


def colours() -> dict[str, tuple[str, str]]:
    """Every colour by the name that charts use, light and dark."""
    series = {f"series-{number}": pair for number, pair in enumerate(SERIES_COLOURS)}
    return {method.name: method.colours for method in METHODS} | series


def method_colour(method: str, place: int) -> str:
    """The colour's name for a method; one that is not registered takes the series' of its place."""
    return method if method in METHODS else series_colour(place + len(METHODS.names))


def series_colour(place: int) -> str:
    """The colour's name for the n-th series; they repeat after the last."""
    return f"series-{place % len(SERIES_COLOURS)}"
