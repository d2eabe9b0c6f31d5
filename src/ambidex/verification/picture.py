"""A verification as one picture: a square for each transform and element."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ambidex.common import figures
from ambidex.verification.results import ElementResult, TransformResult, Verification

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"holds": "#4393c3", "imperfect": "#fdae61", "broken": "#b2182b", "untested": "#e0e0e0"}
LEGEND = (
    "The number is the median residual after one step, in hundredths of the element's spread; actions have "
    "none, for they are judged by what they do."
)


def draw(found: Verification) -> Figure:
    """Elements from top to bottom, transforms from left to right, coloured by verdict."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle

    tested = [result for result in found.transforms if result.elements]
    if not tested:
        raise ValueError(f"{found.environment}: no transform could be measured, so there is nothing to draw")
    rows = [(element.side, element.element, element.name) for element in tested[0].elements]
    width = 3.2 + 0.75 * len(tested)
    figure = Figure(figsize=(width, 1.8 + 0.21 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for column, result in enumerate(tested):
        for row, element in enumerate(result.elements):
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor=COLOURS[element.verdict], edgecolor="white")
            )
            if text := _number(element):
                colour = "white" if element.verdict == "broken" else "black"
                axes.text(
                    column + 0.5, row + 0.52, text, ha="center", va="center", fontsize=6.5, color=colour
                )
    axes.set(xlim=(0, len(tested)), ylim=(len(rows), 0))
    axes.set_xticks([column + 0.5 for column in range(len(tested))], [_heading(result) for result in tested])
    axes.set_yticks([row + 0.5 for row in range(len(rows))], [_label(*row) for row in rows], fontsize=7)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    for spine in axes.spines.values():
        spine.set_visible(False)
    present = {element.verdict for result in tested for element in result.elements}
    handles = [
        Patch(color=colour, label=verdict) for verdict, colour in COLOURS.items() if verdict in present
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2 if width < 5 else 4,
        frameon=False,
        fontsize=8,
        title=figures.wrapped(LEGEND, width, points=7),
        title_fontsize=7,
    )
    figure.suptitle(figures.wrapped(f"{found.environment}: {found.verdict}", width, points=11), fontsize=11)
    return figure


def save_figure(found: Verification, path: str | Path) -> None:
    """Draw a verification into a file; its ending says the format (png, svg, pdf)."""
    figures.save(draw(found), path)


def _number(element: ElementResult) -> str:
    if not element.median or element.verdict == "untested":
        return ""
    return f"{100 * element.median[0]:.0f}"


def _heading(result: TransformResult) -> str:
    return f"{result.transform}\n{result.verdict}"


def _label(side: str, element: int, name: str) -> str:
    if name == side or name.startswith(side):
        return name
    return f"{name}  {'a' if side == 'action' else 'o'}{element}"
