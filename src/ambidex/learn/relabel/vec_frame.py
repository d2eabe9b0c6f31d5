"""`CanonicalFrame` of many environments at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from ambidex.learn.relabel.domain import Field
from ambidex.learn.relabel.frame import MARGIN, first, one, turned_last_observations
from ambidex.learn.relabel.turning import Turning
from ambidex.symmetry import SymmetryGroup


class VecFrame(VecEnvWrapper):
    """Environments of Stable-Baselines3, each in its canonical frame; see `CanonicalFrame`.

    ``elements`` are the numbers of the present elements.
    """

    def __init__(
        self, venv: VecEnv, group: SymmetryGroup, *, by: Field | None = None, margin: float = MARGIN
    ) -> None:
        if not isinstance(venv, VecEnv):
            raise ValueError(
                f"CanonicalFrame wraps a Gymnasium environment or a VecEnv of Stable-Baselines3, got {venv!r}"
            )
        self._turning = Turning(group, venv.observation_space, venv.action_space, by, margin)
        super().__init__(venv, self._turning.observation_space, self._turning.action_space)
        self.elements = np.zeros(venv.num_envs, np.int64)

    def reset(self) -> VecEnvObs:
        observations: Any = self.venv.reset()
        self.elements = self._turning.domain.choose(observations)
        turned: VecEnvObs = self._turning.observations(self.elements, observations)
        return turned

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        self.venv.step_async(self._turning.actions_back(self.elements, actions))

    def step_wait(self) -> VecEnvStepReturn:
        observations: Any
        observations, rewards, dones, infos = self.venv.step_wait()
        infos = [
            turned_last_observations(info, partial(self._turn_one, self.elements[index : index + 1]))
            for index, info in enumerate(infos)
        ]
        domain = self._turning.domain
        kept = domain.follow(self.elements, observations)
        self.elements = np.where(dones, domain.choose(observations), kept)
        return self._turning.observations(self.elements, observations), rewards, dones, infos

    def _turn_one(self, element: npt.NDArray[np.int64], observation: Any) -> Any:
        return first(self._turning.observations(element, one(observation)))
