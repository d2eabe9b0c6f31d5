"""`Layout`: what each observation and action of a robot is, and what an isometry makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.words import check_keys
from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.layout.body import Body, Motion
from ambidex.symmetry.layout.drive import Drive, read_drive
from ambidex.symmetry.layout.fields import Block, Key, read_fields
from ambidex.symmetry.maps import DictMap, LinearMap, ObservationMap, as_simple_as_possible
from ambidex.symmetry.transform import Kind, Symmetry

SECTIONS = ("robot", "limbs", "joints", "observations", "actions", "drive")


@dataclass(frozen=True)
class Actuator:
    """What the description says about one action element that drives a joint.

    :param name: the action element's name
    :param joint: the joint that it drives
    :param position_index: the observation that is the joint's position, if any
    :param velocity_index: the observation that is the joint's velocity, if any
    :param contact_index: the observation that is the contact of the joint's limb, if any
    :param limits: the joint's lowest and highest position in the units of the observation, if declared
    :param observation_key: the key of a Dict observation in which these indices count, otherwise None
    """

    name: str
    joint: str
    position_index: int | None = None
    velocity_index: int | None = None
    contact_index: int | None = None
    limits: tuple[float, float] | None = None
    observation_key: str | None = None


class Layout:
    """What each observation and action of a robot is. Two layouts are equal when their descriptions are.

    :param description: the sections ``limbs``, ``joints``, ``observations``, ``actions``, ``drive`` (and
        ``robot``, its name) as a file has them; see "Describe your robot" in the documentation

    ``observation_blocks`` and ``action_blocks`` are what the elements are, block by block in their order; for
    Dict observations one list per key. ``choices`` are the names of discrete choices, decision by decision.
    ``drive`` is what the motors make of a command, if the description says so.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        check_keys("layout", description, SECTIONS)
        for section in ("observations", "actions"):
            if section not in description:
                raise ValueError(f"a layout needs the section {section}:")
        self.description = {key: description[key] for key in SECTIONS if description.get(key) is not None}
        self.robot = str(description.get("robot", ""))
        self.body = Body(description.get("limbs"), description.get("joints"))
        observations, actions = description["observations"], description["actions"]
        self.observation_blocks: list[Block] | dict[str, list[Block]]
        if isinstance(observations, Mapping):
            self.observation_blocks = {
                str(key): read_fields(f"observations {key!r}", fields, self.body)
                for key, fields in observations.items()
            }
        else:
            self.observation_blocks = read_fields("observations", observations, self.body)
        self.choices: tuple[tuple[str, ...], ...] = ()
        self.action_blocks: list[Block] = []
        if isinstance(actions, Mapping):
            self.choices = _read_choices(actions)
        else:
            self.action_blocks = read_fields("actions", actions, self.body)
        driven = [str(block.owner) for block in self.action_blocks for _ in range(block.size)]
        self.drive: Drive | None = read_drive(description.get("drive"), driven)

    @property
    def observation_names(self) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
        """A name for each observation; for Dict observations the names for each key."""
        if isinstance(self.observation_blocks, dict):
            return {key: _names(blocks) for key, blocks in self.observation_blocks.items()}
        return _names(self.observation_blocks)

    @property
    def blocks_by_side(self) -> dict[str, list[Block]]:
        """The blocks of ``observation`` (or each ``observation[key]``) and, if not discrete, ``action``."""
        observed = self.observation_blocks
        if isinstance(observed, dict):
            sides = {f"observation[{key}]": blocks for key, blocks in observed.items()}
        else:
            sides = {"observation": observed}
        return {**sides, "action": self.action_blocks} if self.action_blocks else sides

    @property
    def action_names(self) -> tuple[str, ...]:
        """A name for each action element; for discrete actions one for each choice."""
        if self.choices:
            return tuple(choice for factor in self.choices for choice in factor)
        joints = [block.owner for block in self.action_blocks if block.owner in self.body.joints]
        once = {joint for joint in joints if joints.count(joint) == 1}
        names: list[str] = []
        for block in self.action_blocks:
            names += [str(block.owner)] if block.owner in once else block.element_names
        return tuple(names)

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """For each action element that drives a joint, what the description says about that joint."""
        blocks = self.observation_blocks
        groups: Mapping[Any, list[Block]] = blocks if isinstance(blocks, dict) else {None: blocks}
        actuators = []
        elements = [block for block in self.action_blocks for _ in range(block.size)]
        for name, block in zip(self.action_names, elements, strict=not self.choices):
            joint = self.body.joints.get(block.owner or "")
            if joint is None:
                continue
            position = ("position", joint.name, 0)
            holding = (key for key, group in groups.items() if position in _starts(group))
            key = next(holding, next(iter(groups)))
            starts = _starts(groups[key])
            quantities = {block.key: block.quantity for block in groups[key]}
            actuators.append(
                Actuator(
                    name,
                    joint.name,
                    starts.get(position),
                    starts.get(("velocity", joint.name, 0)),
                    None if joint.limb is None else starts.get(("contact", joint.limb, 0)),
                    joint.limits or getattr(quantities.get(position), "limits", None),
                    key,
                )
            )
        return tuple(actuators)

    def symmetry(
        self,
        name: str,
        isometry: FloatArray | None = None,
        *,
        moves: Mapping[str, str] | None = None,
        phase: str | None = None,
        kind: Kind | None = None,
    ) -> Symmetry:
        """The transform of observations and actions that an isometry of the body makes.

        :param name: the transform's name
        :param isometry: the 3 x 3 matrix that moves the body
        :param moves: where named limbs, joints and choices go, if that does not follow from the isometry
        :param phase: what becomes of a gait's clock: ``"same"`` or ``"half"`` (half a period later)
        :param kind: ``"reflection"`` or ``"rotation"``, where there is no isometry to tell
        """
        if phase not in (None, "same", "half"):
            raise ValueError(f"transform {name!r}: phase is same or half, got {phase!r}")
        choices = tuple(choice for factor in self.choices for choice in factor)
        motion = self.body.motion(name, isometry, moves, choices, phase)
        observation: ObservationMap
        if isinstance(self.observation_blocks, dict):
            parts = {key: _compile(blocks, motion) for key, blocks in self.observation_blocks.items()}
            observation = DictMap(parts)
        else:
            observation = _compile(self.observation_blocks, motion)
        if self.choices:
            indices = [0] * len(choices)
            for source, choice in enumerate(choices):
                indices[choices.index(motion.choices[choice])] = source
            action: LinearMap = ChoiceMap(
                indices, [len(factor) for factor in self.choices], transform=name, side="action"
            )
        else:
            action = _compile(self.action_blocks, motion)
        return Symmetry.from_maps(name, observation, action, kind, isometry)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.action_names)

    def __repr__(self) -> str:
        return f"<Layout {self.robot!r}: {len(self.body.joints)} joints, {len(self.action_names)} actions>"


def _compile(blocks: list[Block], motion: Motion) -> LinearMap:
    starts = _starts(blocks)
    by_key = {block.key: block for block in blocks}
    size = sum(block.size for block in blocks)
    matrix = np.zeros((size, size))
    for block in blocks:
        image = block.image(motion)
        partner = by_key.get(image)
        if partner is None:
            raise ValueError(
                f"transform {motion.transform!r} carries {block.element_names[0]!r} to {image[0]!r} of "
                f"{image[1]!r}, which the layout does not have; add it, or leave both out"
            )
        if partner.quantity != block.quantity:
            raise ValueError(
                f"transform {motion.transform!r} carries {block.element_names[0]!r} to "
                f"{partner.element_names[0]!r}, which is written in another way; write both alike"
            )
        rows = slice(starts[image], starts[image] + block.size)
        columns = slice(starts[block.key], starts[block.key] + block.size)
        matrix[rows, columns] = block.quantity.matrix(motion, block.name, block.owner)
    return as_simple_as_possible(matrix)


def _starts(blocks: list[Block]) -> dict[Key, int]:
    starts, at = {}, 0
    for block in blocks:
        starts[block.key] = at
        at += block.size
    return starts


def _names(blocks: list[Block]) -> tuple[str, ...]:
    return tuple(name for block in blocks for name in block.element_names)


def _read_choices(actions: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    given = check_keys("actions", actions, ("choices",)).get("choices")
    if isinstance(given, list):
        factors = [tuple(map(str, given))]
    elif isinstance(given, Mapping) and all(isinstance(names, list) for names in given.values()):
        factors = [tuple(f"{factor}.{choice}" for choice in names) for factor, names in given.items()]
    else:
        raise ValueError(
            "actions: choices is a list of names, or for several choices at once {name: [names], ...}, "
            f"got {given!r}"
        )
    if not factors or not all(factors) or len({c for f in factors for c in f}) < sum(map(len, factors)):
        raise ValueError("actions: each choice has a name of its own")
    return tuple(factors)
