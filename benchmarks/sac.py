"""SAC with symmetry against Stable-Baselines3's SAC, and its replay on disk.

    python benchmarks/sac.py [--quick] [--only update|replay]

Update: the ant's sizes (28 observations, 8 actions, 7 transforms), [256, 256] ReLU networks, minibatches of
256, one thread, CPU time of ``train(gradient_steps=4)`` on a replay of 20,000 transitions, the medians of
ratios within rounds in which all take turns. Everything that a gradient step needs is in it, sampling
included.

Replay: a full buffer of 1,000,000 transitions of the ant (10,000 with --quick), of which a checkpoint comes
every 2,000: the CPU and wall seconds and the bytes of the pieces of one checkpoint and of all of them, and of
reading them back. Beside it Stable-Baselines3's own way, a pickle of the whole buffer for each checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import timing  # isort: skip
import numpy as np
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.save_util import save_to_pkl
from update import Noise

from ambidex.experiment.one_run import replay_pieces
from ambidex.learn import ASL, MSL, SymmetricReplayBuffer, SymmetricSAC, TransitionFit
from ambidex.symmetry import load

PLAIN = "Stable-Baselines3, SAC"
LIMITS = {"symmetric replay": 1.15, "equivariant": 1.5}
STORED, STEPS = 20_000, 4


def filled(model: Any) -> Any:
    """With a replay of noise, ready to train."""
    random = np.random.default_rng(0)
    buffer = model.replay_buffer
    for name in ("observations", "next_observations", "rewards"):
        array = getattr(buffer, name)
        array[:] = random.normal(size=array.shape)
    buffer.actions[:] = random.uniform(-1, 1, buffer.actions.shape)
    buffer.full = True
    model._setup_learn(1_000_000)
    return model


def models() -> dict[str, Callable[[], object]]:
    group = load("ant")
    common: dict[str, Any] = {"buffer_size": STORED, "device": "cpu", "seed": 0}
    own = {"env": Noise(), "symmetries": group, **common}
    fit = TransitionFit()
    found = {
        PLAIN: SAC("MlpPolicy", Noise(), **common),
        "without symmetries": SymmetricSAC("MlpPolicy", **{**own, "symmetries": None}),
        "without symmetries, by hand": SymmetricSAC("MlpPolicy", fast=True, **{**own, "symmetries": None}),
        "symmetric replay": SymmetricSAC("MlpPolicy", replay_buffer_class=SymmetricReplayBuffer, **own),
        "symmetric replay, by hand": SymmetricSAC(
            "MlpPolicy", replay_buffer_class=SymmetricReplayBuffer, fast=True, **own
        ),
        "equivariant": SymmetricSAC("EquivariantMlpPolicy", **own),
        "MSL, one drawn": SymmetricSAC("MlpPolicy", loss=MSL(), symmetry_samples=1, **own),
        "ASL, one drawn": SymmetricSAC("MlpPolicy", loss=ASL(fit=fit), symmetry_samples=1, **own),
        "MSL, all seven": SymmetricSAC("MlpPolicy", loss=MSL(), **own),
    }
    return {name: partial(filled(model).train, STEPS, 256) for name, model in found.items()}


def compare_updates(rounds: int) -> None:
    seconds = timing.interleaved(models(), rounds)
    print(f"{'update':28} {'ms/step':>8} {'ratio':>6}  lowest and highest  at most")
    for name, times in seconds.items():
        lowest, highest = timing.spread(seconds, name, PLAIN)
        limit = f"{LIMITS[name]:.2f}" if name in LIMITS else ""
        print(
            f"{name:28} {1000 * np.median(times) / STEPS:8.2f} {timing.ratio(seconds, name, PLAIN):6.2f}"
            f"  {lowest:.2f} to {highest:.2f}        {limit}"
        )


def measure_replay(size: int, every: int = 2_000) -> None:
    env = Noise()
    buffer = ReplayBuffer(size, env.observation_space, env.action_space, "cpu")
    random = np.random.default_rng(0)
    buffer.observations[:] = random.normal(size=buffer.observations.shape)
    buffer.next_observations[:-1] = buffer.observations[1:]
    buffer.actions[:] = random.uniform(-1, 1, buffer.actions.shape)
    ends = np.arange(999, size, 1000)
    buffer.dones[ends] = 1
    buffer.next_observations[ends] = random.normal(size=(len(ends), 1, 28))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "replay"
        walls, cpus = [], []
        for total in range(every, size + 1, every):
            buffer.pos, buffer.full = total % size, total >= size
            wall, cpu = time.perf_counter(), time.process_time()
            replay_pieces.write(directory, buffer, total, 0)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        written = sum(piece.path.stat().st_size for piece in replay_pieces.pieces(directory))
        print(f"\nreplay of {size:,} transitions, a checkpoint every {every:,}")
        print(
            f"one checkpoint: {1000 * np.median(cpus):.1f} ms of CPU, {1000 * np.median(walls):.1f} ms in "
            f"all, {written / len(walls) / 1e6:.2f} MB"
        )
        print(
            f"all {len(walls)} of them: {sum(cpus):.2f} s of CPU, {sum(walls):.2f} s in all, "
            f"{written / 1e6:.0f} MB"
        )
        other = ReplayBuffer(size, env.observation_space, env.action_space, "cpu")
        wall, cpu = time.perf_counter(), time.process_time()
        replay_pieces.read(directory, other, size)
        print(
            f"read back: {time.process_time() - cpu:.2f} s of CPU, {time.perf_counter() - wall:.2f} s in all"
        )
        assert np.array_equal(other.next_observations, buffer.next_observations)
        del other
        wall, cpu = time.perf_counter(), time.process_time()
        save_to_pkl(Path(name) / "whole.pkl", buffer)
        print(
            f"a pickle of the whole, for every checkpoint: {time.process_time() - cpu:.2f} s of CPU, "
            f"{time.perf_counter() - wall:.2f} s in all, "
            f"{(Path(name) / 'whole.pkl').stat().st_size / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["update", "replay"])
    options = parser.parse_args()
    if options.only != "replay":
        compare_updates(5 if options.quick else 25)
    if options.only != "update":
        measure_replay(10_000 if options.quick else 1_000_000)
