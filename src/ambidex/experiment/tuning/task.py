"""What is tuned: robots, a method, a budget, and what counts as good."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.experiment.configure.config import RunConfig, merge
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.many_runs.reading import read_returns
from ambidex.experiment.many_runs.sweep import PlannedRun
from ambidex.experiment.tuning.space import Space

OWN = {"scenario": "--scenarios", "method": "--method", "steps": "--budget"}
"""What a search decides by itself, and by which option."""
COUNTED = 3
"""How many of the last evaluations of a run make up its return."""


@dataclass(frozen=True)
class Task:
    """What a search is for.

    :param scenarios: their names; none where ``overrides`` name an ``env``
    :param method: the name of a method
    :param budget: training steps of a trial that is not stopped early
    :param seeds: how many runs of each scenario are a trial, seeds 0, 1, ...
    :param references: the return that counts as 1, for each scenario (or the env)
    :param overrides: values of every run, as `resolve` takes them
    """

    scenarios: tuple[str, ...]
    method: str
    budget: int
    seeds: int = 1
    references: Mapping[str, float] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.budget < 1 or self.seeds < 1:
            raise ValueError(f"budget and seeds are at least 1; got {self.budget} and {self.seeds}")
        for name in OWN.keys() & self.overrides.keys():
            raise ValueError(f"{name} is not for --set in a search; give {OWN[name]}")
        if len(set(self.robots)) < len(self.robots):
            raise ValueError("a scenario is given twice")
        for robot in self.robots:
            reference = self.references.get(robot)
            if reference is None and len(self.robots) > 1:
                raise ValueError(
                    f"no return is known that would count as good on {robot}: with several robots, give "
                    f"--reference {robot}=NUMBER, by which its returns are divided"
                )
            if reference is not None and not (math.isfinite(reference) and reference > 0):
                raise ValueError(
                    f"the reference of {robot} is {reference}; returns are divided by a number above 0"
                )

    @property
    def robots(self) -> tuple[str, ...]:
        return self.scenarios or (str(self.overrides.get("env")),)

    def as_data(self) -> dict[str, Any]:
        return asdict(self) | {"scenarios": list(self.scenarios)}

    def configs(self, values: Mapping[str, Any], steps: int) -> list[RunConfig]:
        """The runs of a trial with these hyperparameters."""
        return [
            resolve(scenario, self.method, {**self.overrides, **values, "steps": steps, "seed": seed})
            for seed in range(self.seeds)
            for scenario in self.scenarios or (None,)
        ]

    def runs(self, values: Mapping[str, Any], steps: int, directory: Path) -> list[PlannedRun]:
        return [PlannedRun(config, directory / config.directory) for config in self.configs(values, steps)]

    def given(self, space: Space) -> dict[str, dict[str, Any]]:
        """For each robot what all its trials share, most of it from a preset: what is not searched for."""
        shared = {}
        for robot, config in zip(self.robots, self.configs({}, self.budget), strict=False):
            values = config.model_dump(mode="json", exclude={"seed"})
            values |= values.pop("hyperparameters")
            shared[robot] = {name: value for name, value in values.items() if name not in space}
        return shared

    def check(self, space: Space) -> None:
        """Refuse a space with values that no run takes, or that are fixed, before anything is trained."""
        fixed = merge({}, self.overrides)["hyperparameters"]
        for name in space:
            if name in fixed:
                raise ValueError(
                    f"{name} is both in the search space and fixed (--set); leave it out of one of them"
                )
        for name, part in space.items():
            for end in part.ends():
                try:
                    self.configs({name: end}, self.budget)
                except ValueError as error:
                    raise ValueError(f"the search space has {name} = {end!r}: {error}") from None

    def returns(self, runs: Sequence[PlannedRun]) -> dict[str, float]:
        """The mean return of each robot: of its last evaluations, over the seeds."""
        found: dict[str, list[float]] = {}
        for run in runs:
            series = read_returns(run.directory / "evaluations.csv")
            assert series is not None  # a run that has ended was evaluated
            robot = run.config.scenario or str(run.config.env)
            found.setdefault(robot, []).append(float(series.values[-COUNTED:].mean()))
        return {robot: float(np.mean(values)) for robot, values in found.items()}

    def score(self, returns: Mapping[str, float]) -> float:
        """The mean over the robots of return over reference; of a single robot without one, its return."""
        return float(np.mean([value / self.references.get(robot, 1.0) for robot, value in returns.items()]))
