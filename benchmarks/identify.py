"""How near the robot's own motion brings us to its actuators' true ratios, and how soon.

Ants with random policies, a fresh network every thousand steps, exploration noise 0.37, no learning at all:
the mean error of m over the pairs of actuators (the paper's measure) after more and more steps, beside the
error of the given symmetry. Where no truth is known (heavy feet), the scales themselves.

    OMP_NUM_THREADS=1 python benchmarks/identify.py --out results/identify.csv

With ``--runs``, the same error while a policy trains: of the targets of each run, whichever fit it has.

    python benchmarks/identify.py --runs results/A3.1/asl/seed-1 results/A3.1-transition/asl/seed-1

With ``--figure`` also their returns and errors over the steps, a column per scenario, a colour per fit.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np

from ambidex import identify, load
from ambidex.actuators.identification import Identification, expected_after_clipping
from ambidex.common.files import write_bytes
from ambidex.envs import scenarios
from ambidex.experiment.many_runs.reading import Run, load_runs
from ambidex.report.learned_maps import pair_multipliers

SCENARIOS = ("A1.1", "A2.1", "A2.1-reversed", "A3.1", "A3.1-reversed", "A4.1", "A4.4")
SIZES = (8_000, 20_000, 60_000)
NOISE = 0.37
POLICY_STEPS = 1000
COLOURS = {"pairwise": "#8a9099", "calibrated": "#1f5fd6", "transition": "#e8710a"}


def random_policy(rng: np.random.Generator, observations: int, actions: int) -> list[np.ndarray]:
    sizes = [(observations + 1, 256), (257, 256), (257, actions)]
    return [rng.uniform(-1, 1, size) / np.sqrt(size[0]) for size in sizes]


def act(policy: list[np.ndarray], state: np.ndarray) -> np.ndarray:
    for number, weights in enumerate(policy):
        state = np.append(state if number == 0 else np.maximum(state, 0), 1.0) @ weights
    return state


def explore(scenario: str, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Observations, actions as the robot got them, next observations, and the actions to be expected."""
    rng = np.random.default_rng(0)
    env = gym.make(scenarios.get(scenario).env, scenario=scenario)
    assert isinstance(env.action_space, gym.spaces.Box)
    low, high = env.action_space.low, env.action_space.high
    state, _ = env.reset(seed=0)
    rows = []
    for step in range(steps):
        if step % POLICY_STEPS == 0:
            policy = random_policy(rng, len(state), len(low))
        mean = act(policy, state)
        action = np.clip(mean + NOISE * rng.standard_normal(len(low)), low, high).astype(np.float32)
        following, _, terminated, truncated, _ = env.step(action)
        rows.append((state, action, following, mean))
        state = env.reset()[0] if terminated or truncated else following
    env.close()
    observations, actions, after, means = (np.array(column) for column in zip(*rows, strict=True))
    return observations, actions, after, expected_after_clipping(means, np.full(len(low), NOISE), low, high)


def true_pairs(scenario: str) -> dict[str, float] | None:
    env = gym.make(scenarios.get(scenario).env, scenario=scenario)
    maps = env.unwrapped.true_action_maps()  # type: ignore[attr-defined]
    env.close()
    return None if maps is None else pairs({name: m for name, (m, _) in maps.items()})


def pairs(multipliers: dict[str, np.ndarray]) -> dict[str, float]:
    tables = {symmetry.name: symmetry.action_map.indices for symmetry in load("ant")}
    return pair_multipliers(tables, multipliers)


def error(found: dict[str, float], true: dict[str, float]) -> float:
    return float(np.mean([abs(found[pair] - m) for pair, m in true.items()]))


def measure(scenario: str, sizes: tuple[int, ...]) -> Iterator[tuple[int, Identification]]:
    group = load("ant")
    observations, actions, following, means = explore(scenario, max(sizes))
    for size in sizes:
        yield (
            size,
            identify(
                group,
                observations[:size],
                actions[:size],
                following[:size],
                means=means[:size],
                offsets=False,
            ),
        )


def random_policies(chosen: list[str], sizes: tuple[int, ...], out: Path | None) -> None:
    rows = []
    for scenario in chosen:
        true = true_pairs(scenario)
        for size, found in measure(scenario, sizes):
            maps = {name: found.action_map(name).multipliers for name in found.group.names}
            wrong = None if true is None else error(pairs(maps), true)
            given = None if true is None else error(dict.fromkeys(true, 1.0), true)
            rows.append((scenario, size, given, wrong, *found.scale, *found.log_scale_error))
            shown = "" if wrong is None else f"error of m {wrong:.3f} (given symmetry {given:.3f})"
            scales = " ".join(f"{scale:.2f}" for scale in found.scale)
            print(f"{scenario:14} {size:7,} steps: {shown:45} scales {scales}", flush=True)
    if out is not None:
        joints = range(8)
        head = ["scenario", "steps", "given_error", "error"]
        head += [f"scale_{i}" for i in joints] + [f"log_scale_error_{i}" for i in joints]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([head, *rows])
        write_bytes(out, text.getvalue().encode())


def trainings(runs: list[Run], sizes: tuple[int, ...]) -> None:
    for run in runs:
        shown = [
            f"{size:,}: {wrong:.3f}" for size, wrong in zip(sizes, target_errors(run, sizes), strict=False)
        ]
        print(f"{run.directory}: {', '.join(shown) or 'its true action maps are not known'}")


def target_errors(run: Run, sizes: Iterable[float]) -> list[float]:
    """Of the targets at each of these steps; none where the truth is not known."""
    true = pairs({name: m for name, (m, _) in (run.truth or {}).items()})
    found = ({pair: last_target(run, pair, size) for pair in true} for size in sizes)
    return [error(targets, true) for targets in found] if true else []


def last_target(run: Run, pair: str, steps: float) -> float:
    """The newest m of a pair at this step; 1, as given, where nothing was known yet."""
    series = run.metrics.get(("target_m", "", pair))
    at = -1 if series is None else int(np.searchsorted(series.steps, steps, side="right")) - 1
    return 1.0 if series is None or at < 0 else float(series.values[at])


def draw(runs: list[Run], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = sorted({run.scenario for run in runs})
    figure, axes = plt.subplots(
        2, len(columns), figsize=(5.2 * len(columns), 6.4), sharex=True, squeeze=False
    )
    for run in runs:
        of_returns, of_errors = axes[:, columns.index(run.scenario)]
        fit = run.config["hyperparameters"]["fit"]
        style = {"color": COLOURS[fit], "linestyle": "-" if run.seed == 1 else "--"}
        label = f"{fit} fit, seed {run.seed}"
        if run.returns is not None:
            of_returns.plot(run.returns.steps / 1e6, run.returns.values, label=label, **style)
        steps = np.linspace(0, run.steps, 200)
        if errors := target_errors(run, steps):
            of_errors.plot(steps / 1e6, errors, label=label, **style)
    for column, scenario in enumerate(columns):
        of_returns, of_errors = axes[:, column]
        of_returns.set_title(f"{scenario}: return")
        of_returns.legend(frameon=False)
        of_errors.set_title("mean error of the targets' m")
        of_errors.set_xlabel("million steps")
        of_errors.set_ylim(bottom=0)
        if not of_errors.lines:
            of_errors.text(0.5, 0.5, "heavy feet: no true m", ha="center", transform=of_errors.transAxes)
            of_errors.set_yticks([])
        for axis in (of_returns, of_errors):
            axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS))
    parser.add_argument("--sizes", nargs="+", type=int, default=None)
    parser.add_argument("--runs", nargs="+", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.runs:
        runs = [load_runs([directory]).runs[0] for directory in given.runs]
        trainings(runs, tuple(given.sizes or (*SIZES, 200_000, 500_000, 1_000_000)))
        if given.figure:
            draw(runs, given.figure)
    else:
        random_policies(given.scenarios, tuple(given.sizes or SIZES), given.out)
