"""The wrappers: what the policy sees, what the robot gets."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex import CanonicalFrame
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.symmetry import SymmetryGroup, load
from tests.learn.networks.groups import GROUPS

HIGH = np.array([1.0, 2.0, 3.0], np.float32)


class Written(gym.Env):
    """Observations drawn from a generator, and a record of the actions that came."""

    def __init__(self, observations: spaces.Space, actions: spaces.Space, length: int = 7) -> None:
        self.observation_space, self.action_space, self.length = observations, actions, length
        self.got: list[Any] = []
        self.seen: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(), {"start": 1}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.got.append(copy.deepcopy(action))
        self.steps += 1
        return self._observe(), float(self.steps), False, self.steps == self.length, {"steps": self.steps}

    def _observe(self) -> Any:
        if isinstance(self.observation_space, spaces.Dict):
            parts = self.observation_space.spaces.items()
            self.seen.append({key: self._draw(space) for key, space in parts})
        else:
            self.seen.append(self._draw(self.observation_space))
        return copy.deepcopy(self.seen[-1])

    def _draw(self, space: spaces.Space) -> np.ndarray:
        return self.np_random.normal(size=space.shape).astype(np.float32)


def box(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def unit(size: int) -> spaces.Box:
    return spaces.Box(-1, 1, (size,), np.float32)


ROBOTS: dict[str, tuple[spaces.Space, spaces.Space]] = {
    "ant": (box(28), unit(8)),
    "triangle-paper": (
        box(load("triangle-paper").observation_size),
        unit(load("triangle-paper").action_size),
    ),
    "by key": (spaces.Dict({"legs": box(2), "body": box(3)}), unit(2)),
    "one choice": (box(2), spaces.Discrete(3)),
    "two choices": (box(3), spaces.MultiDiscrete([3, 3])),
    "skewed": (box(2), spaces.Box(-np.inf, np.inf, (3,), np.float32)),
}


def best_of(group: SymmetryGroup, frame: Any, present: str | None, observation: Any) -> str:
    """The obvious loop: the element whose image has the highest score, unless the present one is as good."""
    domain = frame._turning.domain
    scores = {}
    for name in ("identity", *group.names):
        image = observation if name == "identity" else group[name].observation(observation)
        vector = image if domain._keys is None else np.concatenate([image[key] for key in domain._keys])
        scores[name] = float(np.dot(domain._functionals[0], vector.astype(np.float64)))
    best = max(scores, key=lambda name: scores[name])
    if present is not None and scores[present] >= (1 - domain.margin) * scores[best]:
        return present
    return best


def same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            same(one[key], other[key])
    else:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("name", ROBOTS)
def test_a_frame_does_what_the_obvious_loop_does(name: str) -> None:
    group = GROUPS[name]()
    inner = Written(*ROBOTS[name])
    frame = CanonicalFrame(inner, group, margin=0.3)
    frame.action_space.seed(0)
    elements = set()
    for episode in range(4):
        expected = None
        observation, info = frame.reset(seed=episode)
        assert info == {"start": 1}
        over = False
        while True:
            if not over:
                expected = best_of(group, frame, expected, inner.seen[-1])
            elements.add(expected)
            assert frame.element == expected
            turned = inner.seen[-1]
            if frame.element != "identity":
                turned = group[frame.element].observation(turned)
            same(observation, turned)
            if over:
                break
            said = frame.action_space.sample()
            element = frame.element
            observation, reward, _, over, info = frame.step(said)
            assert (reward, info) == (inner.steps, {"steps": inner.steps})
            got = np.asarray(inner.got[-1])
            assert inner.action_space.contains(inner.got[-1])
            same(said, got if element == "identity" else group[element].action(got))
    assert len(elements) > min(len(group), 3)


@pytest.mark.parametrize("name", ["ant", "by key", "one choice", "two choices"])
def test_a_vector_of_environments_is_each_in_its_own_frame(name: str) -> None:
    group = GROUPS[name]()
    robots = [Written(*ROBOTS[name], length=5 + index) for index in range(3)]
    together = CanonicalFrame(DummyVecEnv([lambda robot=robot: robot for robot in robots]), group)
    twins = [Written(*ROBOTS[name], length=5 + index) for index in range(3)]
    alone = DummyVecEnv([lambda twin=twin: CanonicalFrame(twin, group) for twin in twins])
    together.seed(3), alone.seed(3)
    same(together.reset(), alone.reset())
    together.action_space.seed(0)
    ended = 0
    for _ in range(40):
        actions = np.array([together.action_space.sample() for _ in robots])
        ours, theirs = together.step(actions), alone.step(actions)
        for one, other in zip(ours[:3], theirs[:3], strict=True):
            same(one, other)
        for info, other in zip(ours[3], theirs[3], strict=True):
            assert set(info) == set(other)
            if "terminal_observation" in info:
                same(info["terminal_observation"], other["terminal_observation"])
                ended += 1
        for robot, twin in zip(robots, twins, strict=True):
            same(np.asarray(robot.got[-1]), np.asarray(twin.got[-1]))
    assert ended > 10


def test_the_last_observation_is_in_the_frame_of_the_last_action() -> None:
    group = load("triangle")
    robots = TriangleVecEnv(4, seed=0)
    frame = CanonicalFrame(robots, group, by="position", margin=0.0)
    plain = TriangleVecEnv(4, seed=0)
    frame.reset(), plain.reset()
    names = ("identity", *group.names)
    changes = 0
    for step in range(50):
        elements = frame.elements.copy()
        said = np.full((4, 3), [0.1, -0.5, 0.9], np.float32) * np.cos(step)
        back = [
            one if element == 0 else group[names[element]].inverse().action(one)
            for one, element in zip(said, elements, strict=True)
        ]
        _, rewards, _, infos = frame.step(said)
        _, expected, _, raw = plain.step(np.array(back))
        np.testing.assert_array_equal(rewards, expected)
        changes += int((frame.elements != elements).sum())
    assert changes > 10
    for element, info, given in zip(elements, infos, raw, strict=True):
        last = given["terminal_observation"]
        same(
            info["terminal_observation"],
            last if element == 0 else group[names[element]].observation(last),
        )
        assert info["episode"]["r"] == given["episode"]["r"]


def test_an_old_final_observation_is_turned_and_the_info_of_the_robot_is_not_changed() -> None:
    class Restarting(Written):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
            self.given = {"final_observation": np.array([1.0, 2.0], np.float32)}
            return *super().step(action)[:4], self.given

    robot = Restarting(box(2), unit(1))
    frame = CanonicalFrame(robot, GROUPS["negated"]())
    for seed in range(20):
        frame.reset(seed=seed)
        sign = 1 if frame.element == "identity" else -1
        *_, info = frame.step(np.zeros(1, np.float32))
        np.testing.assert_array_equal(info["final_observation"], [sign, 2 * sign])
        np.testing.assert_array_equal(robot.given["final_observation"], [1, 2])


def test_bounds_that_differ_between_actuators() -> None:
    # Limbs 0, 1 and 2 change places with turned signs: the policy may say up to 3 to any of them, and a limb
    # that takes less gets what it takes.
    group = load("triangle-paper")
    robot = Written(box(group.observation_size), spaces.Box(-HIGH, HIGH, dtype=np.float32))
    frame = CanonicalFrame(robot, group)
    np.testing.assert_array_equal(frame.action_space.high, [3, 3, 3])
    np.testing.assert_array_equal(frame.action_space.low, [-3, -3, -3])
    elements = set()
    for seed in range(30):
        frame.reset(seed=seed)
        element = frame.element
        elements.add(element)
        said = np.array([2.5, -1.5, 0.5], np.float32)
        frame.step(said)
        back = said if element == "identity" else group[element].inverse().action(said)
        np.testing.assert_array_equal(robot.got[-1], np.clip(back, -HIGH, HIGH))
    assert len(elements) == 6


def test_bounds_that_the_group_keeps_stay_the_robots_own() -> None:
    robot = Written(box(28), unit(8))
    frame = CanonicalFrame(robot, load("ant"), by="goal")
    assert frame.action_space is robot.action_space and frame.observation_space is robot.observation_space


def test_bounds_of_observations_hold_all_images() -> None:
    high = np.array([np.inf, 2.0], np.float32)
    robot = Written(spaces.Box(-np.array([np.inf, 1.0], np.float32), high), unit(1))
    frame = CanonicalFrame(robot, GROUPS["negated"]())
    np.testing.assert_array_equal(frame.observation_space.low, [-np.inf, -2])
    np.testing.assert_array_equal(frame.observation_space.high, [np.inf, 2])


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (box(3), unit(1), "has 3 elements, but the transforms act on 2"),
        (box(2), unit(2), "has 2 elements, but the transforms act on 1"),
        (spaces.Box(0, 9, (2,), np.int64), unit(1), "whole numbers"),
        (spaces.Dict({"a": box(2)}), unit(1), "describe each key"),
    ],
)
def test_spaces_that_the_group_does_not_fit_are_refused(
    observations: spaces.Space, actions: spaces.Space, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        CanonicalFrame(Written(observations, actions), GROUPS["negated"]())


def test_choices_that_start_elsewhere_and_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0"):
        CanonicalFrame(Written(box(2), spaces.Discrete(3, start=1)), GROUPS["one choice"]())
    with pytest.raises(ValueError, match="wraps a Gymnasium environment or a VecEnv"):
        CanonicalFrame("ant", GROUPS["one choice"]())  # type: ignore[call-overload]


def test_a_policy_without_memory_is_exactly_equivariant() -> None:
    group = load("ant")
    frame = CanonicalFrame(Written(*ROBOTS["ant"]), group, by="goal")
    weights = np.random.default_rng(1).normal(size=(8, 28)).astype(np.float32) / 30
    act = frame.without_memory(lambda observation: np.clip(weights @ observation, -1, 1))
    for state in np.random.default_rng(2).normal(size=(10, 28)).astype(np.float32):
        for element in group:
            np.testing.assert_array_equal(act(element.observation(state)), element.action(act(state)))


def test_plain_stable_baselines3_learns_in_a_frame() -> None:
    env = CanonicalFrame(TriangleVecEnv(4, seed=0), load("triangle"), by="target")
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu").learn(128)
    assert model.num_timesteps == 128


def test_the_example_of_the_documentation_runs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "environments.md").read_text()
    (block,) = re.findall(r"```python\n([^`]*CanonicalFrame[^`]*)```", page)
    exec(block, {})
