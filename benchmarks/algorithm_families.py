"""Do the ways to use a symmetry serve other algorithms than PPO? The rusty triangle with A2C, TRPO
and SAC.

    OMP_NUM_THREADS=1 python benchmarks/algorithm_families.py --seeds 10 --out results/algorithms-triangle

(SAC takes most of the hour and more that this needs; with ``--curves DIR`` it can be stopped and continued.)

The same table as `families.py`: the mean deterministic return (and its standard error) over the training. The
weights of the losses are those of the presets for ``triangle-rust``, those of A2C and TRPO PPO's; within
an algorithm nothing else differs. ASL fits its action maps to transitions. SAC draws one transform for each
gradient step, and makes one of them for every four transitions.
"""

from __future__ import annotations

from typing import Any

import families
import triangle
from torch import nn

from ambidex import ASL, MSL, SymmetricA2C, SymmetricReplayBuffer, SymmetricSAC, SymmetricTRPO, TransitionFit

METHODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "MSL": families.FAMILIES["MSL"],
    "ASL": families.FAMILIES["ASL"],
    "equivariant": families.FAMILIES["equivariant"],
    "equivariant, actuators": {"policy": "EquivariantMlpPolicy", "actuators": TransitionFit()},
}
ALGORITHMS: dict[str, dict[str, Any]] = {
    "A2C": {
        "algorithm": SymmetricA2C,
        "n_steps": 8,
        "gae_lambda": 0.9,
        "learning_rate": 3e-4,
        "fit_states": 256,
    },
    "TRPO": {
        "algorithm": SymmetricTRPO,
        "n_steps": 64,
        "gae_lambda": 0.9,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "n_critic_updates": 10,
        "target_kl": 0.01,
    },
    "SAC": {
        "algorithm": SymmetricSAC,
        "learning_rate": 1e-3,
        "gamma": 0.98,
        "tau": 0.01,
        "batch_size": 128,
        "buffer_size": 30_000,
        "learning_starts": 1000,
        "symmetry_samples": 1,
        "policy_kwargs": {"net_arch": [64, 64], "activation_fn": nn.Tanh},
    },
}
OF_SAC: dict[str, dict[str, Any]] = {
    "plain": {"symmetry_samples": None, "fast": True},
    "symmetric replay": {
        "symmetry_samples": None,
        "replay_buffer_class": SymmetricReplayBuffer,
        "fast": True,
    },
    "MSL": {"loss": MSL(policy_weight=1.0, value_weight=0.5)},
    "ASL": {"loss": ASL(**families.ADAPTIVE | {"policy_weight": 1.0}, fit=TransitionFit())},
    "equivariant": {"symmetry_samples": None, "policy": "EquivariantMlpPolicy"},
    "equivariant, actuators": {"symmetry_samples": None, **METHODS["equivariant, actuators"]},
}


def methods(algorithm: str) -> dict[str, dict[str, Any]]:
    return OF_SAC if algorithm == "SAC" else METHODS


def curve(family: str, seed: int, steps: int) -> list[float]:
    algorithm, _, method = family.partition(" ")
    measured = triangle.Curve(families.SCENARIO, every=families.ROLLOUT)
    triangle.train(
        4,
        measured,
        scenario=families.SCENARIO,
        seed=seed,
        steps=steps,
        **ALGORITHMS[algorithm] | methods(algorithm)[method],
    )
    return [value for _, value in measured.points]


def main() -> None:
    names = [f"{algorithm} {method}" for algorithm in ALGORITHMS for method in methods(algorithm)]
    curves, out = families.table(names, curve, __doc__)
    if out is not None:
        trained = {name.partition(" ")[0] for name in curves}
        families.draw(curves, out.with_suffix(".png"), panels=[one for one in ALGORITHMS if one in trained])


if __name__ == "__main__":
    main()
