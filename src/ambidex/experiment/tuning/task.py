"""What is tuned: robots, a method, a budget, and what counts as good."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.reading import read_bytes
from ambidex.common.words import listed
from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig, merge
from ambidex.experiment.configure.presets import refuse_unused, resolve
from ambidex.experiment.many_runs.reading import read_returns
from ambidex.experiment.many_runs.sweep import PlannedRun
from ambidex.experiment.one_run.trust.identity import sha256
from ambidex.experiment.tuning.space import Space
from ambidex.symmetry import load

OWN = {"scenario": "--scenarios", "method": "--method", "steps": "--budget", "seed": "--seeds"}
"""What a search decides by itself, and by which option."""
EVALUATIONS = 9
"""How many a run with the whole budget has, as near to each ninth of it as whole iterations come."""
COUNTED = 3
"""At how many of the last ninths a run's returns are averaged."""


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
        if strangers := [name for name in self.references if name not in self.robots]:
            raise ValueError(f"--reference {strangers[0]}=...: this search is on {listed(self.robots)}")
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
        found = [
            resolve(scenario, self.method, {**self.overrides, **values, "steps": steps, "seed": seed})
            for seed in range(self.seeds)
            for scenario in self.scenarios or (None,)
        ]
        return found if "evaluation_every" in self.overrides else [self._evaluated(one) for one in found]

    def _evaluated(self, config: RunConfig) -> RunConfig:
        every = max(1, round(self.budget / EVALUATIONS / config.iteration_steps))
        return config.model_copy(update={"evaluation_every": every})

    def runs(self, values: Mapping[str, Any], steps: int, directory: Path) -> list[PlannedRun]:
        return [PlannedRun(config, directory / config.directory) for config in self.configs(values, steps)]

    def given(self, space: Space) -> dict[str, dict[str, Any]]:
        """For each robot what all its trials share, most of it from a preset: what is not searched for."""
        shared = {}
        for robot, config in zip(self.robots, self.configs({}, self.budget), strict=False):
            values = config.model_dump(mode="json", exclude={"seed"})
            values |= values.pop("hyperparameters")
            values |= {f"{name} file": sha256(content) for name, content in _files(config).items()}
            shared[robot] = {name: value for name, value in values.items() if name not in space}
        return shared

    def check(self, space: Space) -> None:
        """Refuse what cannot be trained, before anything is: values that no run takes, or that are fixed.

        The robots are built, too, each with its model: what is wrong with them is no fault of a setting.
        """
        configs = self.configs({}, self.budget)
        if len({config.directory for config in configs}) < len(configs):
            raise ValueError("two scenario files have one name, by which their runs are kept; rename one")
        self.build({})
        fixed = merge({}, self.overrides)["hyperparameters"]
        refuse_unused([self.method], {**fixed, **dict.fromkeys(space)})
        for name in space:
            if name in fixed:
                raise ValueError(
                    f"{name} is both in the search space and fixed (--set); leave it out of one of them"
                )
        longest = {}
        for name, part in space.items():
            steps = {}
            for end in part.ends():
                try:
                    tried = self.configs({name: end}, self.budget)
                except ValueError as error:
                    raise ValueError(f"the search space has {name} = {end!r}: {error}") from None
                steps[max(config.iteration_steps for config in tried)] = end
            if len(steps) > 1:
                longest[name] = steps[max(steps)]
        iteration = max(config.iteration_steps for config in self.configs(longest, self.budget))
        least = 2 * EVALUATIONS * iteration  # a score is then of a fifth more or less steps at the most
        if longest and least > self.budget:
            raise ValueError(
                f"the search space varies {listed(sorted(longest))}, and its iterations of up to "
                f"{iteration:,} steps are too long to compare settings after like steps within "
                f"{self.budget:,}: give a budget of {least:,} at least, or a --space with "
                f"less {listed(sorted(longest))}"
            )

    def build(self, values: Mapping[str, Any]) -> None:
        """Make every robot and its model with these hyperparameters, as a run does, and leave them."""
        for config in self.configs(values, self.budget)[: len(self.robots)]:
            source = build.symmetry_source(config)
            group = None if source is None else load(source)
            build.evaluation_environment(config, group).close()
            env = build.training_environment(config, group)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of settings, which the runs themselves give
                    build.build_model(config, env, group)
            finally:
                env.close()

    def returns(self, runs: Sequence[PlannedRun]) -> dict[str, float]:
        """The mean return of each robot, over the seeds and the last ninths of the budget that its runs had.

        Between two evaluations a return is interpolated, so that settings are compared after the same steps.
        """
        found: dict[str, list[float]] = {}
        for run in runs:
            series = read_returns(run.directory / "evaluations.csv")
            assert series is not None  # a run that has ended was evaluated
            robot = run.config.scenario or str(run.config.env)
            ninth = self.budget / EVALUATIONS
            reached = max(1, round(run.config.steps / ninth))
            counted = ninth * np.arange(max(1, reached - COUNTED + 1), reached + 1)
            found.setdefault(robot, []).append(float(np.interp(counted, series.steps, series.values).mean()))
        return {robot: float(np.mean(values)) for robot, values in found.items()}

    def score(self, returns: Mapping[str, float]) -> float:
        """The mean over the robots of return over reference; of a single robot without one, its return."""
        return float(np.mean([value / self.references.get(robot, 1.0) for robot, value in returns.items()]))


def _files(config: RunConfig) -> dict[str, bytes]:
    """What the robot's own files hold, those of the package aside."""
    source = build.symmetry_source(config)
    symmetry = None if source is None or not Path(source).is_file() else Path(source)
    paths = {"symmetry": symmetry, "scenario": config.scenario_file}
    return {name: read_bytes(path) for name, path in paths.items() if path is not None}
