"""`SymmetricVecNormalize`: statistics averaged over the group, so that normalising commutes with f."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from ambidex.symmetry import IndexMap, SymmetryGroup


class SymmetricMeanStd(RunningMeanStd):
    """Statistics of a data stream and all its images, without passing the images through.

    :param maps: the observation maps of the whole group, its identity left out
    """

    def __init__(self, maps: list[IndexMap], size: int) -> None:
        super().__init__(shape=(size,))
        self._maps = maps

    def update_from_moments(
        self, batch_mean: npt.NDArray[Any], batch_var: npt.NDArray[Any], batch_count: float
    ) -> None:
        means = np.stack([batch_mean, *(part(batch_mean) for part in self._maps)])
        variances = np.stack(
            [batch_var, *(part.multipliers**2 * batch_var[part.indices] for part in self._maps)]
        )
        # the law of total variance: of a mixture of all images, each with equal weight
        mean = means.mean(axis=0)
        variance = variances.mean(axis=0) + means.var(axis=0)
        super().update_from_moments(mean, variance, batch_count)


class SymmetricVecNormalize(VecNormalize):
    """Stable-Baselines3's VecNormalize with statistics that respect the symmetries of a robot.

    An element and the elements that it maps to share one variance, and their means follow the signs (0 where
    some transform flips the element in place), so that ``normalise(f(s)) == f(normalise(s))``.

    :param venv: the environments
    :param symmetries: a whole group (``SymmetryGroup.from_generators``), of signed permutations
    :param kwargs: any keyword of Stable-Baselines3's VecNormalize
    """

    def __init__(self, venv: VecEnv, *, symmetries: SymmetryGroup, **kwargs: Any) -> None:
        super().__init__(venv, **kwargs)
        self.symmetries = symmetries
