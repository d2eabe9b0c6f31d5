"""Policies of robots whose faults are known, and logs of such robots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ambidex import load
from ambidex.diagnosis.logged import Log
from ambidex.diagnosis.policy import PolicyDiagnosis, diagnose_policy
from ambidex.envs.triangle.robot import TriangleVecEnv

TRIANGLE = load("triangle-paper")
SCALE, OFFSET = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 0.0])
RELATIVE_SCALE = SCALE / np.exp(np.log(SCALE).mean())


class KnownModel:
    """A model that answers each limb's angle with its own scale and offset, and a little noise."""

    action_space = spaces.Box(-4, 4, (3,))
    num_timesteps = 1000

    def __init__(self, scale: np.ndarray = SCALE, offset: np.ndarray = OFFSET, noise: float = 0.05) -> None:
        self.scale, self.offset, self.noise = scale, offset, noise
        self.rng = np.random.default_rng(0)

    def predict(self, observations: np.ndarray, deterministic: bool) -> tuple[np.ndarray, None]:
        assert deterministic
        canonical = -observations[:, :3] + self.noise * self.rng.normal(size=(len(observations), 3))
        return np.clip(self.offset + self.scale * canonical, -4, 4).astype(np.float32), None


def visited(states: int = 1000) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.8, 0.8, size=(states, 4)).astype(np.float32)


def known_diagnosis(**arguments: Any) -> PolicyDiagnosis:
    return diagnose_policy(KnownModel(**arguments), TRIANGLE, visited())  # type: ignore[arg-type]


def logged(scenario: str, steps: int = 2000, limit: float = 1.0) -> tuple[Log, npt.NDArray[np.bool_]]:
    """Transitions of a triangle robot under random torques, and whether each begins an episode.

    :param limit: what the robot makes of a larger torque; logged is what it was told
    """
    env = TriangleVecEnv(1, scenario=scenario, seed=0)
    random = np.random.default_rng(0)
    rows, starts = [], []
    state, done = env.reset()[0], True
    for _ in range(steps):
        torques = random.uniform(-1, 1, 3).astype(np.float32)
        starts.append(done)
        following, _, dones, infos = env.step(torques[None].clip(-limit, limit))
        done = bool(dones[0])
        rows.append((state, torques, infos[0]["terminal_observation"] if done else following[0]))
        state = following[0]
    columns = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    return Log(*columns), np.array(starts)
