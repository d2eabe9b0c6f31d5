"""Names and intervals as people read them."""

from __future__ import annotations

from ambidex.common.numerals import NOTHING, number, score
from ambidex.experiment.configure.methods import METHODS
from ambidex.report.statistics import Estimate


def method_name(method: str) -> str:
    """ASL for ``asl``; a name that is not registered stays as it is."""
    return METHODS.get(method).label if method in METHODS else method


def pair_name(pair: str) -> str:
    """``0→2`` for ``0->2``."""
    return pair.replace("->", "→")


def bounds(estimate: Estimate | None, decimals: int | None = None) -> str:
    """``[low, high]``, a dash where one seed gives no interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOTHING
    if decimals is None:
        return f"[{score(estimate.low)}, {score(estimate.high)}]"
    return f"[{number(estimate.low, decimals)}, {number(estimate.high, decimals)}]"
