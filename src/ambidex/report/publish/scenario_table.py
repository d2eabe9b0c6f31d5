"""One row per scenario: what a method reached, beside the paper's four columns, and what it cost."""

from __future__ import annotations

from typing import Any

from ambidex.common.numerals import NOTHING, number, score, steps
from ambidex.common.words import listed
from ambidex.report.cost import cpu_minutes
from ambidex.report.records import as_csv
from ambidex.report.statistics import best_place, passed_at
from ambidex.report.summary import MethodSummary, ScenarioSummary, Summary
from ambidex.report.tables import Row, Table, markdown
from ambidex.report.wording import method_name

PAPER = ("ppo", "msl", "psl", "asl")
FIGURES = ("max_return_mean", "low", "high")
HEAD = ("scenario", "seeds", "steps", *FIGURES, *(f"paper_{method}" for method in PAPER), "cpu_minutes")


def table_csv(summary: Summary) -> str:
    """The table as CSV, with a row for each scenario that has runs.

    ``max_return_mean`` is the paper's statistic, the highest mean of five consecutive evaluations, seeds
    averaged first; ``low`` and ``high`` are the lowest and the highest seed in those same five.
    ``cpu_minutes`` is the mean of a run, over those that recorded the time of the processor. A run that
    collapsed is no seed; a scenario of which nothing else is there has no seeds and no figures.
    """
    return as_csv(HEAD, [_row(scenario, method) for scenario, method in _scenarios(summary)])


def table_markdown(summary: Summary) -> str:
    """The same to be read: rounded, the paper's best in bold, and the steps after which it is passed."""
    columns = [
        *(("", name) for name in ("Scenario", "Seeds", "Steps", "Return", "Lowest and highest seed")),
        *(("The paper", method_name(method)) for method in PAPER),
        ("", "Above the paper's best after"),
        ("", "CPU minutes"),
    ]
    rows = [Row(_cells(scenario, method)) for scenario, method in _scenarios(summary)]
    return markdown(Table("scenarios", "One row per scenario", columns, rows))


def _scenarios(summary: Summary) -> list[tuple[ScenarioSummary, MethodSummary]]:
    """The scenarios that have evaluations, or collapsed, each with the one method of these runs."""
    found = {
        method.method
        for scenario in summary.scenarios
        for method in scenario.methods
        if method.runs or method.collapsed
    }
    if len(found) > 1:
        methods = sorted(found)
        raise ValueError(
            f"the table has a row per scenario, for one method, and these runs are of {listed(methods)}; "
            f"give the directories of one, such as runs/*/{methods[0]}"
        )
    return [
        (scenario, method)
        for scenario in summary.scenarios
        for method in scenario.methods
        if method.returns is not None or method.collapsed
    ]


def _row(scenario: ScenarioSummary, method: MethodSummary) -> dict[str, Any]:
    minutes = cpu_minutes(method.runs)
    published = {f"paper_{name}": scenario.published.get(name) for name in PAPER}
    return {
        "scenario": scenario.name,
        "seeds": len(method.runs),
        "steps": min((run.steps for run in method.runs), default=""),
        **_figures(method),
        **{name: "" if one is None else f"{one.max_return_mean:g}" for name, one in published.items()},
        "cpu_minutes": "" if minutes is None else f"{minutes:.1f}",
    }


def _figures(method: MethodSummary) -> dict[str, str]:
    if method.returns is None:
        return dict.fromkeys(FIGURES, "")
    seeds = method.returns.seeds[:, best_place(method.returns.mean)].mean(axis=1)
    return {
        name: f"{figure:.1f}"
        for name, figure in zip(FIGURES, (seeds.mean(), seeds.min(), seeds.max()), strict=True)
    }


def _cells(scenario: ScenarioSummary, method: MethodSummary) -> list[str]:
    returns = method.returns
    row = _row(scenario, method)
    reached, low, high = (score(float(row[name]) if row[name] else None) for name in FIGURES)
    collapsed = f", {len(method.collapsed)} collapsed" if method.collapsed else ""
    published = {
        name: scenario.published[name].max_return_mean for name in PAPER if name in scenario.published
    }
    best = max((value for value in published.values() if value is not None), default=None)
    passed = None if best is None or returns is None else passed_at(returns.steps, returns.mean, best)
    return [
        scenario.name,
        f"{row['seeds']}{collapsed}",
        steps(row["steps"]) if method.runs else NOTHING,
        reached,
        f"{low}, {high}" if row["seeds"] > 1 else NOTHING,
        *(_published(published.get(name), best) for name in PAPER),
        NOTHING if best is None else "not yet" if passed is None else steps(passed),
        number(float(row["cpu_minutes"]), 0) if row["cpu_minutes"] else NOTHING,
    ]


def _published(value: float | None, best: float | None) -> str:
    return f"**{score(value)}**" if value is not None and value == best else score(value)
