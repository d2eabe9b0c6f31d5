"""The ``data_augmentation_func`` of rsl_rl, as the source of a module."""

from __future__ import annotations

from collections.abc import Sequence

from ambidex.symmetry.files.export.tables import by_group, source, terms
from ambidex.symmetry.group import SymmetryGroup

USE = """In rsl_rl, Isaac Lab and mjlab, with this file where Python finds it:

    symmetry_cfg = dict(data_augmentation_func="{module}:augment", use_data_augmentation=True,
                        use_mirror_loss=True, mirror_loss_coeff=0.1)"""


def body(group: SymmetryGroup, groups: Sequence[str], pass_through: Sequence[str]) -> str:
    """All below the header: the tables and ``augment``."""
    observations = {
        key: {element.name: terms(by_group(element.observation_map, groups)[key]) for element in group}
        for key in by_group(next(iter(group)).observation_map, groups)
    }
    actions = {element.name: terms(element.action_map) for element in group}
    return _BODY.format(
        transforms=source(tuple(group.names)),
        pass_through=source(tuple(pass_through)),
        observations=source(observations),
        actions=source(actions),
        first=source(next(iter(observations))),
    )


_BODY = '''\
from __future__ import annotations

import torch

# fmt: off
TRANSFORMS = {transforms}
PASS_THROUGH = {pass_through}  # groups of observations that no transform changes

# Of each transform, terms to be added up: the element that each is read from, and what it is multiplied by.
OBSERVATIONS = {observations}
ACTIONS = {actions}
# fmt: on

_kept: dict = {{}}  # the tables as tensors, per device and type


def augment(env=None, obs=None, actions=None, obs_type={first}):
    """The batch, followed by its image under each transform in turn.

    :param env: not used
    :param obs: a TensorDict or dict of groups, a tensor of the group ``obs_type`` (rsl_rl before 3), or None
    :param actions: a tensor, or None
    """
    with torch.no_grad():
        if isinstance(obs, torch.Tensor):
            obs = _augmented(obs, obs_type)
        elif obs is not None:
            columns = {{group: _augmented(obs[group], group) for group in obs.keys()}}
            if isinstance(obs, dict):
                obs = columns
            else:
                size = obs.batch_size[0] * (1 + len(TRANSFORMS))
                obs = type(obs)(columns, batch_size=[size, *obs.batch_size[1:]], device=obs.device)
        if actions is not None:
            actions = _images(actions, ACTIONS, "actions")
    return obs, actions


def _augmented(batch, group):
    if group in PASS_THROUGH:
        return torch.cat([batch] * (1 + len(TRANSFORMS)))
    if group not in OBSERVATIONS:
        raise ValueError(
            f"the observations {{group!r}} are not described (there are {{', '.join(OBSERVATIONS)}}); "
            f"describe them, or export with --pass-through {{group}} if no transform changes them"
        )
    return _images(batch, OBSERVATIONS[group], f"observations {{group!r}}")


def _images(batch, tables, name):
    place = (name, batch.device, batch.dtype)
    if place not in _kept:
        _kept[place] = [_tensors(batch, tables[transform], name) for transform in TRANSFORMS]
    size = len(_kept[place][0][0][0])
    if batch.shape[-1] != size:
        raise ValueError(f"{{name}}: expected vectors of {{size}} elements, got shape {{tuple(batch.shape)}}")
    stacked = batch.new_empty((len(batch) * (1 + len(TRANSFORMS)), *batch.shape[1:]))
    original, *images = stacked.split(len(batch)) if len(batch) else [stacked]
    original.copy_(batch)
    for image, (first, *more) in zip(images, _kept[place]):
        torch.index_select(batch, -1, first[0], out=image)
        image.mul_(first[1])
        for indices, multipliers in more:
            image.addcmul_(batch.index_select(-1, indices), multipliers)
    return stacked


def _tensors(batch, terms, name):
    if not batch.is_floating_point():
        raise ValueError(f"{{name}}: expected floating-point numbers, got {{batch.dtype}}")
    with torch.inference_mode(False):  # what is kept must serve training too
        return [
            (
                torch.tensor(indices, device=batch.device),
                torch.tensor(multipliers, device=batch.device, dtype=batch.dtype),
            )
            for indices, multipliers in terms
        ]
'''
