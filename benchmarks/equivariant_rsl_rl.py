"""What an iteration of rsl_rl costs with the equivariant model, beside its plain MLP and its augmentation.

    OMP_NUM_THREADS=1 python benchmarks/equivariant_rsl_rl.py

Needs ``pip install 'ambidex[peers]'``. PPO of 256 environments x 24 steps, four minibatches, five epochs,
hidden layers of 256 and 128 units, observations normalised. The environment answers with noise, so that all
that is measured is rsl_rl: networks in the roll-out, update, normaliser.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from timing import interleaved, ratio, spread

from ambidex.symmetry import load
from ambidex.symmetry.files.export.module import export_module

try:
    from rsl_rl.runners import OnPolicyRunner
except ImportError:
    print("needs rsl_rl: pip install 'ambidex[peers]'")
    raise SystemExit(0) from None

ENVIRONMENTS, STEPS, HIDDEN = 256, 24, [256, 128]


class Noise:
    """Vectorised environments that answer with noise."""

    num_envs, max_episode_length, device = ENVIRONMENTS, 1000, "cpu"

    def __init__(self, observations: int, actions: int) -> None:
        self.cfg: dict[str, Any] = {}
        self.observations, self.num_actions = observations, actions
        self.episode_length_buf = torch.zeros(ENVIRONMENTS, dtype=torch.long)

    def get_observations(self) -> TensorDict:
        return TensorDict({"policy": torch.randn(ENVIRONMENTS, self.observations)}, batch_size=[ENVIRONMENTS])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        done = torch.zeros(ENVIRONMENTS, dtype=torch.long)
        return self.get_observations(), torch.randn(ENVIRONMENTS), done, {}


def runner(robot: str, model: dict[str, Any], symmetry: dict[str, Any] | None = None) -> OnPolicyRunner:
    group = load(robot)
    network = {"hidden_dims": HIDDEN, "activation": "elu", "obs_normalization": True, **model}
    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    config = {
        "num_steps_per_env": STEPS,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**network, "distribution_cfg": distribution},
        "critic": dict(network),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 5,
            "num_mini_batches": 4,
            "rnd_cfg": None,
            "symmetry_cfg": symmetry,
        },
    }
    assert isinstance(group.observation_size, int)
    return OnPolicyRunner(Noise(group.observation_size, group.action_size), config, None, device="cpu")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--robots", nargs="+", default=["ant", "humanoid-v5"])
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    plain = {"class_name": "MLPModel"}
    for robot in arguments.robots:
        equivariant = {
            "class_name": "ambidex.learn.networks.rsl_rl:EquivariantModel",
            "symmetry": robot,
        }
        with tempfile.TemporaryDirectory() as folder:
            name = f"exported_{robot.replace('-', '_')}"
            export_module(robot, Path(folder) / f"{name}.py", "rsl_rl")
            sys.path.insert(0, folder)
            importlib.import_module(name)
        augment = {"data_augmentation_func": f"{name}:augment", "use_data_augmentation": True}
        with contextlib.redirect_stdout(io.StringIO()):
            runners = {
                "plain": runner(robot, plain),
                "equivariant": runner(robot, equivariant),
                "augmented": runner(robot, plain, augment),
            }
            seconds = interleaved(
                {name: lambda one=one: one.learn(1) for name, one in runners.items()},  # type: ignore[misc]
                arguments.rounds,
            )
        group = load(robot)
        print(f"{robot}: {group.observation_size} observations, {len(group) + 1} elements")
        for name, times in seconds.items():
            low, high = spread(seconds, name, "plain")
            print(
                f"  {name:12} {np.median(times):6.2f} s an iteration   / plain: "
                f"{ratio(seconds, name, 'plain'):.2f} ({low:.2f} to {high:.2f})"
            )


if __name__ == "__main__":
    main()
