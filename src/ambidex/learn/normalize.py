"""`SymmetricVecNormalize`: statistics averaged over the group, so that normalising commutes with f."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecNormalize

from ambidex.common.arrays import FloatArray
from ambidex.learn.spaces import DoesNotFit, check_group
from ambidex.symmetry import DictMap, IndexMap, Symmetry, SymmetryGroup


class Orbits:
    """The observation elements that the maps carry into each other, and with which sign.

    :param maps: signed permutations of one vector
    :param size: of the vector
    """

    def __init__(self, maps: list[IndexMap], size: int) -> None:
        self.orbit = np.full(size, -1)
        self.sign = np.ones(size)
        both = [*maps, *(part.inverse() for part in maps)]
        flipped = set()  # orbits with an element that is carried to its own negative
        for start in range(size):
            if self.orbit[start] >= 0:
                continue
            number = self.orbit[start] = self.orbit.max() + 1
            waiting = [start]
            while waiting:
                element = waiting.pop()
                for part in both:
                    source, sign = part.indices[element], part.multipliers[element] * self.sign[element]
                    if self.orbit[source] < 0:
                        self.orbit[source], self.sign[source] = number, sign
                        waiting.append(source)
                    elif self.sign[source] != sign:
                        flipped.add(number)
        self.has_mean = ~np.isin(np.arange(self.orbit.max() + 1), list(flipped))
        self._by_orbit = np.argsort(self.orbit, kind="stable")
        self._length = np.bincount(self.orbit)
        self._start = np.cumsum(self._length) - self._length
        self._flip_or_drop = np.where(self.has_mean[self.orbit], self.sign, 0.0)

    def average(self, values: FloatArray) -> FloatArray:
        """Of each element, the mean over its orbit."""
        sums = np.add.reduceat(values[self._by_orbit], self._start)
        averages: FloatArray = (sums / self._length)[self.orbit]
        return averages

    def signed_average(self, values: FloatArray) -> FloatArray:
        """The same, each element with its sign; 0 where the signs of an orbit contradict each other."""
        return self._flip_or_drop * self.average(self.sign * values)

    def contain(self, part: IndexMap) -> bool:
        """Whether this map, too, keeps to the orbits and their signs."""
        same_orbit = self.orbit[part.indices] == self.orbit
        same_sign = part.multipliers * self.sign[part.indices] == self.sign
        return bool((same_orbit & (same_sign | ~self.has_mean[self.orbit])).all())


class QuickMeanStd(RunningMeanStd):
    """Knows the moments of a single row without computing them; one robot's steps are such rows."""

    def update(self, arr: FloatArray) -> None:
        if len(arr) == 1:
            self.update_from_moments(arr[0].astype(np.float64), np.zeros(arr.shape[1:]), 1)
        else:
            super().update(arr)


class SymmetricMeanStd(QuickMeanStd):
    """The statistics of a stream of vectors and all their images."""

    def __init__(self, orbits: Orbits) -> None:
        super().__init__(shape=orbits.orbit.shape)
        self.orbits = orbits

    def update_from_moments(self, batch_mean: FloatArray, batch_var: FloatArray, batch_count: float) -> None:
        batch_mean = batch_mean.astype(np.float64)  # the difference of its squares is that of large numbers
        mean = self.orbits.signed_average(batch_mean)
        variance = self.orbits.average(batch_var + batch_mean**2) - mean**2
        super().update_from_moments(mean, np.maximum(variance, 0.0), batch_count)


class SymmetricVecNormalize(VecNormalize):
    """Stable-Baselines3's VecNormalize with statistics that respect the symmetries of a robot.

    An element and those that it is carried to share one variance, and their means follow the signs (0 where
    some transform flips the element in place), so that ``normalise(f(s)) == f(normalise(s))``.

    :param venv: the environments
    :param symmetries: whose observation multipliers are all 1 or -1
    :param kwargs: any keyword of Stable-Baselines3's VecNormalize
    """

    def __init__(self, venv: VecEnv, *, symmetries: SymmetryGroup, **kwargs: Any) -> None:
        check_group(symmetries)
        super().__init__(venv, **kwargs)
        self.ret_rms = QuickMeanStd(shape=())
        self._orbits: dict[str | None, Orbits] = {}
        if not self.norm_obs:
            return
        if isinstance(self.obs_rms, dict):
            self._orbits = {key: _orbits(symmetries, key, part) for key, part in self.obs_rms.items()}
            self.obs_rms = {key: SymmetricMeanStd(self._orbits[key]) for key in self.obs_rms}
        else:
            self._orbits = {None: _orbits(symmetries, None, self.obs_rms)}
            self.obs_rms = SymmetricMeanStd(self._orbits[None])

    def normalize_obs(self, obs: Any) -> Any:
        if isinstance(obs, dict):
            return super().normalize_obs(obs)
        if not self.norm_obs:
            return obs.copy()
        return self._normalize_obs(obs, self.obs_rms).astype(np.float32)  # type: ignore[arg-type]

    def is_symmetric_under(self, transform: Symmetry) -> bool:
        """Whether normalising commutes with this transform, whatever is observed."""
        tables = {key: _signed_permutation(transform, key) for key in self._orbits}
        return all(orbits.contain(tables[key]) for key, orbits in self._orbits.items())


def deviation_of_returns(env: VecEnv) -> float:
    """What rewards are divided by at present; 1 where they are as they are."""
    return math.prod(
        float(np.sqrt(wrapper.ret_rms.var + wrapper.epsilon))
        for wrapper in normalizers(env)
        if wrapper.norm_reward
    )


def normalizers(env: VecEnv) -> Iterator[VecNormalize]:
    """All of them, the outermost first; Stable-Baselines3's `unwrap_vec_normalize` knows that one only."""
    while isinstance(env, VecEnvWrapper):
        if isinstance(env, VecNormalize):
            yield env
        env = env.venv


def _orbits(symmetries: SymmetryGroup, key: str | None, statistics: RunningMeanStd) -> Orbits:
    maps = [_signed_permutation(transform, key) for transform in symmetries]
    shape = statistics.mean.shape
    if shape != (maps[0].size,):
        raise DoesNotFit(
            f"the observations{'' if key is None else f' {key!r}'} are of shape {shape}, "
            f"but the transforms act on {maps[0].size} elements"
        )
    return Orbits(maps, maps[0].size)


def _signed_permutation(transform: Symmetry, key: str | None) -> IndexMap:
    table = transform.observation_map
    if isinstance(table, DictMap) != (key is not None):
        raise ValueError(f"transform {transform.name!r} and the environment disagree on Dict observations")
    if isinstance(table, DictMap):
        if key not in table.maps:
            raise ValueError(f"transform {transform.name!r} does not describe the observation {key!r}")
        table = table[key]
    if not isinstance(table, IndexMap) or not table.is_signed_permutation:
        raise ValueError(
            f"transform {transform.name!r} does more to observations than swapping and flipping them; "
            "running statistics of single elements cannot follow it, so normalise in the environment"
        )
    return table
