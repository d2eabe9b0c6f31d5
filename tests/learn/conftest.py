"""Groups and small worlds for the tests of learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from ambidex.symmetry import SymmetryGroup, load


class World(gymnasium.Env[Any, Any]):
    """Observations drift with the action and noise; the reward prefers small observations.

    :param observation_space: a Box, or a Dict of Boxes
    :param action_space: any; it pushes the first observations
    """

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space = observation_space
        self.action_space = action_space

    def _observe(self) -> Any:
        noise = [self.np_random.normal(size=part.shape) for part in self._parts().values()]
        self._state = [
            (0.8 * old + 0.5 * new).astype(np.float32) for old, new in zip(self._state, noise, strict=True)
        ]
        if isinstance(self.observation_space, spaces.Dict):
            return dict(zip(self._parts(), self._state, strict=True))
        return self._state[0]

    def _parts(self) -> dict[str, spaces.Space[Any]]:
        space = self.observation_space
        return dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._time = 0
        self._state = [self.np_random.normal(size=part.shape) for part in self._parts().values()]
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._time += 1
        push = np.ravel(np.asarray(action, dtype=np.float32))
        width = min(len(push), self._state[0].size)
        self._state[0][:width] += 0.3 * push[:width]
        observation = self._observe()
        reward = 1.0 - float(np.abs(self._state[0]).mean())
        return observation, reward, bool(self._state[0][0] > 2.5), self._time >= 20, {}


def vector_world(observations: int, actions: int) -> World:
    return World(
        spaces.Box(-np.inf, np.inf, (observations,), np.float32), spaces.Box(-1, 1, (actions,), np.float32)
    )


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def ant() -> SymmetryGroup:
    return load("ant")


@pytest.fixture(scope="session")
def triangle() -> SymmetryGroup:
    return load("triangle-paper")


@pytest.fixture
def world() -> type[World]:
    return World


@pytest.fixture
def make_world() -> Callable[[int, int], World]:
    return vector_world


@pytest.fixture
def triangle_world(triangle: SymmetryGroup) -> Callable[[], World]:
    assert isinstance(triangle.observation_size, int)
    sizes = triangle.observation_size, triangle.action_size
    return lambda: vector_world(*sizes)
