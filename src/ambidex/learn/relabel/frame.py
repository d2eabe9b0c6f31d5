"""`CanonicalFrame`: a wrapper that shows a policy each state as its canonical image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import gymnasium as gym
import numpy as np

from ambidex.common.arrays import each_part
from ambidex.learn.relabel.domain import Field
from ambidex.learn.relabel.turning import Turning
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

    from ambidex.learn.relabel.vec_frame import VecFrame

LAST_OBSERVATIONS = ("terminal_observation", "final_observation", "final_obs")
MARGIN = 0.1


@overload
def CanonicalFrame(
    env: gym.Env[Any, Any], group: SymmetryGroup, *, by: Field | None = None, margin: float = MARGIN
) -> EnvFrame: ...


@overload
def CanonicalFrame(
    env: VecEnv, group: SymmetryGroup, *, by: Field | None = None, margin: float = MARGIN
) -> VecFrame: ...


def CanonicalFrame(
    env: gym.Env[Any, Any] | VecEnv, group: SymmetryGroup, *, by: Field | None = None, margin: float = MARGIN
) -> EnvFrame | VecFrame:
    """The environment in a frame in which a state and all its images look the same.

    Of the images of a state the one that a linear functional scores highest is shown to the policy: with the
    element h of the group, the policy sees f_h(s) and says c, and the robot gets g_h^-1(c). An episode starts
    with the best element. Later the element changes only when its score falls below ``1 - margin`` of the
    highest, so that the frame does not flip to and fro at a border; the next observation is in the new frame.
    The last observation of an episode is in the frame of the last action. Rewards and infos stay as they are.

    :param env: a Gymnasium environment, or a VecEnv of Stable-Baselines3
    :param group: closed; its layout, where it has one, names the fields
    :param by: what chooses the image: the name of a field of the description such as ``"goal"``, a key of a
        Dict observation, a list of indices of the observation, or None for all of it. The best is a field
        that says what the task is and changes slowly
    :param margin: of the hysteresis, from 0 (always the best element) to less than 1
    """
    if isinstance(env, gym.Env):
        return EnvFrame(env, group, by=by, margin=margin)
    from ambidex.learn.relabel.vec_frame import VecFrame

    return VecFrame(env, group, by=by, margin=margin)


class EnvFrame(gym.Wrapper[Any, Any, Any, Any]):
    """One environment in its canonical frame; see `CanonicalFrame`.

    ``elements`` is the number of the present element, in an array of one; ``element`` is its name.
    """

    def __init__(
        self, env: gym.Env[Any, Any], group: SymmetryGroup, *, by: Field | None = None, margin: float = MARGIN
    ) -> None:
        super().__init__(env)
        self._turning = Turning(group, env.observation_space, env.action_space, by, margin)
        self.observation_space = self._turning.observation_space
        self.action_space = self._turning.action_space
        self.elements = np.zeros(1, np.int64)

    @property
    def element(self) -> str:
        return self._turning.domain.representation.names[int(self.elements[0])]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.elements = self._turning.domain.choose(one(observation))
        return self._turn(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        back = self._turning.actions_back(self.elements, np.asarray(action)[None])[0]
        observation, reward, terminated, truncated, info = self.env.step(back)
        info = turned_last_observations(info, self._turn)
        if not (terminated or truncated):
            self.elements = self._turning.domain.follow(self.elements, one(observation))
        return self._turn(observation), reward, terminated, truncated, info

    def without_memory(self, act: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A policy in the frame as one of the robot itself, with the best element in every state.

        :param act: from an observation in the frame to an action in the frame
        """

        def acting(observation: Any) -> Any:
            elements = self._turning.domain.choose(one(observation))
            said = act(first(self._turning.observations(elements, one(observation))))
            return self._turning.actions_back(elements, np.asarray(said)[None])[0]

        return acting

    def _turn(self, observation: Any) -> Any:
        return first(self._turning.observations(self.elements, one(observation)))


def turned_last_observations(info: dict[str, Any], turn: Callable[[Any], Any]) -> dict[str, Any]:
    """The info with its last observations of an episode turned; the given one is not changed."""
    last = {name: turn(info[name]) for name in LAST_OBSERVATIONS if info.get(name) is not None}
    return {**info, **last} if last else info


def one(observation: Any) -> Any:
    """An observation as a batch of one."""
    return each_part(lambda part: np.asarray(part)[None], observation)


def first(observations: Any) -> Any:
    """The first of a batch."""
    return each_part(lambda part: part[0], observations)
