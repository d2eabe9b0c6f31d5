"""Two legs of two joints each that pull at each other, driven by position targets, without contacts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ambidex import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout

KP, KD, STEP, FINE = 30.0, 1.0, 0.02, 20
POSITION = {"action": "position", "kp": KP, "kd": KD, "step": STEP}
INERTIA = np.array([[0.12, 0.04], [0.04, 0.04]])


def two_legs(drive: Mapping[str, Any] | None = POSITION) -> SymmetryGroup:
    """Their mirror symmetry; actions left hip, left knee, right hip, right knee."""
    description: dict[str, Any] = {
        "limbs": {
            "left": {"at": [0, 1], "joints": {"hip": "x", "knee": "y"}},
            "right": {"at": [0, -1], "joints": {"hip": "x", "knee": "y"}},
        },
        "observations": [{"angles": {"joint": "position"}}, {"speeds": {"joint": "velocity"}}],
        "actions": [{"target": "joint"}],
    }
    if drive is not None:
        description["drive"] = dict(drive)
    layout = Layout(description)
    return SymmetryGroup([layout.symmetry("xz", np.diag([1.0, -1.0, 1.0]))], layout=layout)


@cache
def moved(
    strength: tuple[float, float, float, float],
    steps: int = 2000,
    *,
    noise: float = 0.3,
    push: float = 1.0,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Transitions of legs under a policy with noise, pushed about by forces that nobody observes.

    :param push: newton metres, the spread of a torque from outside that changes from step to step
    """
    rng = np.random.default_rng(seed)
    answer = np.kron(np.eye(2), np.linalg.inv(INERTIA))
    # The hip turns about x, so it is mirrored: a mirrored leg has the other sign off the diagonal.
    answer[2:, 2:] *= [[1, -1], [-1, 1]]
    position, speed = np.zeros((2, 4))
    rows = []
    for _ in range(steps):
        state = np.concatenate([position, speed])
        mean = 0.3 * np.sin(3 * position) - 0.02 * speed
        action = mean + noise * rng.standard_normal(4)
        outside = push * rng.standard_normal(4)
        for _ in range(FINE):
            torque = np.array(strength) * (KP * (action - position) - KD * speed) + outside
            speed = speed + STEP / FINE * answer @ torque
            position = position + STEP / FINE * speed
        rows.append((state, action, np.concatenate([position, speed]), mean))
    names = ("observations", "actions", "next_observations", "means")
    return dict(zip(names, (np.array(column) for column in zip(*rows, strict=True)), strict=True))
