"""A whole iteration of a run on the ant in its parts, and what of it is neither physics nor products.

    python benchmarks/run.py [--quick]

The paper's setting (4096 steps, 20 epochs; 5 epochs with --quick), one thread, CPU time, the runs and the
yardsticks interleaved. The yardsticks do only what cannot be avoided: as many bare simulation steps
under the torques of a gait, and the matrix products of every forward and backward pass, images included.
The log holds the metrics of every fifth iteration and a checkpoint, which a run writes every 20 seconds.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import timing  # isort: skip
import numpy as np
import torch

from ambidex import symmetry
from ambidex.envs.ant.bullet import BulletAnt
from ambidex.envs.ant.task import LARGEST_TORQUE
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.metrics import MetricFiles
from ambidex.experiment.one_run.progress import Silent
from ambidex.experiment.one_run.training import Training
from ambidex.experiment.one_run.trust.identity import Identity

SCENARIO = "A1.1"
STEPS, BATCH = 4096, 64
ACTOR, CRITIC = (28, 256, 256, 8), (28, 256, 256, 1)
RUNS = {"ppo": ("ppo", None), "ppo, --fast": ("ppo", True), "asl": ("asl", None)}
PARTS = ("rollout", "fit", "update", "logging")


class Iteration:
    """A run whose iterations are called one by one; keeps the CPU seconds of the parts of each."""

    def __init__(self, method: str, fast: bool | None, epochs: int, directory: Path) -> None:
        config = resolve(SCENARIO, method, {"n_epochs": epochs, "fast": fast, "metrics_every": 1})
        self.training = training = Training(config, symmetry.load("ant"), Silent())
        directory.mkdir()
        training.directory = directory
        training.metrics = MetricFiles(directory)
        training.checkpoints = []
        training.identity = Identity.of(config.model_dump(mode="json"), {})
        record.create(directory, config, training.identity)
        self.parts: list[dict[str, float]] = []

    def __call__(self) -> None:
        training = self.training
        training.seconds = dict.fromkeys(training.seconds, 0.0)
        training.loop.iterate(1, training._timed, training._measure)
        training.iteration += 1
        training._timed("logging", training._log)
        training._timed("logging", training._checkpoint)
        self.parts.append(dict(training.seconds))


def simulation() -> Callable[[], object]:
    """The steps of one roll-out, with nothing but control and `stepSimulation`."""
    body = BulletAnt()
    phases = np.random.default_rng(0).uniform(0, 6.28, 8)
    torques = (LARGEST_TORQUE * 0.5 * np.sin(phases + 0.2 * np.arange(STEPS)[:, None])).tolist()

    def block() -> None:
        for step, row in enumerate(torques):
            if step % 200 == 0:
                body.reset(0.0, [0.0] * 8)
            body.step(row)

    return block


def products(epochs: int, images: int) -> Callable[[], object]:
    """The matrix products of one iteration: roll-out, snapshot of all images, forward and backward passes."""

    def layers(rows: int, sizes: tuple[int, ...]) -> list[tuple[torch.Tensor, ...]]:
        return [
            (torch.randn(rows, i), torch.randn(i, o), torch.randn(rows, o))
            for i, o in itertools.pairwise(sizes)
        ]

    networks = (ACTOR, CRITIC)
    single = [layer for sizes in networks for layer in layers(1, sizes)]
    snapshot = [layer for sizes in networks for layer in layers(STEPS, sizes)]
    batch = [layer for sizes in networks for layer in layers(BATCH * (1 + images), sizes)]

    def block() -> None:
        for _ in range(STEPS):
            for inputs, weights, _ in single:
                inputs @ weights
        for _ in range(1 + images if images else 0):
            for inputs, weights, _ in snapshot:
                inputs @ weights
        for _ in range(epochs * STEPS // BATCH):
            for inputs, weights, gradients in batch:
                inputs @ weights
                inputs.T @ gradients
                if inputs.shape[1] != ACTOR[0]:
                    gradients @ weights.T

    return block


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer epochs and rounds")
    quick = parser.parse_args().quick
    epochs, rounds = (5, 2) if quick else (20, 3)
    time.perf_counter = time.process_time  # the parts too are measured in CPU time
    with tempfile.TemporaryDirectory() as directory:
        runs = {
            name: Iteration(method, fast, epochs, Path(directory, str(place)))
            for place, (name, (method, fast)) in enumerate(RUNS.items())
        }
        yardsticks = {
            "simulation": simulation(),
            "products without images": products(epochs, 0),
            "products with images": products(epochs, 7),
        }
        with torch.no_grad():
            blocks = {name: torch.enable_grad()(run) for name, run in runs.items()} | yardsticks
            seconds = timing.interleaved(blocks, rounds)
    report({name: run.parts[1:] for name, run in runs.items()}, seconds)


def report(parts: dict[str, list[dict[str, float]]], seconds: dict[str, np.ndarray]) -> None:
    print(f"{'CPU seconds of an iteration':<28}", *(f"{part:>9}" for part in (*PARTS, "whole")))
    for name, rows in parts.items():
        figures = [float(np.median([row[part] for row in rows])) for part in PARTS]
        print(f"{name:<28}", *(f"{figure:9.3f}" for figure in (*figures, float(np.median(seconds[name])))))
    for name in seconds.keys() - parts.keys():
        print(f"{name:<28}", " " * 39, f"{float(np.median(seconds[name])):9.3f}")
    for name in parts:
        images = "without" if name.startswith("ppo") else "with"
        needed = seconds["simulation"] + seconds[f"products {images} images"]
        rest = float(np.median(1 - needed / seconds[name]))
        print(f"{name}: {rest:.0%} of the iteration is neither physics nor matrix products")
    logging = {name: float(np.median([row["logging"] for row in rows])) for name, rows in parts.items()}
    for name, value in logging.items():
        print(f"{name}: log, metrics and a checkpoint take {value / float(np.median(seconds[name])):.2%}")


if __name__ == "__main__":
    main()
