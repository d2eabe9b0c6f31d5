"""Does drawing one image per state learn as well as using all of them? The triangle robot, several seeds.

    OMP_NUM_THREADS=1 python benchmarks/sampling.py --seeds 10 --out results/sampling-triangle.csv

Trains the ideal triangle with plain PPO, with ASL on all five images of every state, and with ASL on one
image drawn per state, and prints the mean deterministic return (and its standard error) over the training,
and the CPU time of each as a share of plain PPO's.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch
import triangle

from ambidex import ASL

LOSS = ASL(policy_weight=1.0, value_weight=0.5, max_shift=2.0, dead_zone=0.0, value_gate=None, fit=None)
METHODS = {
    "ppo": {},
    "asl, all images": {"loss": LOSS},
    "asl, one image": {"loss": LOSS, "symmetry_samples": 1},
}
SHOWN = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the training


def train(method: str, seed: int, steps: int) -> list[tuple[int, float]]:
    curve = triangle.Curve("triangle")
    triangle.train(
        4,
        curve,
        scenario="triangle",
        seed=seed,
        steps=steps,
        fast=True,
        batch_size=64,
        n_epochs=10,
        learning_rate=3e-4,
        **METHODS[method],
    )
    return curve.points


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12_800)
    parser.add_argument("--out", type=Path, help="a CSV file of all points")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    curves: dict[str, list[list[tuple[int, float]]]] = {method: [] for method in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for seed in range(arguments.seeds):
        for method in METHODS:
            start = time.process_time()
            curves[method].append(train(method, seed, arguments.steps))
            seconds[method] += time.process_time() - start
    if arguments.out:
        with arguments.out.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["method", "seed", "steps", "return"])
            for method, runs in curves.items():
                writer.writerows((method, seed, *point) for seed, run in enumerate(runs) for point in run)
    steps = np.array([point[0] for point in curves["ppo"][0]])
    places = [int(np.searchsorted(steps, share * steps[-1])) for share in SHOWN]
    print(
        f"{'return at step':18}" + "".join(f"{steps[place]:>16,}" for place in places) + f"{'CPU of ppo':>12}"
    )
    for method, runs in curves.items():
        returns = np.array([[value for _, value in run] for run in runs])
        error = returns.std(axis=0) / np.sqrt(len(runs))
        cells = "".join(f"{returns.mean(axis=0)[p]:>10.2f} ±{error[p]:.2f}" for p in places)
        print(f"{method:18}{cells}{seconds[method] / seconds['ppo']:>12.2f}")


if __name__ == "__main__":
    main()
