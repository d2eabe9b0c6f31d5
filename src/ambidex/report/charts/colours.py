"""The paper's colours: ASL blue, PSL red, MSL green, PPO dotted black; each for a light and a dark page."""

from __future__ import annotations

METHOD_COLOURS = {
    "ppo": ("#16181d", "#eceef2"),
    "asl": ("#1f5fd6", "#74a9ff"),
    "psl": ("#cf222e", "#ff8078"),
    "msl": ("#1a7f37", "#5bd47b"),
}

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

COLOURS = METHOD_COLOURS | {f"series-{number}": pair for number, pair in enumerate(SERIES_COLOURS)}
"""Every colour by the name that charts use, light and dark."""


def method_colour(method: str, place: int) -> str:
    """The colour's name for a method; one that the paper does not have takes the series' of its place."""
    return method if method in METHOD_COLOURS else series_colour(place + len(METHOD_COLOURS))


def series_colour(place: int) -> str:
    """The colour's name for the n-th series; they repeat after the last."""
    return f"series-{place % len(SERIES_COLOURS)}"
