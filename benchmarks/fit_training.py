"""Which fit comes closer to the truth, and sooner, while a policy learns: the triangle robot.

For each scenario, fit and seed a run of ASL; at each iteration the mean error of the estimated action maps
(all elements of all transforms) against the robot's true ones. Writes one row per iteration to a CSV file and
prints the table of means.

    OMP_NUM_THREADS=1 python benchmarks/fit_training.py --seeds 5 --steps 120000 --out errors.csv
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import triangle
from stable_baselines3.common.callbacks import BaseCallback

from ambidex import ASL, CalibratedFit, PairwiseFit, SymmetricPPO, TransitionFit
from ambidex.actuators.canonical import Noise
from ambidex.learn.fits.protocol import Fit

SCENARIOS = ("triangle-rust", "triangle-weight")
FITS = ("pairwise", "calibrated", "calibrated, eigenvector", "transition")
DEAD_ZONE = {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.0, "e": 0.0}
SHOWN = (0.1, 0.25, 0.5, 1.0)  # of the training


def make_fit(name: str, scenario: str, weight: float) -> Fit:
    """All fits from the policy have the same largest weight of an update and the same decay."""

    def update_weight(error: float) -> float:
        return weight * 0.01 / (0.01 + error**4)

    offsets = scenario == "triangle-weight"
    if name == "pairwise":
        return PairwiseFit(form="mx+b" if offsets else "mx", update_weight=update_weight)
    if name == "transition":
        return TransitionFit(offsets=offsets)
    noise: Noise = "proportional" if "eigenvector" in name else "any"
    return CalibratedFit(offsets=offsets, noise=noise, update_weight=update_weight)


class Errors(BaseCallback):
    """The errors of the action maps after each iteration's fit."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, float, float, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, SymmetricPPO)
        true = self.training_env.true_action_maps()  # type: ignore[attr-defined]
        maps = self.model.action_maps()
        m = np.mean([np.abs(maps[name].multipliers - true[name][0]) for name in maps])
        b = np.mean([np.abs(maps[name].biases - true[name][1]) for name in maps])
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        self.rows.append((self.num_timesteps, float(m), float(b), float(np.mean(returns or [np.nan]))))

    def _on_training_end(self) -> None:
        self._on_rollout_start()


def run(scenario: str, fit: Fit, seed: int, steps: int) -> list[tuple[int, float, float, float]]:
    errors = Errors()
    triangle.train(
        32,
        errors,
        scenario=scenario,
        seed=seed,
        steps=steps,
        loss=ASL(policy_weight=0.1, max_shift=0.5, dead_zone=DEAD_ZONE, fit=fit),
        batch_size=256,
        n_epochs=5,
        learning_rate=1e-3,
    )
    return errors.rows


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, str, int, int, float, float, float]]:
    for scenario in arguments.scenario or SCENARIOS:
        for name in arguments.fit or FITS:
            fit = make_fit(name, scenario, arguments.update_weight)
            before = time.process_time()
            for seed in range(arguments.seeds):
                for steps, m, b, episode_return in run(scenario, fit, seed, arguments.steps):
                    yield scenario, name, seed, steps, m, b, episode_return
            print(f"{scenario}, {name}: {time.process_time() - before:.0f} s of CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--update-weight", type=float, default=0.05, help="largest; the paper's is 0.05")
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="by default all")
    parser.add_argument("--fit", choices=FITS, action="append", help="by default all")
    parser.add_argument("--out", type=Path, help="a CSV file of all iterations")
    arguments = parser.parse_args()
    rows = list(measured(arguments))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        partial = arguments.out.with_suffix(".partial")
        with partial.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["scenario", "fit", "seed", "steps", "m_error", "b_error", "episode_return"])
            writer.writerows(rows)
        partial.replace(arguments.out)
    print(f"\nmean error of m and b over {arguments.seeds} seeds, at these shares of {arguments.steps} steps")
    print(f"{'scenario':18}{'fit':26}" + "".join(f"{share:>17.0%}" for share in SHOWN) + f"{'return':>10}")
    for scenario in arguments.scenario or SCENARIOS:
        for name in arguments.fit or FITS:
            own = [row for row in rows if row[:2] == (scenario, name)]
            cells = []
            for share in SHOWN:
                at = [
                    [row for row in own if row[2] == seed and row[3] <= share * arguments.steps][-1]
                    for seed in range(arguments.seeds)
                ]
                cells.append(f"{np.mean([row[4] for row in at]):.3f} {np.mean([row[5] for row in at]):.3f}")
            print(
                f"{scenario:18}{name:26}"
                + "".join(f"{cell:>17}" for cell in cells)
                + f"{np.mean([row[6] for row in at]):>10.2f}"
            )


if __name__ == "__main__":
    main()
