"""A2C and TRPO with the seven symmetries of the ant, against their parents without.

    python benchmarks/algorithms.py [--rounds N]

28 observations, 8 actions, separate [256, 256] ReLU networks, one thread, CPU time. An iteration is a
roll-out in an environment that costs nothing, and its update, with the zoo's settings for the ant: A2C with 4
environments of 8 steps, TRPO with 2 of 1024. Sampled: one image drawn for each state. Each figure is the
median over interleaved rounds of the ratio within a round; the limit is for whole iterations.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import timing  # isort: skip
import numpy as np
import torch
from sb3_contrib import TRPO
from stable_baselines3 import A2C
from stable_baselines3.common.vec_env import DummyVecEnv
from update import HIDDEN, Noise

from ambidex.learn import ASL, MSL, PSL, Augmentation, SymmetricA2C, SymmetricTRPO
from ambidex.symmetry import load

SETTINGS: dict[str, dict[str, Any]] = {
    "A2C": {"n_steps": 8, "gae_lambda": 0.9, "vf_coef": 0.4, "learning_rate": 3e-4},
    "TRPO": {"n_steps": 1024, "batch_size": 128, "cg_max_steps": 25, "n_critic_updates": 20},
}
ENVIRONMENTS = {"A2C": 4, "TRPO": 2}
ITERATIONS = {"A2C": 128, "TRPO": 1}
CLASSES = {"A2C": (A2C, SymmetricA2C), "TRPO": (TRPO, SymmetricTRPO)}
LOSSES = {"MSL": MSL(), "PSL": PSL(), "ASL": ASL(), "augmentation": Augmentation()}
LIMIT = 1.3
PARENT = "parent"


class Trainer:
    """A model that goes through some iterations at each call, and the CPU seconds of their updates."""

    def __init__(self, algorithm: str, kind: type, policy: str = "MlpPolicy", **kwargs: Any) -> None:
        layers = [HIDDEN] * 2
        self.model: Any = kind(
            policy,
            DummyVecEnv([Noise] * ENVIRONMENTS[algorithm]),
            seed=0,
            device="cpu",
            policy_kwargs={"net_arch": {"pi": layers, "vf": layers}, "activation_fn": torch.nn.ReLU},
            **SETTINGS[algorithm],
            **kwargs,
        )
        self.iterations = ITERATIONS[algorithm]
        self.updates: list[float] = []
        _, self.callback = self.model._setup_learn(10**9)

    def __call__(self) -> None:
        model, seconds = self.model, 0.0
        for _ in range(self.iterations):
            model.collect_rollouts(model.env, self.callback, model.rollout_buffer, model.n_steps)
            start = time.process_time()
            model.train()
            seconds += time.process_time() - start
        self.updates.append(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    ant = load("ant")
    missed = []
    for algorithm, (parent, own) in CLASSES.items():
        models = {PARENT: Trainer(algorithm, parent)}
        for name, loss in LOSSES.items():
            sampled = Trainer(algorithm, own, symmetries=ant, loss=loss, symmetry_samples=1)
            models[f"{name}, sampled"] = sampled
        models["ASL, all images"] = Trainer(algorithm, own, symmetries=ant, loss=ASL())
        models["equivariant"] = Trainer(algorithm, own, "EquivariantMlpPolicy", symmetries=ant)
        whole = timing.interleaved(models, rounds)
        updates = {name: np.array(model.updates) for name, model in models.items()}
        print(f"\n{algorithm}: {ITERATIONS[algorithm]} iterations, the median of {rounds} rounds")
        print(f"  {'':22} {'CPU s':>7} {'iteration':>19} {'update':>8}")
        for name in models:
            ratio = timing.ratio(whole, name, PARENT)
            limit = f"(<= {LIMIT:g})" if name.endswith("sampled") else ""
            figures = f"{ratio:10.2f} {limit:8} {timing.ratio(updates, name, PARENT):8.2f}"
            print(f"  {name:22} {np.median(whole[name]):7.2f} {figures}", flush=True)
            if limit and ratio > LIMIT:
                missed.append(f"{algorithm} {name}")
    print("\n" + ("all limits are kept" if not missed else f"missed: {', '.join(missed)}"))


if __name__ == "__main__":
    main()
