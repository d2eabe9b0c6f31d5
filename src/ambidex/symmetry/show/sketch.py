"""A robot from above, front up: at each limb's place the limb that a transform brings there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.layout.layout import Layout
from ambidex.symmetry.transform import Symmetry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRONT_UP = np.array([[0.0, -1.0], [1.0, 0.0]])  # x up, y to the left
POINTS = 6.5
LINE, LETTER = 1.35 * POINTS / 72, 0.62 * POINTS / 72  # of text, in inches
GAP, EDGE = 0.14, 0.12  # between boxes and within them, in inches
HEART = 0.5  # from the middle to the sides' boxes
MIDDLE = 0.2  # limbs nearer to the middle line than this, of the reach, stand on it
BOX = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "0.4", "linewidth": 0.8}
MIRROR, TURN = "#d6604d", "#2166ac"


@dataclass(frozen=True)
class Sketch:
    """Where the limbs' boxes stand, in inches from the robot's middle, and what is written into them.

    :param boxes: for each limb the box's middle
    :param texts: for each limb and transform the lines
    :param width: of the whole, in inches
    """

    boxes: dict[str, tuple[float, float]]
    texts: dict[str, dict[str, str]]
    width: float
    height: float

    @classmethod
    def of(cls, layout: Layout, symmetries: list[Symmetry]) -> Sketch | None:
        """The same places for all transforms; None where the limbs' places or the moves are not known."""
        places = {limb: FRONT_UP @ at[:2] for limb, at in layout.body.limbs.items() if at is not None}
        upright = all(s.isometry is not None and s.isometry[2, 2] > 0 for s in symmetries)
        if not places or not upright:
            return None
        try:
            texts = {symmetry.name: _texts(layout, symmetry) for symmetry in symmetries}
        except ValueError:  # its moves were said by name, which a group does not keep
            return None
        reach = max(float(np.linalg.norm(place)) for place in places.values()) or 1.0
        sizes = {limb: _size([texts[symmetry.name][limb] for symmetry in symmetries]) for limb in places}
        sides: dict[int, list[str]] = {-1: [], 0: [], 1: []}
        for limb, (x, _) in places.items():
            sides[0 if abs(x) < MIDDLE * reach else int(np.sign(x))].append(limb)
        columns = {
            side: max((sizes[limb][0] for limb in limbs), default=0.0) for side, limbs in sides.items()
        }
        boxes: dict[str, tuple[float, float]] = {}
        for side, limbs in sides.items():
            x = side * (max(columns[0] / 2, HEART / 2) + GAP + columns[side] / 2)
            wanted = {limb: float(places[limb][1]) / reach for limb in limbs}
            boxes |= {limb: (x, y) for limb, y in _stacked(wanted, sizes).items()}
        right, top = (
            max(abs(boxes[limb][axis]) + sizes[limb][axis] / 2 for limb in boxes) + GAP for axis in (0, 1)
        )
        return cls(boxes, texts, 2 * max(right, HEART), 2 * max(top, HEART))

    def draw(self, axes: Axes, symmetry: Symmetry) -> None:
        """One transform; the axes' unit is an inch where they are as wide as the sketch."""
        assert symmetry.isometry is not None
        for limb, (x, y) in self.boxes.items():
            axes.plot([0, x], [0, y], color="0.75", linewidth=4, solid_capstyle="round", zorder=1)
            text = self.texts[symmetry.name][limb]
            axes.text(x, y, text, ha="center", va="center", fontsize=POINTS, zorder=3, bbox=BOX)
        _draw_isometry(axes, FRONT_UP @ symmetry.isometry[:2, :2] @ FRONT_UP.T, self.height / 2)
        axes.set(
            xlim=(-self.width / 2, self.width / 2), ylim=(-self.height / 2, self.height / 2), aspect="equal"
        )


def _texts(layout: Layout, symmetry: Symmetry) -> dict[str, str]:
    """For each limb's place the limb that comes there, and the signs of its joints, a joint to a line."""
    motion = layout.body.motion(symmetry.name, symmetry.isometry)
    texts = {}
    for source, target in motion.limbs.items():
        signs = [
            f"{joint.rpartition('.')[2]} {'+' if sign > 0 else '−'}"
            for joint, (_, sign) in motion.joints.items()
            if layout.body.joints[joint].limb == source
        ]
        texts[target] = "\n".join([source, *signs])
    return texts


def _size(texts: list[str]) -> tuple[float, float]:
    """Of a box that any of the texts fits into, in inches."""
    lines = [text.split("\n") for text in texts]
    longest = max(len(line) for text in lines for line in text)
    return longest * LETTER + 2 * EDGE, max(map(len, lines)) * LINE + 2 * EDGE


def _stacked(wanted: dict[str, float], sizes: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Heights near the wanted ones (from -1 to 1), from the lowest up, at which no two boxes overlap."""
    order = sorted(wanted, key=lambda limb: wanted[limb])
    heights: dict[str, float] = {}
    for below, limb in zip([None, *order], order, strict=False):
        least = -np.inf
        if below is not None:
            least = heights[below] + (sizes[below][1] + sizes[limb][1]) / 2 + GAP
        heights[limb] = max(wanted[limb], least)
    if not heights:
        return {}
    off = np.mean(list(heights.values())) - np.mean(list(wanted.values()))
    return {limb: float(height - off) for limb, height in heights.items()}


def _draw_isometry(axes: Axes, matrix: FloatArray, reach: float) -> None:
    turn = float(np.arctan2(matrix[1, 0], matrix[0, 0]))
    if np.linalg.det(matrix) < 0:
        x, y = 2 * reach * np.cos(turn / 2), 2 * reach * np.sin(turn / 2)
        axes.plot([-x, x], [-y, y], "--", color=MIRROR, linewidth=1.2, zorder=2)
        return
    angles = np.pi / 2 + np.linspace(0.15, turn % (2 * np.pi), 60)
    x, y = 0.3 * np.cos(angles), 0.3 * np.sin(angles)
    axes.plot(x[:-3], y[:-3], color=TURN, linewidth=1.2, zorder=4)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": TURN, "linewidth": 1.2}
    axes.annotate("", (x[-1], y[-1]), (x[-5], y[-5]), arrowprops=arrow, zorder=4)
