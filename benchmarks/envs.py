"""The environments against the bare physics under them, and the ant against the stock environment.

    python benchmarks/envs.py [--quick]

Every block of a robot replays the same trajectories from the same starts; one thread, CPU time, blocks
interleaved. A ratio is that of steps per second, the median over the rounds.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import timing
from pybullet_envs_gymnasium.gym_locomotion_envs import AntBulletEnv as StockEnv
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from ambidex.envs.ant.body import JOINTS
from ambidex.envs.ant.bullet import AntBulletEnv, BulletAnt
from ambidex.envs.ant.mujoco import AntMujocoEnv, MujocoAnt
from ambidex.envs.ant.task import LARGEST_TORQUE, AntEnv
from ambidex.envs.triangle.robot import TriangleEnv, TriangleVecEnv

AT_LEAST_OF_PHYSICS = 0.60
AT_LEAST_OF_STOCK = 1.7
AT_LEAST_OF_MUJOCO = 0.35
AT_LEAST_TRIANGLES = 500_000  # steps per second of 64 copies

Blocks = dict[str, Callable[[], object]]


def gaits(count: int, steps: int) -> list[tuple[list[float], np.ndarray]]:
    """Starts and actions: waves with noise, as an ant's policy has them."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(count):
        phases = generator.uniform(0, math.tau, JOINTS)
        waves = 0.5 * np.sin(phases + 0.2 * np.arange(steps)[:, None])
        actions = np.clip(waves + 0.3 * generator.normal(size=waves.shape), -1, 1)
        found.append((generator.uniform(-0.1, 0.1, JOINTS).tolist(), actions.astype(np.float32)))
    return found


def replay_task(env: AntEnv, trajectories: Sequence[tuple[list[float], np.ndarray]]) -> Callable[[], object]:
    def block() -> None:
        for start, actions in trajectories:
            env.reset(options={"goal": 0, "joint_positions": start})
            for action in actions:
                env.step(action)

    return block


def replay_physics(
    body: BulletAnt | MujocoAnt, trajectories: Sequence[tuple[list[float], np.ndarray]]
) -> Callable[[], object]:
    torques = [
        (start, (LARGEST_TORQUE * actions.astype(np.float64)).tolist()) for start, actions in trajectories
    ]

    def block() -> None:
        for start, steps in torques:
            body.reset(0.0, start)
            for step in steps:
                body.step(step)

    return block


def replay_stock(trajectories: Sequence[tuple[list[float], np.ndarray]]) -> Callable[[], object]:
    env = StockEnv()
    env.reset(seed=0)

    def block() -> None:
        for start, actions in trajectories:
            env.reset()
            for joint, position in zip(env.robot.ordered_joints, start, strict=True):
                joint.reset_current_position(position, 0)
            for action in actions:
                env.step(action)

    return block


def report(
    title: str, seconds: dict[str, np.ndarray], steps: int, bounds: dict[tuple[str, str], float]
) -> bool:
    """Print the rates and the ratios; whether every bound holds."""
    print(title)
    for name, times in seconds.items():
        print(f"  {name:24s} {steps / np.median(times):10.0f} steps/s")
    holds = True
    for (name, reference), bound in bounds.items():
        rate = 1 / timing.ratio(seconds, name, reference)
        low, high = (1 / value for value in reversed(timing.spread(seconds, name, reference)))
        verdict = "" if rate >= bound else "  BELOW"
        print(f"  {name} / {reference}: {rate:.2f} ({low:.2f} to {high:.2f}), at least {bound:.2f}{verdict}")
        holds = holds and rate >= bound
    return holds


def ant_on_bullet(rounds: int) -> bool:
    trajectories = gaits(count=4, steps=100)
    blocks: Blocks = {
        "pure stepSimulation": replay_physics(BulletAnt(), trajectories),
        "Ant-v0": replay_task(AntBulletEnv(), trajectories),
        "stock AntBulletEnv-v0": replay_stock(trajectories),
    }
    seconds = timing.interleaved(blocks, rounds)
    bounds = {
        ("Ant-v0", "pure stepSimulation"): AT_LEAST_OF_PHYSICS,
        ("Ant-v0", "stock AntBulletEnv-v0"): AT_LEAST_OF_STOCK,
    }
    return report("The ant on PyBullet", seconds, 400, bounds)


def ant_on_mujoco(rounds: int) -> bool:
    trajectories = gaits(count=10, steps=100)
    blocks: Blocks = {
        "pure mj_step": replay_physics(MujocoAnt(), trajectories),
        "AntMujoco-v0": replay_task(AntMujocoEnv(), trajectories),
    }
    seconds = timing.interleaved(blocks, rounds)
    bounds = {("AntMujoco-v0", "pure mj_step"): AT_LEAST_OF_MUJOCO}
    return report("The ant on MuJoCo", seconds, 1000, bounds)


def triangles(rounds: int) -> bool:
    copies, steps = 64, 100
    actions = np.random.default_rng(0).uniform(-0.3, 0.3, (steps, copies, 3)).astype(np.float32)

    def replay(robots: VecEnv) -> Callable[[], object]:
        robots.reset()
        return lambda: [robots.step(action) for action in actions]

    blocks = {
        "TriangleVecEnv, 64": replay(TriangleVecEnv(copies, seed=0)),
        "DummyVecEnv, 64": replay(DummyVecEnv([TriangleEnv] * copies)),
    }
    seconds = timing.interleaved(blocks, rounds)
    bounds = {("TriangleVecEnv, 64", "DummyVecEnv, 64"): 1.0}
    faster = report("The triangle", seconds, copies * steps, bounds)
    rate = copies * steps / np.median(seconds["TriangleVecEnv, 64"])
    print(f"  TriangleVecEnv, 64: {rate:.0f} steps/s, at least {AT_LEAST_TRIANGLES}")
    return faster and rate >= AT_LEAST_TRIANGLES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    rounds = 3 if parser.parse_args().quick else 25
    warnings.simplefilter("ignore", DeprecationWarning)  # the stock environment's own
    held = [ant_on_bullet(rounds), ant_on_mujoco(rounds), triangles(rounds)]
    raise SystemExit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
