"""Names and intervals in words."""

from __future__ import annotations

from ambidex.report.statistics import Estimate
from ambidex.report.wording import bounds, method_name, pair_name


def test_bounds() -> None:
    assert bounds(Estimate(0.5, 0.25, 1), 2) == "[0.25, 1.00]"
    assert bounds(Estimate(0.5)) == bounds(None) == "–"


def test_names() -> None:
    assert [method_name(name) for name in ("ppo", "asl", "mine")] == ["PPO", "ASL", "mine"]
    assert pair_name("0->2") == "0→2"
