"""One row per scenario: what a method reached, beside the paper's four columns, and what it cost."""

from __future__ import annotations

from typing import Any

from ambidex.common.words import listed
from ambidex.report.cost import cpu_minutes
from ambidex.report.records import as_csv
from ambidex.report.statistics import best_place
from ambidex.report.summary import MethodSummary, ScenarioSummary, Summary

PAPER = ("ppo", "msl", "psl", "asl")
FIGURES = ("max_return_mean", "low", "high")
HEAD = ("scenario", "seeds", "steps", *FIGURES, *(f"paper_{method}" for method in PAPER), "cpu_minutes")


def table_csv(summary: Summary) -> str:
    """The table as CSV, with a row for each scenario that has runs.

    ``max_return_mean`` is the paper's statistic, the highest mean of five consecutive evaluations, seeds
    averaged first; ``low`` and ``high`` are the lowest and the highest seed in those same five.
    ``cpu_minutes`` is the mean of a run, over those that recorded the time of the processor.
    """
    found = {method.method for scenario in summary.scenarios for method in scenario.methods if method.runs}
    if len(found) > 1:
        methods = sorted(found)
        raise ValueError(
            f"the table has a row per scenario, for one method, and these runs are of {listed(methods)}; "
            f"give the directories of one, such as runs/*/{methods[0]}"
        )
    rows = [
        _row(scenario, method)
        for scenario in summary.scenarios
        for method in scenario.methods
        if method.returns is not None
    ]
    return as_csv(HEAD, rows)


def _row(scenario: ScenarioSummary, method: MethodSummary) -> dict[str, Any]:
    returns = method.returns
    assert returns is not None
    seeds = returns.seeds[:, best_place(returns.mean)].mean(axis=1)
    figures = (f"{figure:.1f}" for figure in (seeds.mean(), seeds.min(), seeds.max()))
    minutes = cpu_minutes(method.runs)
    published = {f"paper_{name}": scenario.published.get(name) for name in PAPER}
    return {
        "scenario": scenario.name,
        "seeds": len(method.runs),
        "steps": min(run.steps for run in method.runs),
        **dict(zip(FIGURES, figures, strict=True)),
        **{name: "" if one is None else f"{one.max_return_mean:g}" for name, one in published.items()},
        "cpu_minutes": "" if minutes is None else f"{minutes:.1f}",
    }
