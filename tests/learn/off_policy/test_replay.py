"""The images that a symmetric replay buffer draws."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.buffers import DictReplayBuffer, NStepReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from ambidex.learn import SymmetricReplayBuffer
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup, load
from ambidex.symmetry.discrete import ChoiceMap
from tests.learn.networks.groups import by_key, index, one_choice, skewed


def box(size: int, ends: Any = 1.0) -> spaces.Box:
    high = np.broadcast_to(np.asarray(ends, dtype=np.float32), (size,))
    return spaces.Box(-high, high)


def filled(group: SymmetryGroup, actions: spaces.Space[Any], n_envs: int = 2, **kwargs: Any) -> Any:
    """A buffer of 10 steps of each robot, with a reward of its own for each transition."""
    size = group.observation_size
    inside = (
        spaces.Dict({key: box(length, 9.0) for key, length in size.items()})
        if isinstance(size, dict)
        else box(size, 9.0)
    )
    buffer = SymmetricReplayBuffer(10 * n_envs, inside, actions, "cpu", n_envs, symmetries=group, **kwargs)
    inside.seed(0)
    actions.seed(0)
    scale = actions.high if isinstance(actions, spaces.Box) else 1
    for step in range(10):
        before, after = ([inside.sample() for _ in range(n_envs)] for _ in range(2))
        if isinstance(inside, spaces.Dict):
            before, after = (
                {key: np.stack([one[key] for one in many]) for key in inside} for many in (before, after)
            )
        else:
            before, after = np.stack(before), np.stack(after)
        taken = np.stack([actions.sample() for _ in range(n_envs)]) / scale
        taken = taken.astype(actions.dtype)
        rewards = step * n_envs + np.arange(n_envs)
        buffer.add(before, after, taken, rewards, np.zeros(n_envs), [{}] * n_envs)
    return buffer


def check_images(buffer: Any, count: int = 400) -> None:
    """Each sample is its transition under one element, and each element is drawn about equally often."""
    group = buffer.symmetries
    sample = buffer.sample(count)
    drawn = buffer._elements
    for row, element in enumerate(drawn):
        step, robot = divmod(int(sample.rewards[row]), buffer.n_envs)
        transform = None if element == 0 else list(group)[element - 1]
        for name in ("observations", "next_observations"):
            stored, given = getattr(buffer, name), getattr(sample, name)
            if isinstance(stored, dict):
                state = {key: part[step, robot] for key, part in stored.items()}
                image = state if transform is None else transform.observation(state)
                for key, part in image.items():
                    np.testing.assert_allclose(given[key][row], part, atol=1e-5)
            else:
                state = stored[step, robot]
                image = state if transform is None else transform.observation(state)
                np.testing.assert_allclose(given[row], image, atol=1e-5)
        action = buffer.actions[step, robot]
        space = buffer.action_space
        if transform is not None and isinstance(space, spaces.Box):
            action = np.clip(transform.action(action * space.high), space.low, space.high) / space.high
        elif transform is not None:
            action = transform.action_map(action)
        np.testing.assert_allclose(sample.actions[row], action, atol=1e-6)
    share = np.bincount(drawn, minlength=len(group) + 1) / count
    np.testing.assert_allclose(share, 1 / (len(group) + 1), atol=0.1)


@pytest.mark.parametrize("name", ["ant", "triangle", "triangle-paper"])
def test_images_of_vectors(name: str) -> None:
    group = load(name)
    np.random.seed(0)  # noqa: NPY002
    check_images(filled(group, box(group.action_size)))


def test_actions_are_mapped_in_units_of_the_environment() -> None:
    """Known ratios of actuators, whose ranges differ by other ratios, so that some images are clipped."""
    np.random.seed(1)  # noqa: NPY002
    buffer = filled(skewed(), box(3, [1.0, 1.5, 3.0]))
    check_images(buffer)
    assert (buffer.sample(400).actions.abs() == 1).any()


def test_dict_observations() -> None:
    np.random.seed(2)  # noqa: NPY002
    buffer = filled(by_key(), box(2))
    assert isinstance(buffer, DictReplayBuffer)
    check_images(buffer)


def test_discrete_actions() -> None:
    np.random.seed(3)  # noqa: NPY002
    check_images(filled(one_choice(), spaces.Discrete(3), n_envs=1))


def test_steps_in_a_row() -> None:
    """The image of n steps: their discounted rewards stay, the first and the last state are carried along."""
    np.random.seed(4)  # noqa: NPY002
    group = load("ant")
    buffer = filled(group, box(8), n_envs=1, n_steps=2, gamma=0.5)
    assert isinstance(buffer, NStepReplayBuffer)
    buffer.rewards[:] = 3.0 ** np.arange(10)[:, None]
    sample = buffer.sample(100)
    places = np.array([2.5 * 3.0**k for k in range(9)] + [3.0**9])
    for row, element in enumerate(buffer._elements):
        step = int(np.argmin(np.abs(places - float(sample.rewards[row]))))
        state, after = buffer.observations[step, 0], buffer.next_observations[min(step + 1, 9), 0]
        if element:
            state, after = (list(group)[element - 1].observation(one) for one in (state, after))
        np.testing.assert_allclose(sample.observations[row], state, atol=1e-6)
        np.testing.assert_allclose(sample.next_observations[row], after, atol=1e-6)


def test_images_come_before_any_normalisation(make_world: Any) -> None:
    """Statistics that are not symmetric are those that a robot in the image would be seen with."""
    group = load("ant")
    env = VecNormalize(DummyVecEnv([lambda: make_world(28, 8)]), clip_obs=100)
    env.obs_rms.mean = np.linspace(-1, 1, 28)
    env.obs_rms.var = np.linspace(0.5, 2, 28)
    np.random.seed(5)  # noqa: NPY002
    buffer = filled(group, box(8), n_envs=1)
    sample = buffer.sample(50, env)
    raw = env.unnormalize_obs(sample.observations.numpy())
    for row, element in enumerate(buffer._elements):
        states = buffer.observations[:, 0]
        images = states if element == 0 else list(group)[element - 1].observation(states)
        assert np.abs(images - raw[row]).max(axis=1).min() < 1e-4


def test_no_memory_for_images() -> None:
    group = load("ant")
    buffer = filled(group, box(8))
    stored = sum(part.nbytes for part in vars(buffer).values() if isinstance(part, np.ndarray))
    per_transition = 4 * (28 + 28 + 8 + 3)
    assert stored == 20 * per_transition + buffer._elements.nbytes


def test_survives_pickling() -> None:
    np.random.seed(6)  # noqa: NPY002
    buffer = pickle.loads(pickle.dumps(filled(by_key(), box(2))))
    check_images(buffer)


class Pole(gymnasium.Wrapper):
    """CartPole, whose two pushes its mirror exchanges."""

    def __init__(self) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))


@pytest.mark.parametrize("kind", [SAC, TD3])
def test_with_algorithms_of_stable_baselines3(kind: Any, make_world: Any) -> None:
    model = kind(
        "MlpPolicy",
        make_world(28, 8),
        buffer_size=100,
        learning_starts=10,
        batch_size=8,
        policy_kwargs={"net_arch": [8]},
        replay_buffer_class=SymmetricReplayBuffer,
        replay_buffer_kwargs={"symmetries": load("ant")},
        device="cpu",
    ).learn(14)
    assert len(model.replay_buffer._elements) == 8


def test_with_dqn() -> None:
    mirror = Symmetry.from_maps("mirror", index([0, 1, 2, 3], [-1, -1, -1, -1]), ChoiceMap([1, 0], [2]))
    model = DQN(
        "MlpPolicy",
        Pole(),
        buffer_size=100,
        learning_starts=5,
        train_freq=1,
        batch_size=8,
        replay_buffer_class=SymmetricReplayBuffer,
        replay_buffer_kwargs={"symmetries": SymmetryGroup([mirror])},
        device="cpu",
    ).learn(10)
    sample = model.replay_buffer.sample(64)
    assert set(sample.actions.flatten().tolist()) <= {0, 1}
    assert sample.actions.dtype == torch.int64


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (box(27), box(8), "27 elements"),
        (box(28), box(7), "7 elements"),
        (box(28), spaces.Box(-np.inf, np.inf, (8,)), "action 0: its range is"),
        (box(28), spaces.Box(1, 2, (8,)), "check the multiplier"),
    ],
)
def test_refuses_other_spaces(observations: Any, actions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SymmetricReplayBuffer(10, observations, actions, symmetries=load("ant"))


def test_refuses_what_is_no_group() -> None:
    with pytest.raises(ValueError, match="SymmetryGroup"):
        SymmetricReplayBuffer(10, box(2), box(2), symmetries=IndexMap([0, 1], [1, 1]))  # type: ignore[arg-type]


def test_steps_in_a_row_of_dict_observations_are_refused() -> None:
    with pytest.raises(ValueError, match="n_steps"):
        filled(by_key(), box(2), n_steps=2, gamma=0.5)
