"""Saving a figure of matplotlib, which those who draw import when they draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ambidex.common.files import written_aside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure whole or not at all; the ending says the format (png, svg, pdf), png without one."""
    with written_aside(Path(path)) as aside:
        figure.savefig(aside, dpi=DOTS_PER_INCH, format=aside.suffix.lstrip(".") or "png")
