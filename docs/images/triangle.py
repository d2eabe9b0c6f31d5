"""Draws docs/images/triangle.png: a state of the triangle robot and what each symmetry makes of it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from ambidex import load
from ambidex.envs.triangle.picture import draw

mpl.use("Agg")
import matplotlib.pyplot as plt

ANGLES = np.array([0.5, -0.1, -0.4])
TARGETS = np.array([0.2, 0.3, -0.4])


def main() -> None:
    state = np.concatenate([ANGLES, np.zeros(3), TARGETS, [0.7]])
    images = {"s": state}
    images |= {f"f_{symmetry.name}(s)": symmetry.observation(state) for symmetry in load("triangle")}
    figure, axes = plt.subplots(1, 6, figsize=(12, 2.3), layout="constrained")
    for (title, observation), axis in zip(images.items(), axes, strict=True):
        axis.imshow(draw(observation[0:3], observation[6:9], observation[9]))
        axis.set_title(title)
        axis.set_axis_off()
    figure.savefig(Path(__file__).with_name("triangle.png"), dpi=100)


if __name__ == "__main__":
    main()
