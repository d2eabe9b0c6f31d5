"""What the symmetry losses cannot work with, refused before training with the reason and the way out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import NormalizeObservation
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from ambidex.actuators.identification import takes_targets
from ambidex.actuators.scales import Scales
from ambidex.learn.losses.loss import SymmetryLoss, losses_by_transform
from ambidex.learn.normalize import SymmetricVecNormalize, normalizers
from ambidex.learn.spaces import check_actions, check_group, check_observations, check_ranges
from ambidex.symmetry import Symmetry, SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn.algorithm import SymmetricAlgorithm
    from ambidex.learn.update.actuators import ActuatorChoice

UNEVEN_SCALING = (
    "{} scales an observation and its mirror image differently, so that the described symmetry no longer "
    "holds; wrap with ambidex.learn.SymmetricVecNormalize(env, symmetries=group)"
)
BYPASSED = ("evaluate_actions", "extract_features", "predict_values", "_get_action_dist_from_latent")


def checked_losses(model: SymmetricAlgorithm) -> dict[str, SymmetryLoss]:
    """The loss of each transform that has one, after all checks that need no environment."""
    group = model.symmetries
    if group is None:
        if model.loss is not None:
            raise ValueError("a loss without symmetries has nothing to act on; pass symmetries=")
        return {}
    check_group(group)
    losses = losses_by_transform(group, model.loss)
    if model.actuators is not None:
        for name, loss in losses.items():
            if loss.fits_action_maps:
                raise ValueError(
                    f"transform {name!r}: its loss fits action maps to the robot, and so do actuators=, "
                    "after which nothing is left to fit; use fit=None for the loss, or actuators=None"
                )
    if losses or model.actuators is not None:
        check_observations(model.observation_space, group)
        check_actions(model.action_space, group)
    if model.actuators is not None and not _known_to_shift(model.actuators):
        check_ranges(model.action_space, group)
    if losses:
        _check_samples(model.symmetry_samples, len(losses))
        _refuse_losses(model.action_space, group, losses)
    return losses


def _known_to_shift(actuators: ActuatorChoice) -> bool:
    """Whether they are known to bring canonical commands to ranges that do not lie around 0."""
    return isinstance(actuators, Scales) and bool(np.any(actuators.offset))


def refuse_policy(policy: ActorCriticPolicy, losses: Mapping[str, SymmetryLoss]) -> None:
    if any(isinstance(module, nn.RNNBase) for module in policy.modules()):
        raise ValueError(
            "a recurrent policy carries a state that no transform describes; use a feed-forward policy"
        )
    for method in BYPASSED:
        if getattr(type(policy), method) is not getattr(ActorCriticPolicy, method):
            raise ValueError(
                f"{type(policy).__name__} has a {method} of its own, which the symmetry losses would bypass; "
                "change its networks (features extractor, mlp_extractor) instead"
            )
    if policy.use_sde:
        for name, loss in losses.items():
            if loss.moves_gaussian_means:
                raise ValueError(
                    f"transform {name!r}: {type(loss).__name__} needs one standard deviation per action, "
                    "which use_sde=True does not have; use MSL or use_sde=False"
                )


def refuse_environment(env: VecEnv | None, transforms: Iterable[Symmetry]) -> None:
    """Statistics that differ between an element and its image would break every description silently."""
    if env is None:
        return
    if any(env.env_is_wrapped(NormalizeObservation)):
        raise ValueError(UNEVEN_SCALING.format("NormalizeObservation"))
    transforms = list(transforms)
    for normalizer in normalizers(env):
        if not normalizer.norm_obs:
            continue
        if not isinstance(normalizer, SymmetricVecNormalize):
            raise ValueError(UNEVEN_SCALING.format("VecNormalize"))
        for transform in transforms:
            if not normalizer.is_symmetric_under(transform):
                raise ValueError(
                    f"the statistics of SymmetricVecNormalize are not symmetric under {transform.name!r}; "
                    "give it the same group as the model"
                )


def refuse_normalized_drive(env: VecEnv | None, group: SymmetryGroup | None) -> None:
    """For a fit from transitions: torques follow from positions and speeds in the units of the drive."""
    if env is None or group is None or not takes_targets(group):
        return
    if any(normalizer.norm_obs for normalizer in normalizers(env)):
        raise ValueError(
            "the description's drive has gains in units of the robot, and the observations are normalised, "
            "so that the torques of its motors cannot be told; train without the fit from transitions, or "
            "without normalisation"
        )


def check_positive(name: str, value: object, *, such_as: str) -> None:
    if not is_positive(value):
        raise ValueError(f"{name} is a positive number, such as {such_as}; got {value!r}")


def is_positive(value: object) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and 0 < value < math.inf  # type: ignore[operator]


def _check_samples(samples: object, most: int) -> None:
    if samples is None:
        return
    whole = isinstance(samples, numbers.Integral) and not isinstance(samples, bool)
    if not (whole and 1 <= samples <= most):  # type: ignore[operator]
        raise ValueError(
            f"symmetry_samples is None or a number from 1 to {most}, the transforms with a loss; "
            f"got {samples!r}"
        )


def _refuse_losses(
    space: spaces.Space[object], group: SymmetryGroup, losses: Mapping[str, SymmetryLoss]
) -> None:
    if isinstance(space, spaces.Box):
        check_ranges(space, [group[name] for name in losses])
        for name, loss in losses.items():
            loss.refuse(group[name])
        return
    for name, loss in losses.items():
        if loss.moves_gaussian_means:
            raise ValueError(
                f"transform {name!r}: {type(loss).__name__} moves the mean of a Gaussian, which discrete "
                "actions do not have; use MSL"
            )
