"""Saving a figure of matplotlib, which those who draw import when they draw."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from ambidex.common.escaping import printable
from ambidex.common.files import written_aside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure whole or not at all; the ending says the format (png, svg, pdf), png without one.

    The picture is as large as what is drawn, so that no label is cut off. Names in it are words: nothing in
    them is read as mathematics, nor breaks the file.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))
    kind = Path(path).suffix.lstrip(".") or "png"
    with written_aside(Path(path)) as aside:
        figure.savefig(aside, dpi=DOTS_PER_INCH, format=kind, bbox_inches="tight", pad_inches=0.1)


def wrapped(text: str, width: float, *, points: float) -> str:
    """A caption in lines that are no wider than the figure.

    :param width: of the figure, in inches
    :param points: the size of its letters, which are about half as wide as high
    """
    return textwrap.fill(text, max(30, round(width * 72 / (0.56 * points))))
