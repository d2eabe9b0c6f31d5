"""Any Gymnasium environment on MuJoCo as a simulator that can be set to the image of a state."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.matching import Matching, match
from ambidex.symmetry.maps import IndexMap


class MujocoState(NamedTuple):
    """Positions and velocities of all joints."""

    qpos: FloatArray
    qvel: FloatArray


class SymmetricMujoco:
    """A Gymnasium environment on MuJoCo; the isometry moves the whole world, so the task must bear that.

    What the model does not hold in ``qpos`` and ``qvel`` (activations, contacts of the last step) begins
    anew when a state is set. What the environment keeps besides (a command, a clock, the last action) stays
    as it was; `ambidex.verification.memory` finds it.
    """

    def __init__(self, env: Any) -> None:
        if env.model.na:
            raise ValueError("the model's actuators have states of their own, which verify cannot set")
        self._env = env
        self._matchings: dict[bytes, Matching] = {}

    def _matching(self, isometry: FloatArray) -> Matching:
        key = isometry.tobytes()
        if key not in self._matchings:
            self._matchings[key] = match(self._env.model, isometry)
        matching = self._matchings[key]
        if not matching.is_complete:
            raise ValueError("; ".join(map(str, matching.unmatched)))
        return matching

    def relabelling(self, isometry: FloatArray) -> IndexMap:
        images = self._matching(isometry).actuators
        indices, signs = np.zeros(len(images), np.int64), np.ones(len(images))
        for actuator, (partner, sign) in images.items():
            indices[partner], signs[partner] = actuator, sign
        return IndexMap(indices, signs)

    def joint_positions(self) -> FloatArray:
        model, data = self._env.model, self._env.data
        positions: FloatArray = data.qpos[model.jnt_qposadr[model.actuator_trnid[:, 0]]].copy()
        return positions

    def get_state(self) -> MujocoState:
        return MujocoState(self._env.data.qpos.copy(), self._env.data.qvel.copy())

    def set_symmetric_state(self, state: MujocoState, isometry: FloatArray) -> Any:
        if not np.array_equal(isometry, np.eye(3)):
            matching = self._matching(isometry)
            state = MujocoState(matching.positions(state.qpos), matching.velocities(state.qvel))
        mujoco.mj_resetData(self._env.model, self._env.data)
        self._env.set_state(state.qpos, state.qvel)
        return self._env._get_obs()
