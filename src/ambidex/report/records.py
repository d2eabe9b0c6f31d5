"""The report's numbers as plain records, for CSV files and for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ambidex.common.escaping import csv_cell
from ambidex.report import paper
from ambidex.report.statistics import Estimate
from ambidex.report.summary import MethodSummary, Summary


def results(summary: Summary) -> list[dict[str, Any]]:
    """One record per scenario, method and source (ours or the paper's), named as in the paper's data."""
    found = []
    for scenario in summary.scenarios:
        for method in scenario.methods:
            place = {"scenario": scenario.name, "method": method.method}
            found.append({**place, "source": "ours", "seeds": len(method.runs), **_numbers(method)})
            if method.method in scenario.published:
                published = asdict(scenario.published[method.method])
                found.append({**place, "source": "paper", "seeds": paper.SEEDS, **published})
    return found


def _numbers(method: MethodSummary) -> dict[str, float | None]:
    return {
        **asdict(method.statistics),
        **_interval("final_return_iqm", method.final),
        **_interval("probability_over_ppo", method.improvement),
        "target_error": method.fit.final_error if method.fit else None,
    }


def _interval(name: str, interval: Estimate | None) -> dict[str, float | None]:
    values = (interval.value, interval.low, interval.high) if interval else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def ratios(summary: Summary) -> list[dict[str, Any]]:
    """One record per pair of actuators whose ratio a method learned."""
    return [
        {"scenario": scenario.name, "method": method.method, "pair": pair.name}
        | {"learned": pair.mean, "seeds": list(pair.seeds), "truth": pair.truth, "error": pair.error}
        for scenario in summary.scenarios
        for method in scenario.methods
        if method.fit is not None
        for pair in method.fit.pairs
    ]


def as_csv(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Records as CSV under a heading; no text in them is run by a spreadsheet."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: csv_cell(cell) if isinstance(cell, str) else cell for name, cell in record.items()}
        for record in records
    )
    return file.getvalue()


def missing(summary: Summary) -> list[dict[str, Any]]:
    """One record per seed that is not in the averages, with the reason."""
    return [
        {"scenario": scenario.name, "method": method.method, "seed": seed, "reason": reason}
        for scenario in summary.scenarios
        for method in scenario.methods
        for seed, reason in method.missing.items()
    ]
