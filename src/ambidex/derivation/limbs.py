"""The limbs of a model: chains of links that do not branch, with names for them and for their joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ambidex.derivation.match.products import Image
from ambidex.derivation.naming import body_name, distinct, joint_name, shared, words
from ambidex.derivation.skeleton import BALL, FREE, Skeleton

KINDS = {
    "leg": "hip thigh calf knee ankle shin shank tarsus foot toe haa hfe kfe hx hy kn leg lleg rleg",
    "arm": "shoulder elbow wrist forearm arm larm rarm hand",
    "head": "head neck",
    "torso": "torso waist spine chest abdomen trunk",
}
SAYS_NOTHING = ("joint", "link")


@dataclass(frozen=True)
class Limb:
    """A chain of links.

    :param name: its name
    :param links: its bodies, from the robot outwards
    :param joints: the names of its joints within the limb, by the joints' ids
    """

    name: str
    links: tuple[int, ...]
    joints: dict[int, str]

    def full_name(self, joint: int) -> str:
        return f"{self.name}.{self.joints[joint]}"


def find_limbs(skeleton: Skeleton, group: Sequence[Image]) -> list[Limb]:
    """The limbs in the order of the model; partners have joints of the same names.

    :param skeleton: the model, with what is ignored in it
    :param group: all elements of its symmetry
    """
    chains = [chain for chain in _chains(skeleton) if _joints(skeleton, chain)]
    names = distinct([_limb_name(skeleton, chain) for chain in chains])
    said: dict[int, set[str]] = {}
    for chain, name in zip(chains, names, strict=True):
        said |= dict.fromkeys(_joints(skeleton, chain), _lower(name))
    shorts = {joint: _joint_name(skeleton, joint, group, said) for joint in said}
    limbs = []
    for chain, name in zip(chains, names, strict=True):
        joints = _joints(skeleton, chain)
        own = distinct([shorts[joint] for joint in joints])
        limbs.append(Limb(name, tuple(chain), dict(zip(joints, own, strict=True))))
    return limbs


def _chains(skeleton: Skeleton) -> Iterator[list[int]]:
    for link in skeleton.links:
        if not _continues(skeleton, link):
            chain = [link]
            while len(skeleton.children[chain[-1]]) == 1 and _continues(
                skeleton, skeleton.children[chain[-1]][0]
            ):
                chain.append(skeleton.children[chain[-1]][0])
            yield chain


def _continues(skeleton: Skeleton, link: int) -> bool:
    """Whether the link is the only one that hangs on its parent, and neither is free or a ball's."""
    parent = skeleton.parent(link)
    alone = parent != 0 and len(skeleton.children[parent]) == 1
    kinds = {*skeleton.kinds(link), *(skeleton.kinds(parent) if parent else ())}
    return alone and not kinds & {FREE, BALL}


def _joints(skeleton: Skeleton, chain: Sequence[int]) -> list[int]:
    joints = (joint for link in chain for joint in skeleton.joints(link))
    return [joint for joint in joints if skeleton.model.jnt_type[joint] != FREE]


def _limb_name(skeleton: Skeleton, chain: Sequence[int]) -> str:
    """``FL_leg`` from ``FL_hip_joint`` and ``FL_calf_joint``; of a single link its own name."""
    model = skeleton.model
    if len(chain) == 1:
        return body_name(model, chain[0])
    joints = [joint_name(model, joint) for joint in _joints(skeleton, chain)]
    common = [word for word in words(shared(joints)) if word.lower() not in SAYS_NOTHING]
    kind = _kind([*joints, *(body_name(model, link) for link in chain)])
    told = kind is not None and any(
        kind in word.lower() or word.lower() in KINDS[kind].split() for word in common
    )
    before, after = ([w for w in common if w.isdigit() == digits] for digits in (False, True))
    middle = [] if kind is None or told else [kind]
    return "_".join([*before, *middle, *after]) or body_name(model, chain[0])


def _kind(names: Sequence[str]) -> str | None:
    """What most of the names' words speak of, if any do."""
    spoken = [word.lower() for name in names for word in words(name)]
    votes = {kind: sum(word in known.split() for word in spoken) for kind, known in KINDS.items()}
    best = max(votes, key=lambda kind: votes[kind])
    return best if votes[best] else None


def _joint_name(skeleton: Skeleton, joint: int, group: Sequence[Image], said: dict[int, set[str]]) -> str:
    """The words that all partners' names share, without those that their limbs' names say already."""
    orbit = sorted({image.joints[joint][0] for image in group})
    common = words(shared([joint_name(skeleton.model, partner) for partner in orbit]))
    telling = [word for word in common if word.lower() not in SAYS_NOTHING] or common
    limbs = set.intersection(*(said[partner] for partner in orbit))
    rest = [word for word in telling if word.lower() not in limbs] or telling
    if all(word.isdigit() for word in rest):
        rest = ["joint", *rest]
    return "_".join(rest)


def _lower(name: str) -> set[str]:
    return {word.lower() for word in words(name)}
