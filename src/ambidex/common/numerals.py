"""Numbers as people read them."""

from __future__ import annotations

import math

NOTHING = "–"
_MINUS = "−"


def number(value: float | None, decimals: int) -> str:
    """A number with so many decimals, a true minus sign, and a dash for none."""
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:,.{decimals}f}"
    return text.replace("-", _MINUS) if float(text.replace(",", "")) else text.lstrip("-")


def score(value: float | None) -> str:
    """A return: whole from 100 on, as in the paper, and three significant digits below."""
    if value is None or not math.isfinite(value) or value == 0:
        return number(value, 0)
    return number(value, max(0, 2 - math.floor(math.log10(abs(value)))) if abs(value) < 100 else 0)


def steps(value: float | None) -> str:
    """Training steps: 2.65M as in the paper, 61k below a hundred thousand."""
    if value is None:
        return NOTHING
    if value >= 100_000:
        return f"{value / 1e6:.2f}M"
    return f"{value / 1e3:.0f}k" if value >= 10_000 else f"{value:,.0f}"


def plural(count: int, noun: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
