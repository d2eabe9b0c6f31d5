"""Numbers as people read and write them."""

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


def small(value: float | None, decimals: int) -> str:
    """The same, where 0.000 would hide that it is not 0: ``less than 0.0005``."""
    if value is not None and 0 < abs(value) < 0.5 * 10**-decimals:
        return f"less than {0.5 * 10**-decimals:.{decimals + 1}f}"
    return number(value, decimals)


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


def whole(text: str) -> int | None:
    """A whole number as people write it, ``1e6`` or ``1_000_000``; None for anything else."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else None


def plural(count: int, noun: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
