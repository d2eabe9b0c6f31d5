"""The demonstration: a rusty robot, plain PPO against ASL, and what ASL found out about the rust."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ambidex.experiment.config import RunConfig
from ambidex.experiment.metrics import read_columns
from ambidex.experiment.presets import resolve
from ambidex.experiment.progress import Reporter

SCENARIO = "triangle-rust"
# Each pair of limbs is mirrored by one reflection; its action map holds the ratio of their torques.
PAIRS = {"limb 1 / limb 0": ("c", 1, 2.0), "limb 2 / limb 0": ("b", 2, 3.0), "limb 2 / limb 1": ("a", 2, 1.5)}


@dataclass(frozen=True)
class Ratio:
    """How much more torque one limb needs than another."""

    limbs: str
    learned: float
    true: float


@dataclass(frozen=True)
class Demonstration:
    """What the demonstration shows.

    :param best_returns: the best evaluation of each method
    """

    directories: list[Path]
    best_returns: dict[str, float]
    ratios: list[Ratio]


def demonstrate(out: Path, attend: Callable[[RunConfig], AbstractContextManager[Reporter]]) -> Demonstration:
    """Train both methods on the triangle with rust and read what they found.

    :param out: holds both runs; runs that are there already are not trained again
    :param attend: opens the progress bar of a run
    """
    from ambidex.experiment.run import train_or_resume

    directories = {}
    for method in ("ppo", "asl"):
        config = resolve(SCENARIO, method, {})
        directories[method] = out / config.directory
        with attend(config) as reporter:
            train_or_resume(config, directories[method], reporter=reporter)
    best = {method: _best_return(directory) for method, directory in directories.items()}
    return Demonstration(list(directories.values()), best, learned_ratios(directories["asl"]))


def learned_ratios(directory: Path) -> list[Ratio]:
    """The ratios of the torques in the last action maps of a run on the rusty triangle."""
    rows = read_columns(directory / "symmetry.csv", "metric", "transform", "element", "value")
    last = {(transform, int(i)): float(value) for metric, transform, i, value in rows if metric == "map_m"}
    return [Ratio(limbs, abs(last[name, limb]), true) for limbs, (name, limb, true) in PAIRS.items()]


def _best_return(directory: Path) -> float:
    returns: dict[str, list[float]] = {}
    for iteration, value in read_columns(directory / "evaluations.csv", "iteration", "return"):
        returns.setdefault(iteration, []).append(float(value))
    return max(sum(values) / len(values) for values in returns.values())
