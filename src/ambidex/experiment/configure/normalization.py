"""Running normalisation: around the environments of a run, kept in its files, and done again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from ambidex.common.arrays import below
from ambidex.common.files import Arrays

if TYPE_CHECKING:
    from ambidex.symmetry import SymmetryGroup

Array = npt.NDArray[Any]
IN_POLICY_FILE = "normalization."
_MOMENTS = ("mean", "var", "count")
_WHOLE = "whole"


@dataclass(frozen=True)
class Normalization:
    """What a policy that learned from normalised observations does to an observation first.

    :param means: of each element, by the key of a Dict observation; None for an observation that is no Dict
    :param variances: likewise
    :param epsilon: added to the variances
    :param clip: the largest normalised value
    """

    means: dict[str | None, Array]
    variances: dict[str | None, Array]
    epsilon: float
    clip: float

    def __call__(self, observation: Any) -> Any:
        """As `VecNormalize.normalize_obs` does it."""
        if isinstance(observation, dict):
            return {key: self._part(key, part) for key, part in observation.items()}
        return self._part(None, observation)

    def _part(self, key: str | None, observation: Array) -> Array:
        scaled = (observation - self.means[key]) / np.sqrt(self.variances[key] + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)

    @classmethod
    def of(cls, env: VecEnv) -> Normalization | None:
        """What training environments do at present; None where they show observations as they are."""
        wrapper = unwrap_vec_normalize(env)
        if wrapper is None or not wrapper.norm_obs:
            return None
        statistics = _statistics(wrapper)
        return cls(
            {key: np.array(part.mean) for key, part in statistics.items()},
            {key: np.array(part.var) for key, part in statistics.items()},
            wrapper.epsilon,
            wrapper.clip_obs,
        )

    def arrays(self) -> Arrays:
        """For the file of a policy, under names that no parameter has."""
        found = {f"{_name(key)}.mean": mean for key, mean in self.means.items()}
        found |= {f"{_name(key)}.var": variance for key, variance in self.variances.items()}
        found |= {"epsilon": np.array(self.epsilon), "clip": np.array(self.clip)}
        return {IN_POLICY_FILE + name: array for name, array in found.items()}

    @classmethod
    def taken_from(cls, arrays: Arrays, space: spaces.Space[Any]) -> Normalization | None:
        """Take it out of the arrays of a policy's file, which leaves the parameters.

        :param space: of the policy's observations
        """
        own = below(IN_POLICY_FILE, arrays)
        if not own:
            return None
        for name in own:
            del arrays[IN_POLICY_FILE + name]
        parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {None: space}
        shapes: dict[str, Any] = {"epsilon": (), "clip": ()}
        for key, part in parts.items():
            shapes |= {f"{_name(key)}.mean": part.shape, f"{_name(key)}.var": part.shape}
        _require_shapes(own, shapes)
        return cls(
            {key: own[f"{_name(key)}.mean"] for key in parts},
            {key: own[f"{_name(key)}.var"] for key in parts},
            float(own["epsilon"]),
            float(own["clip"]),
        )


def normalized(env: VecEnv, group: SymmetryGroup | None, gamma: float, *, observations: bool) -> VecNormalize:
    """Training environments with normalised rewards, and observations, by statistics that are symmetric."""
    if group is None:
        return VecNormalize(env, norm_obs=observations, gamma=gamma)
    from ambidex.learn import SymmetricVecNormalize

    return SymmetricVecNormalize(env, symmetries=group, norm_obs=observations, gamma=gamma)


def normalizing(act: Callable[[Any], Array], env: VecEnv) -> Callable[[Any], Array]:
    """A policy on observations as they are, where it learned from those of these environments."""
    normalization = Normalization.of(env)
    return act if normalization is None else lambda observation: act(normalization(observation))


def capture(env: VecEnv) -> Arrays | None:
    """Everything that decides how the normalisation goes on; None where there is none."""
    wrapper = unwrap_vec_normalize(env)
    if wrapper is None:
        return None
    parts = {_name(key): part for key, part in _statistics(wrapper).items()} | {"return": wrapper.ret_rms}
    arrays = {
        f"{name}.{moment}": np.array(getattr(part, moment))
        for name, part in parts.items()
        for moment in _MOMENTS
    }
    return arrays | {"returns": wrapper.returns.copy()}


def restore(env: VecEnv, arrays: Mapping[str, Array]) -> None:
    """Bring the normalisation of environments that have been reset to a captured state."""
    wrapper = unwrap_vec_normalize(env)
    assert wrapper is not None
    parts = {_name(key): part for key, part in _statistics(wrapper).items()} | {"return": wrapper.ret_rms}
    for name, part in parts.items():
        mean, variance, count = (arrays[f"{name}.{moment}"] for moment in _MOMENTS)
        part.mean, part.var, part.count = mean.copy(), variance.copy(), float(count)
    wrapper.returns = arrays["returns"].copy()


def _statistics(wrapper: VecNormalize) -> dict[str | None, RunningMeanStd]:
    if not wrapper.norm_obs:
        return {}
    statistics = wrapper.obs_rms
    return dict(statistics) if isinstance(statistics, dict) else {None: statistics}


def _name(key: str | None) -> str:
    return _WHOLE if key is None else f"key/{key}"


def _require_shapes(own: Arrays, shapes: Mapping[str, Any]) -> None:
    for name, shape in shapes.items():
        what = repr(IN_POLICY_FILE + name)
        if name not in own:
            raise ValueError(f"the policy's file lacks {what}, which its normalisation needs")
        if own[name].shape != shape:
            raise ValueError(
                f"the policy's file: {what} has the shape {own[name].shape}, "
                f"for these observations it is {shape}"
            )
