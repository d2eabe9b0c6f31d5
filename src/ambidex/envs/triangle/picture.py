"""The triangle robot seen from above, as pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ambidex.envs.triangle.perturbations import LIMBS

PIXELS = 400
VERTEX_DEGREES = (180.0, 300.0, 60.0)  # limb 0 lies on plane a; each next one is 120 degrees further
LIMB_LENGTH = 0.8
LIMB_COLORS = ("#1b6ca8", "#c8553d", "#2a9d6f")


def draw(
    angles: npt.NDArray[np.float64], targets: npt.NDArray[np.float64], battery: float
) -> npt.NDArray[np.uint8]:
    """The body, its limbs as solid lines, their targets dotted, and the battery's level below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PIXELS / 100, PIXELS / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), aspect="equal", xlim=(-2, 2), ylim=(-2, 2))
    axes.axis("off")
    vertices = _directions(np.radians(VERTEX_DEGREES))
    axes.fill(*vertices.T, facecolor="#e9e4d8", edgecolor="#555555", linewidth=2)
    for values, style, width in ((targets, ":", 2), (angles, "-", 6)):
        ends = vertices + LIMB_LENGTH * _directions(np.radians(VERTEX_DEGREES) + values)
        for limb in range(LIMBS):
            axes.plot(
                *np.stack([vertices[limb], ends[limb]]).T,
                style,
                color=LIMB_COLORS[limb],
                linewidth=width,
                solid_capstyle="round",
            )
    for limb, (x, y) in enumerate(0.7 * vertices):
        axes.text(x, y, str(limb), ha="center", va="center", fontsize=14, color=LIMB_COLORS[limb])
    axes.plot([-0.5, 0.5], [-1.8, -1.8], color="#dddddd", linewidth=8, solid_capstyle="butt")
    axes.plot([-0.5, battery - 0.5], [-1.8, -1.8], color="#777777", linewidth=8, solid_capstyle="butt")
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba(), np.uint8)  # type: ignore[no-untyped-call]
    return pixels[..., :3].copy()


def _directions(angles: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
