"""A group's maps as one picture: the body moved by each transform, and its tables as coloured squares."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambidex.common import figures
from ambidex.common.arrays import FloatArray
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.show.account import in_words, sides
from ambidex.symmetry.transform import Symmetry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME, TURNED = "#2166ac", "#d6604d"  # blue keeps the sign, red turns it; apart for colour-blind eyes too
MOST_COLUMNS = 4
MOST_LABELS = 40
LEGEND = (
    "Each row is an element after the transform; the square is the element that it is read from, "
    "blue with the same sign, red with the sign turned."
)
LABEL = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "0.4", "linewidth": 0.8}


def draw(group: SymmetryGroup) -> Figure:
    """One column per transform: the body where its limbs' places are known, then the tables of each side.

    The body is seen from above, x to the right: at each limb's place stands the limb that comes there, with
    the signs of its joints, and the plane or the turn that brings it there.
    """
    from matplotlib.figure import Figure

    panels = list(sides(group))
    size = 2.4 if max(len(names) for _, names, _ in panels) <= 12 else 3.4  # inches
    heights = [size] * len(panels)
    if _knows_the_body(group):
        heights.insert(0, 2.2)
    bands = math.ceil(len(group) / MOST_COLUMNS)
    columns = math.ceil(len(group) / bands)
    shape = (1.4 + (size + 0.3) * columns, (sum(heights) + 0.3 * len(heights) + 0.6) * bands + 0.4)
    figure = Figure(figsize=shape, layout="constrained")
    axes = figure.subplots(bands * len(heights), columns, height_ratios=heights * bands, squeeze=False)
    for unused in axes.flat:
        unused.set_axis_off()
    for number, symmetry in enumerate(group):
        band, column = divmod(number, columns)
        own = list(axes[band * len(heights) : (band + 1) * len(heights), column])
        own[0].set_title(f"{symmetry.name}\n", fontsize=13, fontweight="bold")
        own[0].text(0.5, 1.03, in_words(symmetry), transform=own[0].transAxes, ha="center", fontsize=8)
        if group.layout is not None and len(own) > len(panels):
            _draw_body(own.pop(0), symmetry, group.layout)
        for place, (title, names, maps) in zip(own, panels, strict=True):
            _draw_map(place, maps[number].matrix, names, title, is_first=column == 0)
    figure.supxlabel(LEGEND, fontsize=8)
    return figure


def save_figure(group: SymmetryGroup, path: str | Path) -> None:
    """Draw the group into a file; its ending says the format (png, svg, pdf)."""
    figures.save(draw(group), path)


def _knows_the_body(group: SymmetryGroup) -> bool:
    layout = group.layout
    if layout is None or not any(place is not None for place in layout.body.limbs.values()):
        return False
    return all(symmetry.isometry is not None and symmetry.isometry[2, 2] > 0 for symmetry in group)


def _draw_body(axes: Axes, symmetry: Symmetry, layout: Layout) -> None:
    assert symmetry.isometry is not None
    try:
        motion = layout.body.motion(symmetry.name, symmetry.isometry)
    except ValueError:  # its moves were said by name, which a group does not keep
        return
    places = {name: place[:2] for name, place in layout.body.limbs.items() if place is not None}
    reach = max(float(np.linalg.norm(place)) for place in places.values()) or 1.0
    sources = {target: source for source, target in motion.limbs.items()}
    for name, place in places.items():
        x, y = place / reach
        signs = [
            f"{joint.rpartition('.')[2]} {'+' if sign > 0 else '−'}"
            for joint, (_, sign) in motion.joints.items()
            if layout.body.joints[joint].limb == sources[name]
        ]
        axes.plot([0, x], [0, y], color="0.75", linewidth=5, solid_capstyle="round", zorder=1)
        text = "\n".join([sources[name], "  ".join(signs)] if signs else [sources[name]])
        axes.text(x, y, text, ha="center", va="center", fontsize=7, zorder=3, bbox=LABEL)
    _draw_isometry(axes, symmetry.isometry[:2, :2])
    axes.set(xlim=(-1.45, 1.45), ylim=(-1.25, 1.25), aspect="equal")


def _draw_isometry(axes: Axes, matrix: FloatArray) -> None:
    turn = float(np.arctan2(matrix[1, 0], matrix[0, 0]))
    if np.linalg.det(matrix) < 0:
        x, y = 1.4 * np.cos(turn / 2), 1.4 * np.sin(turn / 2)
        axes.plot([-x, x], [-y, y], "--", color=TURNED, linewidth=1.2, zorder=2)
        return
    angles = np.linspace(0.15, turn % (2 * np.pi), 60)
    x, y = 0.4 * np.cos(angles), 0.4 * np.sin(angles)
    axes.plot(x[:-3], y[:-3], color=SAME, linewidth=1.2, zorder=2)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": SAME, "linewidth": 1.2}
    axes.annotate("", (x[-1], y[-1]), (x[-5], y[-5]), arrowprops=arrow, zorder=2)


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
