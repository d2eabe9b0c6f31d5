"""An evaluation as one picture: a square for each joint, transform and measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ambidex.common import figures
from ambidex.diagnosis.policy_files.evaluation import MEASURES, PolicyEvaluation
from ambidex.diagnosis.policy_files.words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "canonical": "self-symmetric\nstates",
    "equivariance": "visited\nstates",
    "gait": "gait:\nhow far",
    "timing": "gait:\nwhen",
}
FRAME = "#16181d"
DARKEST = 1.0  # a whole spread; whatever is more has this colour, too


def draw(found: PolicyEvaluation, threshold: float | None = None) -> Figure:
    """Joints from top to bottom, a panel for each measure with a column for each transform.

    :param threshold: squares past it are framed
    """
    from matplotlib.figure import Figure

    measures = [measure for measure in MEASURES if getattr(found.transforms[0], measure) is not None]
    columns, rows = len(found.transforms), len(found.joints)
    width = 1.6 + 0.09 * max(map(len, found.joints)) + len(measures) * max(1.0, 0.52 * columns)
    figure = Figure(figsize=(width, 1.9 + 0.27 * rows), layout="constrained")
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for axes, measure in zip(panels, measures, strict=True):
        _draw_panel(axes, found, measure, threshold)
    panels[0].set_yticks(range(rows), found.joints, fontsize=8)
    figure.suptitle(f"{found.policy} by {found.symmetry}", fontsize=10)
    note = "0 is symmetric; states and timing in spreads, how far as 2 (X - X') / (X + X')"
    figure.supxlabel(note if threshold is None else f"{note}\nframed: past {threshold:g}", fontsize=7)
    return figure


def save_figure(found: PolicyEvaluation, path: str | Path, threshold: float | None = None) -> None:
    """Draw an evaluation into a file; its ending says the format (png, svg, pdf)."""
    figures.save(draw(found, threshold), path)


def _draw_panel(axes: Axes, found: PolicyEvaluation, measure: str, threshold: float | None) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    colours = colormaps["Oranges"]
    for column, one in enumerate(found.transforms):
        for row, value in enumerate(getattr(one, measure)):
            share = min(abs(value) / DARKEST, 1.0)
            corner = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colours(0.85 * share), edgecolor="white"))
            if threshold is not None and abs(value) > threshold:
                inside = (column - 0.45, row - 0.45)
                axes.add_patch(Rectangle(inside, 0.9, 0.9, fill=False, edgecolor=FRAME, linewidth=1.4))
            axes.text(
                column,
                row,
                number(measure, value),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if share > 0.7 else FRAME,
            )
    axes.set(xlim=(-0.5, len(found.transforms) - 0.5), ylim=(len(found.joints) - 0.5, -0.5))
    axes.set_title(TITLES[measure], fontsize=9)
    axes.set_xticks(range(len(found.transforms)), [one.transform for one in found.transforms], fontsize=8)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
