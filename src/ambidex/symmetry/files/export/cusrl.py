"""The mirrors of cusrl, single and of the whole group, as the source of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ambidex.symmetry.files.export.tables import by_group, source, terms
from ambidex.symmetry.files.interop import to_cusrl
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.maps import IndexMap, LinearMap

ACTOR_GROUPS, STATE_GROUPS = ("observation", "policy", "actor"), ("state", "critic")

USE = """In cusrl, with this file where Python finds it; all transforms at once:

    environment.spec.mirror_observation = {module}.mirror_observation
    environment.spec.mirror_action = {module}.mirror_action
    agent.register_hook(SymmetricDataAugmentation(), before="value_loss")
    agent.register_hook({module}.GroupMirrorLoss(weight), after="on_policy_preparation")

or a single one, for any hook of cusrl (of a rotation, MirrorSymmetryLoss wants ACTION_BACK instead):

    environment.spec.mirror_observation = {module}.OBSERVATION["{first}"]
    environment.spec.mirror_action = {module}.ACTION["{first}"]"""


def body(group: SymmetryGroup, groups: Sequence[str]) -> str:
    """All below the header: a mirror per transform, and what takes all of them at once."""
    parts = {element.name: by_group(element.observation_map, groups[:1]) for element in group}
    keys = list(next(iter(parts.values())))
    observation, state = _roles(keys)
    sides = {
        "OBSERVATION": {name: part[observation] for name, part in parts.items()},
        "ACTION": {element.name: element.action_map for element in group},
        "ACTION_BACK": {element.name: element.action_map.inverse() for element in group},
    }
    if state is not None:
        sides["STATE"] = {name: part[state] for name, part in parts.items()}
    more = not all(_is_mirror(part) for maps in sides.values() for part in maps.values())
    return _BODY.format(
        transforms=source(tuple(group.names)),
        map=_MAP if more else "",
        tables="\n".join(f"{_COMMENTS[side]}\n{side} = {_mirrors(maps)}" for side, maps in sides.items()),
        state="" if state is None else _STATE,
    )


def _roles(keys: list[str]) -> tuple[str, str | None]:
    """Which group the actor sees and which the critic does."""
    if len(keys) == 1:
        return keys[0], None
    actor = next((key for key in ACTOR_GROUPS if key in keys), None)
    state = next((key for key in STATE_GROUPS if key in keys), None)
    if actor is None or state is None or len(keys) > 2:
        raise ValueError(
            f"cusrl has one vector for the actor and one state for the critic, but the description has the "
            f"groups {', '.join(keys)}; call one of them {' or '.join(ACTOR_GROUPS)} and the other "
            f"{' or '.join(STATE_GROUPS)}"
        )
    return actor, state


def _is_mirror(part: LinearMap) -> bool:
    return isinstance(part, IndexMap) and part.is_signed_permutation


def _mirrors(maps: Mapping[str, LinearMap]) -> str:
    lines = ["{"]
    for name, part in maps.items():
        if _is_mirror(part):
            destination, flipped = to_cusrl(part)
            made, arguments = "MirrorDef", [source(destination, " " * 8), source(flipped, " " * 8)]
        else:
            made, arguments = "_Sum", [source(terms(part), " " * 8)]
        lines.append(f"    {source(name)}: {made}(")
        lines += [f"        {argument}," for argument in arguments]
        lines.append("    ),")
    return "\n".join([*lines, "}"])


_COMMENTS = {
    "OBSERVATION": "# Where each element is read from, and which elements then change sign.",
    "ACTION": "# What becomes of actions",
    "ACTION_BACK": "# and what takes them back, which is the same for reflections only.",
    "STATE": "# The critic's state.",
}

_BODY = '''\
from __future__ import annotations

import torch
from cusrl.hook import MirrorSymmetryLoss
from cusrl.hook.auxiliary.symmetry import MirrorDef
{map}
# fmt: off
TRANSFORMS = {transforms}

{tables}
# fmt: on


def mirror_observation(observation):
    """The images of observations under all transforms, stacked in front."""
    return torch.stack([OBSERVATION[name](observation) for name in TRANSFORMS])

{state}
def mirror_action(action):
    """The images of actions under all transforms, stacked in front."""
    return torch.stack([ACTION[name](action) for name in TRANSFORMS])


def return_action(images):
    """Actions in which each transform's images stand in front, taken back."""
    return torch.stack([ACTION_BACK[name](image) for name, image in zip(TRANSFORMS, images, strict=True)])


class GroupMirrorLoss(MirrorSymmetryLoss):
    """The mirror loss over all transforms at once, for actors without memory.

    The loss compares the action with the one for the image, taken back: it needs the inverse of a rotation's
    action map, where the other hooks need the map itself.
    """

    def init(self):
        super().init()
        self.mirror_action = return_action
        self.criterion = _mean_square


def _mean_square(action, returned):
    return (action - returned).square().mean()
'''

_STATE = '''
def mirror_state(state):
    """The images of the critic's state under all transforms, stacked in front."""
    return torch.stack([STATE[name](state) for name in TRANSFORMS])

'''

_MAP = '''

class _Sum:
    """What a MirrorDef cannot say: terms to be added up, each with what it is read from and multiplied by."""

    def __init__(self, terms):
        self.terms = [(torch.tensor(indices), torch.tensor(multipliers)) for indices, multipliers in terms]

    def __call__(self, input):
        self.terms = [(i.to(input.device), m.to(input.device, input.dtype)) for i, m in self.terms]
        images = [input[..., indices] * multipliers for indices, multipliers in self.terms]
        return sum(images[1:], images[0])

'''
