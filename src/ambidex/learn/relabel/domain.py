"""A fundamental domain of a group: which element carries a state into it, and what it does on the way.

Each element h has a score in a state s, a linear functional of the image: ``l . f_h(s)``. The element with
the highest score carries s to the canonical image, which is the same for s and all its images. The functional
has no part that the whole group leaves as it is, so that the scores of a state add up to 0, and the highest
tells how far apart they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.learn.networks.representation import Representation
from ambidex.symmetry import SymmetryGroup

Field = str | Sequence[int]
Vectors = npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]]

CANDIDATES = 64
EQUAL = 1e-9  # scores that differ by less, relative to the highest, are equal: the first element has it
APART = 1e-6  # of a unit functional and its image that are not the same


class Domain:
    """The fundamental domain that a field of the observation chooses.

    :param group: closed
    :param by: see `CanonicalFrame`
    :param margin: see `CanonicalFrame`
    :param keys: of a Dict observation, in the order in which they follow each other in one vector
    """

    def __init__(
        self, group: SymmetryGroup, by: Field | None, margin: float, keys: Sequence[str] | None
    ) -> None:
        if not 0 <= margin < 1:
            raise ValueError(f"margin is a part of the highest score, from 0 to less than 1, got {margin!r}")
        self.representation = Representation.of(group, keys)
        self.margin = margin
        self._keys = keys
        chosen = _chosen(group, by, keys)
        images = _farthest_apart(self.representation.observation, chosen)
        _refuse_alike(self.representation.names, images, by)
        self._functionals = images - images.mean(axis=0)

    def scores(self, observations: Vectors) -> FloatArray:
        """(n, |G|) the score of each element, the identity first.

        :param observations: n of them
        """
        if isinstance(observations, Mapping):
            assert self._keys is not None
            observations = np.concatenate([observations[key] for key in self._keys], axis=1)
        scores: FloatArray = observations.astype(np.float64) @ self._functionals.T
        return scores

    def choose(self, observations: Vectors) -> IntArray:
        """(n,) the elements that carry the observations into the domain."""
        scores = self.scores(observations)
        highest = scores.max(axis=1, keepdims=True)
        return np.asarray(np.argmax(scores >= highest - EQUAL * np.abs(highest), axis=1))

    def follow(self, present: IntArray, observations: Vectors) -> IntArray:
        """(n,) the same, but an element stays while its score is at least 1 - margin of the highest.

        :param present: (n,) the elements of the states before
        """
        scores = self.scores(observations)
        own = scores[np.arange(len(present)), present]
        stays = own >= (1 - self.margin) * scores.max(axis=1)
        return np.where(stays, present, self.choose(observations))


def _chosen(group: SymmetryGroup, by: Field | None, keys: Sequence[str] | None) -> BoolArray:
    """(o,) the elements of the observation that the functional reads."""
    size = group.observation_size
    sizes = {None: size} if not isinstance(size, dict) else {key: size[key] for key in keys or sorted(size)}
    if by is None:
        return np.ones(sum(sizes.values()), dtype=np.bool_)
    if isinstance(by, str):
        chosen = np.concatenate([_named(group, by, key, count) for key, count in sizes.items()])
        if not chosen.any():
            raise ValueError(f"no field of the observation is called {by!r}; {_fields(group)}")
        return chosen
    if isinstance(size, dict):
        raise ValueError(f"by={by!r}: Dict observations are chosen by a key or by the name of a field")
    places = np.asarray(by)
    if places.ndim != 1 or not len(places) or places.dtype.kind not in "iu":
        raise ValueError(f"by={by!r}: give the name of a field, or a list of indices of the observation")
    if places.min() < 0 or places.max() >= size:
        raise ValueError(f"by={by!r}: the observation's indices go from 0 to {size - 1}")
    return np.isin(np.arange(size), places)


def _named(group: SymmetryGroup, name: str, key: str | None, size: int) -> BoolArray:
    """(size,) the elements of one vector that a name means: a whole key, or the newest of a field."""
    if name == key:
        return np.ones(size, dtype=np.bool_)
    blocks = _blocks(group, key)
    parts = [np.full(block.size, block.name == name and block.age == 0) for block in blocks]
    return np.concatenate(parts) if parts else np.zeros(size, dtype=np.bool_)


def _blocks(group: SymmetryGroup, key: str | None) -> list[Any]:
    if group.layout is None:
        return []
    blocks = group.layout.observation_blocks
    return list(blocks[str(key)] if isinstance(blocks, dict) else blocks)


def _fields(group: SymmetryGroup) -> str:
    size = group.observation_size
    keys: list[Any] = list(size) if isinstance(size, dict) else [None]
    names = [key for key in keys if key is not None]
    names += [block.name for key in keys for block in _blocks(group, key)]
    if not names:
        return "the group has no description by name, so give a list of indices of the observation"
    return f"there are {', '.join(dict.fromkeys(names))}"


def _farthest_apart(matrices: FloatArray, chosen: BoolArray) -> FloatArray:
    """(|G|, o) a unit functional of the chosen elements, after each element of the group.

    Of many, the one whose nearest image is the farthest: it lies in the middle of its domain, and the scores
    of neighbouring domains differ clearly.
    """
    candidates = np.random.default_rng(0).standard_normal((CANDIDATES, len(chosen))) * chosen
    candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
    images = np.einsum("co,gop->cgp", candidates, matrices, optimize=True)
    distances = np.linalg.norm(images[:, 1:] - candidates[:, None], axis=2)
    return np.asarray(images[np.argmax(distances.min(axis=1))])


def _refuse_alike(names: tuple[str, ...], images: FloatArray, by: Field | None) -> None:
    distances = np.linalg.norm(images[1:] - images[0], axis=1)
    alike = [name for name, distance in zip(names[1:], distances, strict=True) if distance < APART]
    if alike:
        what = "the observation" if by is None else repr(by)
        raise ValueError(
            f"{what} is the same under {', '.join(alike)}, which it therefore cannot choose; "
            "choose by a field that every transform changes"
        )
