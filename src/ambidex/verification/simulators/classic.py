"""Gymnasium's CartPole and Pendulum as simulators that can be set to the image of a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.isometry import named


class SymmetricClassic:
    """A planar robot whose state is places along x and angles from the vertical, and their speeds.

    The mirror x to -x turns the sign of all of them.
    """

    def __init__(self, env: Any) -> None:
        self._env = env

    def get_state(self) -> FloatArray:
        return np.array(self._env.state, dtype=np.float64)

    def set_symmetric_state(self, state: FloatArray, isometry: FloatArray) -> Any:
        if np.array_equal(isometry, named("yz")):
            state = -state
        elif not np.array_equal(isometry, np.eye(3)):
            raise ValueError("of this planar robot only the mirror yz, from x to -x, has an image")
        self._env.state = state.copy()
        if hasattr(self._env, "steps_beyond_terminated"):
            self._env.steps_beyond_terminated = None
        observe = getattr(self._env, "_get_obs", None)
        return state.astype(np.float32) if observe is None else observe()
