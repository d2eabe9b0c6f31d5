"""The results that the paper published, averages of 12 trainings (tab:stats_A1 to tab:stats_A6b)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

SEEDS = 12


@dataclass(frozen=True)
class PaperStatistics:
    """One row of a table in the paper's layout; None where there is no figure.

    :param max_return_mean: the highest mean return of five consecutive evaluations, seeds averaged first
    :param max_return_sd: the standard deviation within those five
    :param max_return_timestep: the step in their middle
    :param timestep_90pct: the first step at which the return is at least 0.9 of that maximum
    :param value_distance_mean: the mean value distance over the training
    :param value_distance_final_mean: the mean of its last five points
    :param value_distance_final_sd: their standard deviation
    """

    max_return_mean: float | None = None
    max_return_sd: float | None = None
    max_return_timestep: float | None = None
    timestep_90pct: float | None = None
    value_distance_mean: float | None = None
    value_distance_final_mean: float | None = None
    value_distance_final_sd: float | None = None


# Section "Evaluation Results": the mean absolute error of m over the 12 pairs, before and after training.
# The paragraph on A3 calls its two scenarios A2.1 and A2.2.
TARGET_ERRORS = {
    "A2.1": (0.282, 0.031),
    "A2.2": (0.282, 0.049),
    "A3.1": (0.503, 0.128),
    "A3.2": (0.503, 0.106),
}

# The authors' experiments clipped the torque once more, so their published figures belong to these.
_PUBLISHED_AS = {"A2.2-authors": "A2.2", "A3.2-authors": "A3.2"}


def methods() -> tuple[str, ...]:
    """The methods in the order of the paper's tables."""
    return tuple(dict.fromkeys(method for published in _results().values() for method in published))


def results(scenario: str) -> dict[str, PaperStatistics]:
    """The published statistics of a scenario by method, empty where the paper has none."""
    return _results().get(_PUBLISHED_AS.get(scenario, scenario), {})


def best_return(scenario: str) -> float | None:
    """The highest maximum return that the paper has for a scenario, of any method; None where it has none."""
    found = [one.max_return_mean for one in results(scenario).values() if one.max_return_mean is not None]
    return max(found, default=None)


def target_error(scenario: str) -> tuple[float, float] | None:
    """The published target error before and after training, or None."""
    return TARGET_ERRORS.get(_PUBLISHED_AS.get(scenario, scenario))


@cache
def _results() -> dict[str, dict[str, PaperStatistics]]:
    text = resources.files("ambidex.report").joinpath("paper.csv").read_text(encoding="utf-8")
    found: dict[str, dict[str, PaperStatistics]] = {}
    for row in csv.DictReader(text.splitlines()):
        scenario, method = row.pop("scenario"), row.pop("method")
        numbers = {name: float(value) if value else None for name, value in row.items()}
        found.setdefault(scenario, {})[method] = PaperStatistics(**numbers)
    return found
