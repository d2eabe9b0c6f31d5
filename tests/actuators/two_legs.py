"""Two legs of two joints each that pull at each other, driven by position targets, without contacts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import expm

from ambidex import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout

KP, KD, STEP, FINE = 30.0, 1.0, 0.02, 20
POSITION = {"action": "position", "kp": KP, "kd": KD, "step": STEP}
INERTIA = np.array([[0.12, 0.04], [0.04, 0.04]])


def two_legs(drive: Mapping[str, Any] | str | None = POSITION) -> SymmetryGroup:
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
        description["drive"] = drive if isinstance(drive, str) else dict(drive)
    layout = Layout(description)
    return SymmetryGroup([layout.symmetry("xz", np.diag([1.0, -1.0, 1.0]))], layout=layout)


@cache
def moved(
    strength: tuple[float, float, float, float],
    steps: int = 2000,
    *,
    noise: float = 0.3,
    push: float = 1.0,
    load: float = 0.0,
    reads: float = 0.0,
    weight: float = 0.0,
    pull: float = 0.0,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Transitions of legs under a policy with noise, pushed about by forces that nobody observes.

    :param push: newton metres, the spread of a torque from outside that changes from step to step
    :param load: kilograms on the left shank, 0.3 m from the hip and 0.2 m from the knee
    :param reads: radians that the encoder of the left hip reads too much, for its controller as well
    :param weight: newton metres that pull a stretched-out hip down
    :param pull: newton metres, a steady torque on the left hip from outside
    """
    rng = np.random.default_rng(seed)
    loaded = INERTIA + load * np.outer([0.3, 0.2], [0.3, 0.2])
    answer = np.kron(np.eye(2), np.linalg.inv(INERTIA))
    answer[:2, :2] = np.linalg.inv(loaded)
    # The hip turns about x, so it is mirrored: a mirrored leg has the other sign off the diagonal.
    answer[2:, 2:] *= [[1, -1], [-1, 1]]
    encoder = np.array([reads, 0, 0, 0])
    position, speed = -encoder, np.zeros(4)  # where all readings are 0
    parts = 1 if weight == 0 else FINE  # without weight a step is exact, however long
    kept, added = _linear_step(answer, np.array(strength), STEP / parts)
    hips, left_hip = np.array([1, 0, 1, 0]), np.array([1, 0, 0, 0])
    rows = []
    for _ in range(steps):
        state = np.concatenate([position + encoder, speed])
        mean = 0.3 * np.sin(3 * state[:4]) - 0.02 * speed
        action = mean + noise * rng.standard_normal(4)
        outside = push * rng.standard_normal(4)
        for _ in range(parts):
            torque = np.array(strength) * KP * (action - encoder) + outside
            torque += pull * left_hip - weight * hips * np.sin(position)
            position, speed = np.split(kept @ np.concatenate([position, speed]) + added @ torque, 2)
        rows.append((state, action, np.concatenate([position + encoder, speed]), mean))
    names = ("observations", "actions", "next_observations", "means")
    return dict(zip(names, (np.array(column) for column in zip(*rows, strict=True)), strict=True))


def _linear_step(answer: np.ndarray, strength: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """What becomes of positions and speeds, and what a constant torque beside the controller's adds."""
    whole = np.zeros((12, 12))
    whole[:4, 4:8] = np.eye(4)
    whole[4:8, :4], whole[4:8, 4:8] = -answer * strength * KP, -answer * strength * KD
    whole[4:8, 8:] = answer
    exact = expm(seconds * whole)
    return exact[:8, :8], exact[:8, 8:]
