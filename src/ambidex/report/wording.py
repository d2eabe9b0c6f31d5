"""Names and intervals as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from ambidex.common.numerals import NOTHING, number, score
from ambidex.experiment.configure.algorithms import plain_way, way_label
from ambidex.report.statistics import Estimate


def method_name(method: str) -> str:
    """ASL for ``asl``; a name that is not registered stays as it is."""
    return way_label(method)


def plain_name(methods: Iterable[str]) -> str:
    """What these are compared with: PPO, or the algorithm without symmetries that they have in common."""
    names = {way_label(plain_way(method)) for method in methods}
    return names.pop() if len(names) == 1 else "the plain algorithm"


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
