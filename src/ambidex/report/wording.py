"""Numbers and names as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ambidex.report.statistics import Interval

NOTHING = "–"
_MINUS = "−"


def method_name(method: str) -> str:
    """ASL for ``asl``; a name that is none of the paper's stays as it is."""
    return method.upper() if method in ("ppo", "asl", "psl", "msl") else method


def pair_name(pair: str) -> str:
    """``0→2`` for ``0->2``."""
    return pair.replace("->", "→")


def plural(count: int, noun: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


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


def bounds(interval: Interval | None, decimals: int | None = None) -> str:
    """``[low, high]``, a dash where one seed gives no interval."""
    if interval is None or interval.low is None or interval.high is None:
        return NOTHING
    if decimals is None:
        return f"[{score(interval.low)}, {score(interval.high)}]"
    return f"[{number(interval.low, decimals)}, {number(interval.high, decimals)}]"
