"""Run directories in the format that the experiment writes, with numbers chosen by the test."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambidex import Symmetry, SymmetryGroup, save
from ambidex.cli import command_line as cli

TRIANGLE = {
    "a": ([0, 2, 1], -1, "reflection"),
    "b": ([2, 1, 0], -1, "reflection"),
    "c": ([1, 0, 2], -1, "reflection"),
    "d": ([2, 0, 1], 1, "rotation"),
    "e": ([1, 2, 0], 1, "rotation"),
}
TORQUES = (1.0, 2.0, 3.0)
"""What each limb of the rusty triangle needs for the same movement, so that m is 2, 3 and 1.5."""

WriteRun = Callable[..., Path]
Ambidex = Callable[..., tuple[int | str | None, str, str]]


def triangle_map(transform: str, torques: Sequence[float] = TORQUES) -> list[float]:
    """The multipliers of a transform for limbs that need these torques."""
    indices, sign, _ = TRIANGLE[transform]
    return [sign * torques[u] / torques[q] for u, q in enumerate(indices)]


def triangle_group() -> SymmetryGroup:
    return SymmetryGroup(
        [
            Symmetry(
                name,
                obs_indices=[*indices, 3],
                obs_multipliers=[sign, sign, sign, 1],
                act_indices=indices,
                act_multipliers=[sign] * 3,
                kind=kind,
            )
            for name, (indices, sign, kind) in TRIANGLE.items()
        ]
    )


@pytest.fixture
def write_run() -> WriteRun:
    return write


def write(
    directory: Path,
    *,
    scenario: str | None = "triangle-rust",
    method: str = "asl",
    seed: int = 0,
    status: str = "done",
    returns: Mapping[int, Sequence[float]] | None = None,
    metrics: Mapping[tuple[str, str, str], Mapping[int, float]] | None = None,
    truth: bool = False,
    steps: int = 1000,
    config: Mapping[str, Any] | None = None,
    timings: Mapping[str, float] | None = None,
) -> Path:
    """Write one run: ``returns`` by step and episode, ``metrics`` by name, transform, element and step."""
    directory.mkdir(parents=True, exist_ok=True)
    about = {
        "format": 1,
        "status": status,
        "config": {"scenario": scenario, "method": method, "seed": seed, "steps": 1000, **(config or {})},
        "versions": {"ambidex": "0.1.0", "torch": "2.13.0"},
        "commit": "0123abc",
        "hardware": {"processor": "test"},
        "timings": {"total": 12.5, **(timings or {})},
        "steps": steps,
        "iterations": 10,
        "command": f"ambidex train {scenario} --method {method} --seed {seed}",
    }
    (directory / "run.json").write_text(json.dumps(about))
    rows: list[list[object]] = [["iteration", "steps", "episode", "goal", "return", "length"]]
    for step, episodes in (returns or {}).items():
        rows += [[step // 10, step, number, number % 2, value, 100] for number, value in enumerate(episodes)]
    write_csv(directory / "evaluations.csv", rows)
    rows = [["iteration", "steps", "metric", "transform", "element", "value"]]
    for (metric, transform, element), points in (metrics or {}).items():
        rows += [[step // 10, step, metric, transform, element, value] for step, value in points.items()]
    write_csv(directory / "symmetry.csv", rows)
    save(triangle_group(), directory / "symmetry.yaml")
    if truth:
        maps = {name: {"multipliers": triangle_map(name), "biases": [0.0] * 3} for name in TRIANGLE}
        (directory / "truth.json").write_text(json.dumps(maps))
    return directory


def write_csv(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def announce(
    directory: Path,
    methods: Sequence[str],
    seeds: Sequence[int],
    scenarios: Sequence[str] = ("triangle-rust",),
) -> None:
    """Write the grid of a sweep."""
    runs = [
        {
            "directory": f"{scenario}/{method}/seed-{seed}",
            "config": {"scenario": scenario, "env": None, "method": method, "seed": seed},
        }
        for scenario in scenarios
        for method in methods
        for seed in seeds
    ]
    (directory / "sweep.json").write_text(json.dumps({"format": 1, "runs": runs}))


def fitted_metrics(
    torques: Sequence[float], steps: Sequence[int]
) -> dict[tuple[str, str, str], dict[int, float]]:
    """The metrics of a fit that sits at these torques from the first step to the last."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for q, u in ((0, 1), (0, 2), (1, 2)):
        found["target_m", "", f"{q}->{u}"] = dict.fromkeys(steps, torques[u] / torques[q])
    for number, name in enumerate(TRIANGLE):
        found["value_distance", name, ""] = dict.fromkeys(steps, 1.0 + number)
        found["neutral_rejection_ratio", name, ""] = dict.fromkeys(steps, 0.1 * (number < 3))
        for element, multiplier in enumerate(triangle_map(name, torques)):
            found["map_m", name, str(element)] = dict.fromkeys(steps, multiplier)
    return found


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two methods with three seeds each on the rusty triangle, as a sweep lays them out."""
    directory = tmp_path / "study"
    steps = range(100, 1001, 100)
    for method, gain in (("ppo", 1.0), ("asl", 2.0)):
        for seed in range(3):
            returns = {step: [gain * step + 7 * seed, gain * step - 7 * seed] for step in steps}
            write(
                directory / "triangle-rust" / method / f"seed-{seed}",
                method=method,
                seed=seed,
                returns=returns,
                metrics=fitted_metrics((1.0, 1.9 + seed / 10, 3.0), steps) if method == "asl" else {},
                truth=True,
            )
    return directory


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    """Two scenarios, two methods that overlap, eight seeds each: the bootstrap has something to draw."""
    directory = tmp_path / "scattered"
    generator = np.random.default_rng(0)
    for scenario in ("triangle-rust", "triangle-weight"):
        for method in ("ppo", "asl"):
            for seed in range(8):
                returns = {step: [generator.normal(100, 30)] for step in range(100, 601, 100)}
                distance = {step: generator.normal(10, 3) for step in returns}
                write(
                    directory / scenario / method / f"seed-{seed}",
                    scenario=scenario,
                    method=method,
                    seed=seed,
                    returns=returns,
                    metrics={("value_distance", "a", ""): distance},
                )
    return directory


@pytest.fixture
def ambidex(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ambidex:
    """Runs the command line with these arguments; gives its exit status, output and complaint."""

    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr("sys.argv", ["ambidex", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    return run
