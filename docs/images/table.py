"""Draws docs/images/table.png: what one configuration reached on each scenario, and the paper's methods."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import matplotlib as mpl

from ambidex.experiment.configure.methods import EQUIVARIANT, METHODS
from ambidex.report.publish.scenario_table import PAPER

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

TABLE = Path(__file__).parents[2] / "results" / "table.csv"
GROUPS = {
    "A1": "ideal",
    "A2": "uneven motors",
    "A3": "very uneven\nmotors",
    "A4": "heavy feet",
    "A5": "heavy feet,\nunseen goals",
    "A6": "sloping ground",
}


def main() -> None:
    rows = list(csv.DictReader(TABLE.open()))
    names = [row["scenario"] for row in rows]
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.27 * len(rows)), layout="constrained")
    figure.suptitle(_sum(rows), fontsize="medium", fontweight="bold")
    for method in map(METHODS.get, PAPER):
        returns = [float(row[f"paper_{method.name}"]) for row in rows]
        label = f"{method.label}, the paper"
        axis.plot(returns, names, "|", color=method.colours[0], markersize=10, markeredgewidth=2, label=label)
    walking = [row for row in rows if row["seeds"] != "0"]  # elsewhere all runs collapsed
    places = [row["scenario"] for row in walking]
    low, ours, high = ([float(row[name]) for row in walking] for name in ("low", "max_return_mean", "high"))
    label = "ours, one configuration"
    if low != high:
        axis.hlines(places, low, high, color=EQUIVARIANT.colours[0], linewidth=2)
        label += " (line: its seeds)"
    axis.plot(ours, places, "o", color=EQUIVARIANT.colours[0], markersize=7, label=label)
    _name_groups(axis, names)
    axis.set_xlabel(
        f"highest mean return of five evaluations; ours ({_seeds(rows)}) within 2 million steps, "
        "the paper's (12 seeds) within 4 to 5",
        fontsize="small",
    )
    axis.set_xlim(left=0)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(axis="x", alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=5, frameon=False, fontsize="small")
    figure.savefig(Path(__file__).with_name("table.png"), dpi=110)


def _name_groups(axis: Axes, names: list[str]) -> None:
    """A line between groups of scenarios, and beside each what is not ideal there."""
    for group, meaning in GROUPS.items():
        places = [place for place, name in enumerate(names) if name.startswith(group)]
        if not places:
            continue
        axis.axhline(places[-1] + 0.5, color="0.85", linewidth=0.8)
        axis.annotate(
            meaning,
            (1, (places[0] + places[-1]) / 2),
            xycoords=axis.get_yaxis_transform(),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )


def _sum(rows: list[dict[str, str]]) -> str:
    """The whole table in one sentence."""
    best = [max(float(row[f"paper_{name}"]) for name in PAPER) for row in rows]
    gains = [float(row["max_return_mean"] or 0) / one for row, one in zip(rows, best, strict=True)]
    above = sum(gain > 1 for gain in gains)
    median = statistics.median(gains)
    return f"Above the paper's best on {above} of {len(rows)} scenarios; in the median {median:.2f} times it"


def _seeds(rows: list[dict[str, str]]) -> str:
    counts = sorted({int(row["seeds"]) for row in rows})
    return "1 seed each" if counts == [1] else f"{' or '.join(map(str, counts))} seeds each"


if __name__ == "__main__":
    main()
