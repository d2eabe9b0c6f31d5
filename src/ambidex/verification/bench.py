"""The measurement: from visited states, steps of the robot beside steps of its image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.verification.simulators.protocol import SymmetricSimulator

Policy = Callable[[Any], Any]
Advance = Callable[[int], None]

IDENTITY = np.eye(3)
LONGEST_STRIDE = 20
EPISODE_STATES = 4  # then the next start
POLICY_SHARE = 0.5  # of the steps between visited states, where a policy is given


@dataclass(frozen=True)
class Branches:
    """What came of going to each of some states and taking its actions; NaN after an episode's end.

    :param placed: the observations before the first step (states x elements)
    :param observations: after each step (states x steps x elements)
    :param rewards: of each step (states x steps)
    :param endings: 1 where the step ended the episode, otherwise 0 (states x steps)
    """

    placed: FloatArray
    observations: FloatArray
    rewards: FloatArray
    endings: FloatArray

    def first(self, states: int) -> Branches:
        """Those of the first states."""
        parts = (self.placed, self.observations, self.rewards, self.endings)
        return Branches(*(part[:states] for part in parts))


class Bench:
    """An environment, some states that it visited, and for each of them the actions to be tried there.

    :param env: the environment, whose wrappers see and act as the description says
    :param simulator: how its state is read and set
    :param states: how many states to visit
    :param steps: how many steps to take from each
    :param policy: acts in a part of the steps between the states; at random by default
    :param advance: is called with the number of environment steps made
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        simulator: SymmetricSimulator,
        *,
        states: int,
        steps: int,
        seed: int,
        policy: Policy | None = None,
        advance: Advance = lambda steps: None,
    ) -> None:
        self.env = env
        self.simulator = simulator
        self._advance = advance
        self._random = np.random.default_rng(seed)
        env.action_space.seed(seed)
        self.states = self._visit(states, seed, policy)
        self.actions = [[env.action_space.sample() for _ in range(steps)] for _ in self.states]

    def _visit(self, count: int, seed: int, policy: Policy | None) -> list[Any]:
        """States some random steps apart, in as many episodes as that takes.

        A random action is held from one state to the next, which moves a robot further than trembling.
        """
        observation, _ = self.env.reset(seed=seed)
        found: list[Any] = []
        while len(found) < count:
            held = self.env.action_space.sample()
            for _ in range(self._random.integers(1, LONGEST_STRIDE + 1)):
                is_led = policy is not None and self._random.random() < POLICY_SHARE
                action = policy(observation) if policy is not None and is_led else held
                observation, _, terminated, truncated, _ = self.env.step(action)
                self._advance(1)
                if terminated or truncated:
                    observation, _ = self.env.reset()
            found.append(self.simulator.get_state())
            if len(found) % EPISODE_STATES == 0:
                observation, _ = self.env.reset()
        self._check_size(found[0], observation)
        return found

    def _check_size(self, state: Any, observation: Any) -> None:
        """A wrapper that stacks observations stacks those of steps only, not that of a state that is set."""
        placed, stepped = len(self._placed(state, IDENTITY)), len(flat(observation))
        if placed != stepped:
            raise ValueError(
                f"a state that is set gives {placed} observations, a step gives {stepped}: a wrapper "
                "remembers. Verify the environment inside FrameStackObservation (or whatever remembers), "
                "with a description without history"
            )

    def place(self, isometry: FloatArray, states: int | None = None) -> FloatArray:
        """The observations in the images of the states."""
        return np.array([self._placed(state, isometry) for state in self.states[:states]])

    def branch(
        self,
        isometry: FloatArray,
        act: Callable[[Any], Any],
        *,
        states: int | None = None,
        steps: int | None = None,
    ) -> Branches:
        """Go to the image of each state and take ``act(action)`` for each of its actions."""
        chosen = list(zip(self.states, self.actions, strict=True))[:states]
        return _stacked(
            [self._follow(state, isometry, [act(a) for a in actions[:steps]]) for state, actions in chosen]
        )

    def revisit(self, states: int) -> Branches:
        """One step from each of so many states, each of them set after a new start and other actions."""
        found = []
        for state, actions in list(zip(self.states, self.actions, strict=True))[:states]:
            self.env.reset()
            for _ in range(self._random.integers(1, LONGEST_STRIDE + 1)):
                _, _, terminated, truncated, _ = self.env.step(self.env.action_space.sample())
                self._advance(1)
                if terminated or truncated:
                    self.env.reset()
            found.append(self._follow(state, IDENTITY, actions[:1]))
        return _stacked(found)

    def _follow(self, state: Any, isometry: FloatArray, actions: Sequence[Any]) -> Branches:
        placed = self._placed(state, isometry)
        observations = np.full((len(actions), len(placed)), np.nan)
        rewards, endings = np.full((2, len(actions)), np.nan)
        for step, action in enumerate(actions):
            observation, reward, terminated, _, _ = self.env.step(action)
            self._advance(1)
            observations[step] = flat(observation)
            rewards[step], endings[step] = float(reward), float(terminated)
            if terminated:
                break
        return Branches(placed, observations, rewards, endings)

    def _placed(self, state: Any, isometry: FloatArray) -> FloatArray:
        return flat(_as_wrapped(self.env, self.simulator.set_symmetric_state(state, isometry)))


def flat(observation: Any) -> FloatArray:
    """A vector of all numbers; those of a Dict observation key by key, in the order of their names."""
    if isinstance(observation, dict):
        return np.concatenate([flat(observation[key]) for key in sorted(observation)])
    return np.array(observation, dtype=np.float64).ravel()


def _as_wrapped(env: gymnasium.Env[Any, Any], observation: Any) -> Any:
    """What the wrappers make of an observation of the environment inside."""
    if not isinstance(env, gymnasium.Wrapper):
        return observation
    inner = _as_wrapped(env.env, observation)
    return env.observation(inner) if isinstance(env, gymnasium.ObservationWrapper) else inner


def _stacked(branches: Sequence[Branches]) -> Branches:
    return Branches(
        np.array([branch.placed for branch in branches]),
        np.array([branch.observations for branch in branches]),
        np.array([branch.rewards for branch in branches]),
        np.array([branch.endings for branch in branches]),
    )
