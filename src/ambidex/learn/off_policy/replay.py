"""`SymmetricReplayBuffer`: every transition is replayed as itself or as one of its images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import DictReplayBuffer, NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import VecNormalize

from ambidex.actuators.scales import action_map
from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.spaces import check_actions, check_group, check_observations, check_ranges
from ambidex.symmetry import DictMap, IndexMap, SymmetryGroup
from ambidex.symmetry.maps import as_simple_as_possible

Rows = npt.NDArray[Any]


class SymmetricReplayBuffer(ReplayBuffer):
    """Stable-Baselines3's replay buffer, from which each transition (s, a, r, s') is drawn as it was, or as
    (f(s), g(a), r, f(s')): data augmentation for off-policy algorithms, without memory for it.

    ``SAC("MlpPolicy", env, replay_buffer_class=SymmetricReplayBuffer,
    replay_buffer_kwargs=dict(symmetries=group))``; the same for TD3, DDPG, and DQN where the group permutes
    the choices. Each transform and the identity have the same chance for every transition of a minibatch. The
    images are those of the observations as the environment gave them, before any normalisation. An image of
    an action that lies outside of the action box, as it may where the ranges of two actuators differ, is
    clipped to it.

    For Dict observations, and with ``n_steps``, the object is a `DictReplayBuffer` or `NStepReplayBuffer`.

    :param buffer_size: and all others as for Stable-Baselines3's
    :param symmetries: the transforms of the robot
    :param kwargs: any keyword of Stable-Baselines3's
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        space = kwargs.get("observation_space", args[1] if len(args) > 1 else None)
        kind: type = cls
        if cls is SymmetricReplayBuffer and isinstance(space, spaces.Dict):
            if "n_steps" in kwargs:
                raise ValueError("n_steps: Stable-Baselines3 has no such replay of Dict observations")
            kind = SymmetricDictReplayBuffer
        elif cls is SymmetricReplayBuffer and "n_steps" in kwargs:
            kind = SymmetricNStepReplayBuffer
        return super().__new__(kind)

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        n_envs: int = 1,
        *,
        symmetries: SymmetryGroup,
        **kwargs: Any,
    ) -> None:
        check_group(symmetries)
        check_observations(observation_space, symmetries)
        check_actions(action_space, symmetries)
        super().__init__(buffer_size, observation_space, action_space, device, n_envs, **kwargs)
        self.symmetries = symmetries
        self._images = _observation_images(symmetries, observation_space)
        self._action_images: RowImages | ChoiceImages = _action_images(symmetries, action_space)
        self._elements = np.zeros(0, dtype=np.int64)  # 0 is the identity, of the minibatch being drawn

    def set_actuators(self, scale: FloatArray, offset: FloatArray) -> None:
        """From now on the images of commands are those of a robot whose actuators need ``a = o + s c``. They
        may lie outside of the action box.

        :param scale: (n,) s
        :param offset: (n,) o
        """
        actions, group = ActionRange.of(self.action_space), self.symmetries
        found = [action_map(group, name, scale, offset) for name in group.names]
        scaled = [actions.scaled(own.matrix, own.biases) for own in found]
        size = group.action_size
        self._action_images = RowImages(
            [np.eye(size), *(matrix for matrix, _ in scaled)],
            np.float32,
            biases=np.stack([np.zeros(size), *(bias for _, bias in scaled)]),
        )

    def _get_samples(self, batch_inds: IntArray, env: VecNormalize | None = None) -> ReplayBufferSamples:
        self._elements = np.random.randint(len(self.symmetries) + 1, size=len(batch_inds))  # noqa: NPY002
        samples = super()._get_samples(batch_inds, env)
        actions = self._action_images(samples.actions.numpy(force=True), self._elements)
        return samples._replace(actions=self.to_torch(actions, copy=False))

    def _normalize_obs(self, obs: Any, env: VecNormalize | None = None) -> Any:  # type: ignore[override]
        """The way by which all observations leave the buffer."""
        if isinstance(obs, dict):
            images: Any = {key: self._images[key](part, self._elements) for key, part in obs.items()}
        else:
            images = self._images[""](obs, self._elements)
        return super()._normalize_obs(images, env)


class SymmetricDictReplayBuffer(SymmetricReplayBuffer, DictReplayBuffer):  # type: ignore[misc]
    """What `SymmetricReplayBuffer` makes for Dict observations."""


class SymmetricNStepReplayBuffer(SymmetricReplayBuffer, NStepReplayBuffer):
    """What `SymmetricReplayBuffer` makes with ``n_steps``."""


class RowImages:
    """Maps each row of a batch by the element of a group that is drawn for it.

    :param matrices: (n, size, size) of the elements, the identity first
    :param dtype: of the rows
    :param biases: (n, size) added after it
    :param is_within: whether results are clipped to [-1, 1]
    """

    def __init__(
        self,
        matrices: Sequence[FloatArray],
        dtype: npt.DTypeLike | None,
        *,
        biases: FloatArray | None = None,
        is_within: bool = False,
    ) -> None:
        dtype = dtype if dtype is not None and np.issubdtype(dtype, np.floating) else np.float32
        maps = [as_simple_as_possible(matrix) for matrix in matrices]
        self._size = maps[0].size
        self._biases = None if biases is None or not biases.any() else biases.astype(dtype)
        self._is_within = is_within
        self._stacked: Rows | None = None
        if all(isinstance(part, IndexMap) for part in maps):
            self._indices = np.stack([part.indices for part in maps])  # type: ignore[attr-defined]
            self._multipliers = np.stack([part.multipliers for part in maps]).astype(dtype)  # type: ignore[attr-defined]
        else:
            whole = np.concatenate([np.asarray(matrix).T for matrix in matrices], axis=1)
            self._stacked = whole.astype(dtype)

    def __call__(self, rows: Rows, elements: IntArray) -> Rows:
        """:param rows: (B, size)
        :param elements: (B,) of each row
        """
        if self._stacked is None:
            starts = np.arange(0, rows.size, self._size)[:, None]
            images = np.take(rows.ravel(), self._indices[elements] + starts)
            images = images * self._multipliers[elements]
        else:
            every = (rows @ self._stacked).reshape(len(rows), -1, self._size)
            images = every[np.arange(len(rows)), elements]
        if self._biases is not None:
            images = images + self._biases[elements]
        return np.clip(images, -1, 1) if self._is_within else images


class ChoiceImages:
    """The same for discrete choices.

    :param images: (n, choices) what each choice becomes
    """

    def __init__(self, images: IntArray) -> None:
        self._images = images

    def __call__(self, rows: Rows, elements: IntArray) -> Rows:
        return self._images[elements[:, None], rows].astype(rows.dtype, copy=False)


def _observation_images(group: SymmetryGroup, space: spaces.Space[Any]) -> Mapping[str, RowImages]:
    """By key of a Dict observation; under "" for one vector."""
    size = group.observation_size
    if not isinstance(size, dict):
        matrices = [transform.observation_map.matrix for transform in group]  # type: ignore[union-attr]
        return {"": RowImages([np.eye(size), *matrices], space.dtype)}
    maps = [transform.observation_map for transform in group]
    assert isinstance(space, spaces.Dict)
    return {
        key: RowImages(
            [np.eye(length), *(part[key].matrix for part in maps if isinstance(part, DictMap))],
            space[key].dtype,
        )
        for key, length in size.items()
    }


def _action_images(group: SymmetryGroup, space: spaces.Space[Any]) -> RowImages | ChoiceImages:
    if isinstance(space, spaces.Discrete):
        given = [np.argsort(transform.action_map.indices) for transform in group]  # type: ignore[attr-defined]
        return ChoiceImages(np.stack([np.arange(int(space.n)), *given]))
    actions = ActionRange.of(space)
    assert isinstance(space, spaces.Box)
    check_ranges(space, group)
    matrices, biases = [np.eye(group.action_size)], [np.zeros(group.action_size)]
    for transform in group:
        matrix, bias = actions.scaled(transform.action_map.matrix)
        matrices.append(matrix)
        biases.append(bias)
    exact = all(actions.is_exact(transform.action_map.matrix).all() for transform in group)
    return RowImages(matrices, np.float32, biases=np.stack(biases), is_within=not exact)
