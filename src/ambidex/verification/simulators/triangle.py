"""The triangle robot as a simulator that can be set to the image of a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.envs.triangle import dynamics
from ambidex.envs.triangle.picture import VERTEX_DEGREES
from ambidex.envs.triangle.robot import State, TriangleEnv
from ambidex.symmetry.isometry import rotation
from ambidex.symmetry.maps import IndexMap
from ambidex.verification.simulators.joints import relabelling, upright

VERTICAL = (0.0, 0.0, 1.0)


class SymmetricTriangle:
    """Limbs change places with the vertices that they are at; all of them turn about the vertical."""

    def __init__(self, env: TriangleEnv) -> None:
        self._env = env
        self._frames = [(rotation("z", degrees)[:, 0], VERTICAL) for degrees in VERTEX_DEGREES]

    def relabelling(self, isometry: FloatArray) -> IndexMap:
        return relabelling(self._frames, upright(isometry))

    def joint_positions(self) -> FloatArray:
        return np.array(self._env.get_state()["angles"][0])

    def get_state(self) -> State:
        return self._env.get_state()

    def set_symmetric_state(self, state: State, isometry: FloatArray) -> Any:
        limbs = self.relabelling(isometry)
        image = {**state, **{name: limbs(state[name]) for name in ("angles", "speeds", "targets")}}
        self._env.set_state(image)
        return dynamics.observe(image["angles"], image["speeds"], image["targets"], image["battery"])[0]
