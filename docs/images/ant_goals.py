"""Draws docs/images/ant-goals.png: the ant some steps after its start, for each of the eight goals."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from ambidex.envs.ant.bullet import AntBulletEnv

mpl.use("Agg")
import matplotlib.pyplot as plt

STANDING = [0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]
STEPS_TO_LAND = 14


def main() -> None:
    env = AntBulletEnv(render_mode="rgb_array")
    figure, axes = plt.subplots(2, 4, figsize=(12, 4.9), layout="constrained")
    for goal, axis in enumerate(axes.flat):
        env.reset(options={"goal": goal, "joint_positions": STANDING})
        for _ in range(STEPS_TO_LAND):
            env.step(np.zeros(8, np.float32))
        axis.imshow(env.render())
        axis.set_title(f"goal {goal}")
        axis.set_axis_off()
    env.close()
    figure.savefig(Path(__file__).with_name("ant-goals.png"), dpi=100)


if __name__ == "__main__":
    main()
