"""The demonstration: a rusty robot, PPO, ASL and an equivariant policy, and what they found out about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.methods import BASELINE, DEFAULT, EQUIVARIANT
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run.metrics import read_columns
from ambidex.experiment.one_run.progress import Reporter

SCENARIO = "triangle-rust"
METHODS = (BASELINE.name, DEFAULT.name, EQUIVARIANT.name)
SEEDS = 3
EVALUATED_EVERY = 5  # iterations, so that a window of five evaluations is a small part of a run
# Each pair of limbs is mirrored by one reflection; its action map holds the ratio of their torques.
PAIRS = {"limb 1 / limb 0": ("c", 1, 2.0), "limb 2 / limb 0": ("b", 2, 3.0), "limb 2 / limb 1": ("a", 2, 1.5)}


@dataclass(frozen=True)
class Ratio:
    """How much more torque one limb needs than another; ``learned`` has a number for each seed."""

    limbs: str
    learned: tuple[float, ...]
    true: float

    @property
    def mean(self) -> float:
        return sum(self.learned) / len(self.learned)


@dataclass(frozen=True)
class Demonstration:
    """What the demonstration shows.

    :param returns: for each method the mean return of every evaluation, over the seeds, by training steps
    """

    directories: list[Path]
    returns: dict[str, dict[int, float]]
    ratios: list[Ratio]


def demonstrate(out: Path, attend: Callable[[RunConfig], AbstractContextManager[Reporter]]) -> Demonstration:
    """Train all methods on the triangle with rust and read what they found.

    :param out: holds the runs; runs that are there already are not trained again
    :param attend: opens the progress bar of a run
    """
    from ambidex.experiment.one_run.run import train_or_resume

    directories: dict[str, list[Path]] = {method: [] for method in METHODS}
    for seed in range(SEEDS):
        for method in METHODS:
            config = resolve(SCENARIO, method, {"seed": seed, "evaluation_every": EVALUATED_EVERY})
            directories[method].append(out / config.directory)
            with attend(config) as reporter:
                train_or_resume(config, out / config.directory, reporter=reporter)
    return Demonstration(
        [directory for runs in directories.values() for directory in runs],
        {method: mean_returns(runs) for method, runs in directories.items()},
        learned_ratios(directories[EQUIVARIANT.name]),
    )


def learned_ratios(directories: Sequence[Path]) -> list[Ratio]:
    """The ratios of the torques in the last action maps of runs on the rusty triangle."""
    last = [_last_multipliers(directory) for directory in directories]
    return [
        Ratio(limbs, tuple(abs(multipliers[name, limb]) for multipliers in last), true)
        for limbs, (name, limb, true) in PAIRS.items()
    ]


def _last_multipliers(directory: Path) -> dict[tuple[str, int], float]:
    rows = read_columns(directory / "symmetry.csv", "metric", "transform", "element", "value")
    return {(transform, int(i)): float(value) for metric, transform, i, value in rows if metric == "map_m"}


def mean_returns(directories: Sequence[Path]) -> dict[int, float]:
    """The mean return of each evaluation over all episodes and runs, by training steps."""
    returns: dict[int, list[float]] = {}
    for directory in directories:
        for steps, value in read_columns(directory / "evaluations.csv", "steps", "return"):
            returns.setdefault(int(steps), []).append(float(value))
    return {steps: sum(values) / len(values) for steps, values in returns.items()}
