"""What a check asks of a simulator: to say its state, and to go to the image of a state under an isometry.

An environment that has both methods of `SymmetricSimulator` is checked as it is, or one whose method
``symmetric_simulator`` returns an object that has them. For the environments that are known here an adapter
has them:

- ``ambidex/Ant-v0`` and ``ambidex/AntMujoco-v0`` (`ambidex.verification.simulators.ant`),
- ``ambidex/Triangle-v0`` (`ambidex.verification.simulators.triangle`),
- any environment with a ``model`` and ``data`` of MuJoCo's (`ambidex.verification.simulators.mujoco`),
- Gymnasium's CartPole and Pendulum (`ambidex.verification.simulators.classic`).

An environment that has only ``get_state`` and ``set_state``, its state being its observation, can be set by
the table under test (`ObservedState`). That shows less: a table that is wrong in the same way at both ends of
a step goes unseen.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry import Symmetry
from ambidex.symmetry.maps import IndexMap

ISOMETRIES = ("xz", "yz", "y=x", "y=-x", "r180", "r90", "r270", "m60", "m120", "r120", "r240", "xy", "ry180")
"""Those that are tried where nothing says how a transform moves the body, by their names."""


@runtime_checkable
class SymmetricSimulator(Protocol):
    """The two methods that make an environment one that can be checked."""

    def get_state(self) -> Any:
        """Everything that decides what comes next; it stays valid while the simulation goes on."""

    def set_symmetric_state(self, state: Any, isometry: FloatArray) -> Any:
        """Go to the image of ``state`` when ``isometry`` moves the robot's body, and return the observation.

        The image is made by geometry: the bodies are moved, the joints that change places exchange their
        angles. It must not be made with the table under test. The 3 x 3 identity brings ``state`` itself
        back. Where the image does not exist (no joint lies where the isometry brings one), raise ValueError.
        """


@runtime_checkable
class JointedSimulator(SymmetricSimulator, Protocol):
    """A simulator that also knows its joints, one for each action; a policy's symmetry is measured on it."""

    def relabelling(self, isometry: FloatArray) -> IndexMap:
        """How actions are relabelled when ``isometry`` moves the robot's body."""

    def joint_positions(self) -> FloatArray:
        """In the order of the actions."""


ADAPTERS = {  # by the class that they serve, most special first; "module of this folder:class"
    "ambidex.envs.ant.task:AntEnv": "ant:SymmetricAnt",
    "ambidex.envs.triangle.robot:TriangleEnv": "triangle:SymmetricTriangle",
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": "classic:SymmetricClassic",
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": "classic:SymmetricClassic",
}


def simulator_of(env: gymnasium.Env[Any, Any]) -> SymmetricSimulator | None:
    """The environment itself or its adapter; None where the environment cannot be set."""
    unwrapped: Any = env.unwrapped
    if isinstance(unwrapped, SymmetricSimulator):
        return unwrapped
    if hasattr(unwrapped, "symmetric_simulator"):
        own: SymmetricSimulator = unwrapped.symmetric_simulator()
        return own
    ancestors = {f"{kind.__module__}:{kind.__qualname__}" for kind in type(unwrapped).__mro__}
    for served, adapter in ADAPTERS.items():
        if served in ancestors:
            module, _, name = adapter.partition(":")
            made: SymmetricSimulator = getattr(importlib.import_module(f"{__package__}.{module}"), name)(
                unwrapped
            )
            return made
    return _on_mujoco(unwrapped)


def _on_mujoco(env: Any) -> SymmetricSimulator | None:
    if not hasattr(env, "model") or not hasattr(env, "data") or find_spec("mujoco") is None:
        return None
    from ambidex.verification.simulators.mujoco import MujocoSimulator, is_on_mujoco

    return MujocoSimulator(env) if is_on_mujoco(env) else None


class ObservedState:
    """An environment whose ``set_state`` takes an observation, set by the observation map under test."""

    def __init__(self, env: Any, symmetry: Symmetry) -> None:
        self._env = env
        self._symmetry = symmetry

    @staticmethod
    def fits(env: gymnasium.Env[Any, Any]) -> bool:
        unwrapped: Any = env.unwrapped
        if not hasattr(unwrapped, "get_state") or not hasattr(unwrapped, "set_state"):
            return False
        env.reset(seed=0)
        state = unwrapped.get_state()
        return isinstance(state, np.ndarray) and state.shape == env.observation_space.shape

    def get_state(self) -> Any:
        return np.array(self._env.get_state())

    def set_symmetric_state(self, state: Any, isometry: FloatArray) -> Any:
        is_self = np.array_equal(isometry, np.eye(3))
        image = state if is_self else self._symmetry.observation(state)
        self._env.set_state(image)
        return image
