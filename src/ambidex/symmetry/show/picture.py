"""A group's maps as one picture: the body moved by each transform, and its tables as coloured squares."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ambidex.common import figures
from ambidex.common.arrays import FloatArray
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.show.account import in_words, sides
from ambidex.symmetry.show.sketch import Sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME, TURNED = "#2166ac", "#d6604d"  # apart for colour-blind eyes too
MOST_COLUMNS = 4
MOST_LABELS = 100
SMALLEST, LARGEST = 2.4, 9.5  # of a table, in inches
ROW = 0.13  # of a table's row, in inches
CAPTION = (
    "Each row is an element after the transform; the square is the element that it is read from. "
    "The robot is seen from above, its front up: at each limb's place stands the limb that comes there, with "
    "the signs of its joints."
)


def draw(group: SymmetryGroup) -> Figure:
    """One column per transform: the body where its limbs' places are known, then the tables of each side."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    panels = list(sides(group))
    sizes = [min(max(SMALLEST, ROW * len(names)), LARGEST) for _, names, _ in panels]
    sketch = None if group.layout is None else Sketch.of(group.layout, list(group))
    heights, widths = list(sizes), list(sizes)
    if sketch is not None:
        heights.insert(0, sketch.height)
        widths.append(sketch.width)
    bands = math.ceil(len(group) / MOST_COLUMNS)
    columns = math.ceil(len(group) / bands)
    labels = 0.06 * max(len(name) for _, names, _ in panels for name in names) + 0.7
    width = labels + (max(widths) + 0.35) * columns
    figure = Figure(
        figsize=(width, (sum(heights) + 0.45 * len(heights) + 0.7) * bands + 0.8), layout="constrained"
    )
    axes = figure.subplots(bands * len(heights), columns, height_ratios=heights * bands, squeeze=False)
    for unused in axes.flat:
        unused.set_axis_off()
    for number, symmetry in enumerate(group):
        band, column = divmod(number, columns)
        own = list(axes[band * len(heights) : (band + 1) * len(heights), column])
        own[0].set_title(f"{symmetry.name}\n", fontsize=13, fontweight="bold")
        own[0].text(0.5, 1.03, in_words(symmetry), transform=own[0].transAxes, ha="center", fontsize=8)
        if sketch is not None:
            sketch.draw(own.pop(0), symmetry)
        for place, (title, names, maps) in zip(own, panels, strict=True):
            _draw_map(place, maps[number].matrix, names, title, is_first=column == 0)
    figure.legend(
        handles=[Patch(color=SAME, label="the same sign"), Patch(color=TURNED, label="the sign turned")],
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=8,
        title=figures.wrapped(CAPTION, width, points=8),
        title_fontsize=8,
    )
    return figure


def save_figure(group: SymmetryGroup, path: str | Path) -> None:
    """Draw the group into a file; its ending says the format (png, svg, pdf)."""
    figures.save(draw(group), path)


def _draw_map(axes: Axes, matrix: FloatArray, names: tuple[str, ...], title: str, is_first: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    size = len(matrix)
    colours = LinearSegmentedColormap.from_list("signs", [TURNED, "white", SAME])
    largest = float(np.abs(matrix).max())
    axes.set_axis_on()
    axes.imshow(matrix, cmap=colours, vmin=-largest, vmax=largest, interpolation="nearest")
    if size <= MOST_LABELS:
        edges = np.arange(size + 1) - 0.5
        axes.set_xticks(edges, minor=True)
        axes.set_yticks(edges, minor=True)
        axes.grid(which="minor", color="0.88", linewidth=0.5)
    axes.tick_params(which="both", length=0, labelsize=7 if size <= 12 else 5.5)
    shown = range(0, size, math.ceil(size / MOST_LABELS))
    axes.set_xticks(shown, [str(i) for i in shown], rotation=90)
    axes.set_yticks(shown, [f"{names[i]}  {i}".strip() if is_first else str(i) for i in shown])
    if is_first:
        axes.set_ylabel(title, fontsize=9)
