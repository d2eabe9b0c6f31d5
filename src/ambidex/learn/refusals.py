"""What the symmetry losses cannot work with, refused before training with the reason and the way out."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import NormalizeObservation
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize
from torch import nn

from ambidex.learn.losses.loss import SymmetryLoss, losses_by_transform
from ambidex.learn.normalize import SymmetricVecNormalize
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO

UNEVEN_SCALING = (
    "{} scales an observation and its mirror image differently, so that the described symmetry no longer "
    "holds; wrap with ambidex.learn.SymmetricVecNormalize(env, symmetries=group)"
)
BYPASSED = ("evaluate_actions", "extract_features", "predict_values", "_get_action_dist_from_latent")


def checked_losses(model: SymmetricPPO) -> dict[str, SymmetryLoss]:
    """The loss of each transform that has one, after all checks that need no environment."""
    group = model.symmetries
    if group is None:
        if model.loss is not None:
            raise ValueError("a loss without symmetries has nothing to act on; pass symmetries=")
        return {}
    if not isinstance(group, SymmetryGroup):
        raise ValueError(f"symmetries is a SymmetryGroup, got {group!r}; read a file with ambidex.load")
    losses = losses_by_transform(group, model.loss)
    if model.actuators is not None:
        for name, loss in losses.items():
            if loss.fits_action_maps:
                raise ValueError(
                    f"transform {name!r}: its loss fits action maps to the robot, and so do actuators=, "
                    "after which nothing is left to fit; use fit=None for the loss, or actuators=None"
                )
    if losses:
        _check_samples(model.symmetry_samples, len(losses))
        _check_observations(model.observation_space, group)
        _check_actions(model.action_space, group, losses)
    return losses


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
    normalize: VecNormalize | None = unwrap_vec_normalize(env)
    if any(env.env_is_wrapped(NormalizeObservation)):
        raise ValueError(UNEVEN_SCALING.format("NormalizeObservation"))
    if normalize is None or not normalize.norm_obs:
        return
    if not isinstance(normalize, SymmetricVecNormalize):
        raise ValueError(UNEVEN_SCALING.format("VecNormalize"))
    for transform in transforms:
        if not normalize.is_symmetric_under(transform):
            raise ValueError(
                f"the statistics of SymmetricVecNormalize are not symmetric under {transform.name!r}; "
                "give it the same group as SymmetricPPO"
            )


def _check_samples(samples: object, most: int) -> None:
    if samples is None:
        return
    whole = isinstance(samples, numbers.Integral) and not isinstance(samples, bool)
    if not (whole and 1 <= samples <= most):  # type: ignore[operator]
        raise ValueError(
            f"symmetry_samples is None or a number from 1 to {most}, the transforms with a loss; "
            f"got {samples!r}"
        )


def _check_observations(space: spaces.Space[object], group: SymmetryGroup) -> None:
    size = group.observation_size
    if isinstance(space, spaces.Dict):
        if not isinstance(size, dict):
            raise ValueError(
                f"the observations are a Dict of {sorted(space.spaces)}, but the group describes one vector "
                f"of {size}; describe each key (DictMap)"
            )
        if set(space.spaces) != set(size):
            raise ValueError(
                f"the observations have the keys {sorted(space.spaces)}, the group describes {sorted(size)}"
            )
        for key, part in space.spaces.items():
            _check_box(part, size[key], f"observation {key!r}")
    elif isinstance(size, dict):
        raise ValueError(
            f"the group describes the Dict keys {sorted(size)}, but the observations are no Dict"
        )
    else:
        _check_box(space, size, "observation")


def _check_box(space: spaces.Space[object], size: int, what: str) -> None:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise ValueError(f"the {what} is {space}; symmetries act on Box spaces of one dimension")
    if space.shape[0] != size:
        raise ValueError(
            f"the environment's {what} has {space.shape[0]} elements, but the transforms act on {size}"
        )


def _check_actions(
    space: spaces.Space[object], group: SymmetryGroup, losses: Mapping[str, SymmetryLoss]
) -> None:
    if isinstance(space, spaces.Box):
        _check_box(space, group.action_size, "action")
        for name, loss in losses.items():
            _check_signs(group[name], space)
            loss.refuse(group[name])
        return
    blocks = _choices(space)
    if sum(blocks) != group.action_size:
        raise ValueError(
            f"the actions {space} have {sum(blocks)} logits, but the transforms act on {group.action_size}"
        )
    for name, loss in losses.items():
        if loss.moves_gaussian_means:
            raise ValueError(
                f"transform {name!r}: {type(loss).__name__} moves the mean of a Gaussian, which discrete "
                "actions do not have; use MSL"
            )
        _check_permutation(name, group, blocks)


def _check_signs(symmetry: Symmetry, space: spaces.Box) -> None:
    """Ranges may differ where actuators do, but not exclude each other."""
    table = symmetry.action_map
    if not isinstance(table, IndexMap):
        return
    ends = np.stack([table(space.low.astype(np.float64)), table(space.high.astype(np.float64))])
    apart = (ends.max(axis=0) <= space.low) | (ends.min(axis=0) >= space.high)
    for element in np.flatnonzero(apart & (space.low < space.high)):
        source = table.indices[element]
        raise ValueError(
            f"transform {symmetry.name!r}, action {element}: its range is [{space.low[element]:g}, "
            f"{space.high[element]:g}], but that of action {source}, which it is read from, becomes "
            f"[{ends[:, element].min():g}, {ends[:, element].max():g}]; check the multiplier, or shift the "
            "actions so that 0 lies within their ranges"
        )


def _choices(space: spaces.Space[object]) -> list[int]:
    """The number of logits of each independent choice."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        return [int(n) for n in np.ravel(space.nvec)]
    if isinstance(space, spaces.MultiBinary):
        return [1] * int(np.prod(space.shape))
    raise ValueError(f"the action space {space} is not supported")


def _check_permutation(name: str, group: SymmetryGroup, blocks: list[int]) -> None:
    table = group[name].action_map
    if not isinstance(table, IndexMap) or not np.array_equal(table.multipliers, np.ones(table.size)):
        raise ValueError(
            f"transform {name!r}: the symmetry of discrete actions is a permutation of their logits; "
            "every action multiplier must be 1"
        )
    choice = np.repeat(np.arange(len(blocks)), blocks)
    starts = np.cumsum([0, *blocks])
    for block, size in enumerate(blocks):
        sources = choice[table.indices[starts[block] : starts[block + 1]]]
        if len(set(sources.tolist())) > 1 or blocks[sources[0]] != size:
            raise ValueError(
                f"transform {name!r}: the logits of choice {block} come from choices "
                f"{sorted(set(sources.tolist()))}; a choice is read whole from one choice of the same size"
            )
