"""The log of observations that a policy is asked about, as the vector that the policy takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambidex.common.arrays import IntArray
from ambidex.common.words import listed
from ambidex.diagnosis.logged import (
    Observations,
    check_finite,
    observations_in,
    read_arrays,
    read_observations,
)
from ambidex.diagnosis.policy_files.reading import Rows
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.on_vector import on_vector

ACTOR_GROUPS = ("policy", "actor", "observation")
"""How the actor's group of a description with several is called."""


@dataclass(frozen=True, eq=False)
class Visited:
    """Observations in the order in which they were visited, and the symmetries of their vector.

    :param rows: (states, elements)
    :param starts: the rows with which an episode begins, 0 first
    :param sizes: the keys that the vector is made of, in their order, with their numbers of elements
    :param group: on this vector
    :param positions: for each actuator where its joint's position stands in the vector; None where the
        description does not say it for all of them
    """

    rows: Rows
    starts: IntArray
    sizes: dict[str, int]
    group: SymmetryGroup
    positions: IntArray | None

    def longest_episode(self) -> slice:
        ends = np.append(self.starts[1:], len(self.rows))
        longest = int(np.argmax(ends - self.starts))
        return slice(int(self.starts[longest]), int(ends[longest]))


def read_visited(
    path: Path, group: SymmetryGroup, *, groups: Sequence[str] = (), keys: Sequence[str] = ()
) -> Visited:
    """Read a log.

    :param path: ``.csv``, or ``.npz`` or ``.safetensors`` with ``observations`` (other arrays of a log of
        transitions may stand beside it) or with one array for each key; ``episode_starts``, if it is there,
        is true where a row begins an episode
    :param group: of the description
    :param groups: the keys that the policy's one vector is made of, in their order
    :param keys: those of a policy that takes a Dict observation
    """
    observations, starts = _read(path)
    chosen = _chosen(group, observations, list(groups), list(keys))
    if isinstance(observations, dict):
        missing = [key for key in chosen if key not in observations]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r} but {listed(list(observations))}")
        sizes = {key: observations[key].shape[1] for key in chosen}
        rows = np.concatenate([observations[key] for key in chosen], axis=1)
    else:
        described = group.observation_size
        sizes = {key: described[key] for key in chosen} if isinstance(described, dict) else {"": described}
        rows = observations
        if rows.shape[1] != sum(sizes.values()):
            raise ValueError(
                f"{path} has {rows.shape[1]} elements in a row; the description has {sum(sizes.values())}"
            )
    return Visited(rows, starts, sizes, on_vector(group, sizes), _positions(group, sizes))


def _read(path: Path) -> tuple[Observations, IntArray]:
    begins: IntArray = np.zeros(1, np.int64)
    if path.suffix == ".csv":
        observations = read_observations(path)
    else:
        arrays = read_arrays(path)
        marked = arrays.pop("episode_starts", None)
        if "observations" in arrays:
            arrays = {"observations": arrays["observations"]}
        observations = observations_in(path, arrays)
        if marked is not None:
            count = len(next(iter(observations.values())) if isinstance(observations, dict) else observations)
            if marked.shape != (count,) or not np.isin(marked, (0, 1)).all():
                raise ValueError(f"{path}: 'episode_starts' is a 0 or 1 for each of the {count} rows")
            begins = np.union1d(begins, np.flatnonzero(marked))
    check_finite(path, observations)
    return observations, begins


def _chosen(
    group: SymmetryGroup, observations: Observations, groups: list[str], keys: list[str]
) -> list[str]:
    """The keys of the vector; one without a name where neither the description nor the log has any."""
    described = group.observation_size
    known = list(described) if isinstance(described, dict) else []
    if keys or groups:
        if keys and groups and keys != groups:
            raise ValueError(f"--group is {listed(groups)}, but the policy itself names {listed(keys)}")
        chosen = keys or groups
        unknown = [key for key in chosen if known and key not in known]
        if unknown:
            raise ValueError(f"the description has no observations {unknown[0]!r}; there are {listed(known)}")
        if not known and not isinstance(observations, dict):
            raise ValueError(
                f"{listed(chosen)}: neither the description nor the log has groups of observations"
            )
        return chosen
    candidates = known or (list(observations) if isinstance(observations, dict) else [])
    if len(candidates) < 2:
        return candidates or [""]
    actor = next((key for key in ACTOR_GROUPS if key in candidates), None)
    if actor is None:
        raise ValueError(f"of {listed(candidates)}, say with --group which the policy takes, in their order")
    return [actor]


def _positions(group: SymmetryGroup, sizes: dict[str, int]) -> IntArray | None:
    if group.layout is None or len(group.layout.actuators) != group.action_size:
        return None
    offsets = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    found = []
    for actuator in group.layout.actuators:
        key = next(iter(sizes)) if actuator.observation_key is None else actuator.observation_key
        if actuator.position_index is None or key not in offsets:
            return None
        found.append(int(offsets[key]) + actuator.position_index)
    return np.array(found)
