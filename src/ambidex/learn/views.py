"""Each actuator's transitions as its orbit's reference would have had them, and what is said about them.

A symmetry carries an actuator to a counterpart, and the whole transition (s, a, s') with it. In that *view*
all actuators of an orbit sit in the same place of the same robot: the same state and command should have the
same outcome, and where they do not, the actuators differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ambidex.learn.canonical import Relations
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.layout import Actuator, Layout
from ambidex.symmetry.maps import FloatArray, IntArray

AT_LIMIT = 0.025  # of a joint's range, at either end


@dataclass(frozen=True, eq=False)
class Transitions:
    """Steps of a robot in the order in which they were made, a row each.

    :param observations: s
    :param actions: a, as the robot got it: clipped to the action box
    :param next_observations: s'
    :param means: what the action was to be expected from the state, such as the policy's mean: beyond it, the
        action is an experiment
    """

    observations: FloatArray
    actions: FloatArray
    next_observations: FloatArray
    means: FloatArray

    def __len__(self) -> int:
        return len(self.observations)

    def blocks(self, count: int) -> list[Transitions]:
        """So many parts of consecutive transitions."""
        ends = np.linspace(0, len(self), count + 1).astype(int)
        return [
            Transitions(
                self.observations[start:end],
                self.actions[start:end],
                self.next_observations[start:end],
                self.means[start:end],
            )
            for start, end in pairwise(ends)
        ]


@dataclass(frozen=True)
class View:
    """How to see an actuator's transitions in the place of the reference.

    :param member: the actuator
    :param sign: S, the reference's command that does what 1 does for the actuator, were they alike
    :param matrix: of the observations, (o, o)
    """

    member: int
    sign: float
    matrix: FloatArray


@dataclass(frozen=True)
class OrbitViews:
    """All views of the actuators of one orbit.

    :param members: the actuators, the first one is the reference
    :param views: one or more of each actuator
    :param speed: the observation that is the speed of the reference's joint
    :param positions: those that are positions of the joints of its limb, its own included
    :param speeds: those that are their speeds
    :param contact: the one that is the contact of its limb, if any
    :param limits: of the positions, (positions, 2), infinite where they are not described
    """

    members: IntArray
    views: tuple[View, ...]
    speed: int
    positions: tuple[int, ...]
    speeds: tuple[int, ...]
    contact: int | None
    limits: FloatArray

    @property
    def feature_count(self) -> int:
        return (1 + 4 * len(self.positions) + len(self.speeds)) * (1 if self.contact is None else 2)

    @property
    def degrees(self) -> IntArray:
        """Of each term of the response in the command."""
        return np.concatenate([np.ones(self.feature_count, dtype=np.int64), [2, 3]])

    @property
    def row_size(self) -> int:
        """How many numbers `rows` has per transition."""
        others = len(self.views[0].matrix) - len(self.seen)
        return self.feature_count + others + 2 * len(self.degrees) + 1

    @property
    def seen(self) -> set[int]:
        """The observations that the features of the response already hold."""
        contact = set() if self.contact is None else {self.contact}
        return {*self.positions, *self.speeds} | contact

    def rows(self, transitions: Transitions, view: View) -> FloatArray:
        """What the regression is about, a row per transition: controls, terms of the response, outcome.

        The controls are what the outcome depends on beside the experiment: first the features of the
        response, then all other observations, then the response to the mean command.
        """
        states = transitions.observations @ view.matrix.T
        outcome = transitions.next_observations @ view.matrix[self.speed] - states[:, self.speed]
        features = self.features(states)
        others = [index for index in range(states.shape[1]) if index not in self.seen]
        responses = [
            part
            for commands in (transitions.means, transitions.actions)
            for part in _response(features, view.sign * commands[:, view.member, None])
        ]
        return np.concatenate([features, states[:, others], *responses, outcome[:, None]], axis=1)

    def features(self, states: FloatArray) -> FloatArray:
        """What the response of a joint to its torque depends on: its limb's posture, speed and contact."""
        position, speed = states[:, list(self.positions)], states[:, list(self.speeds)]
        margin = AT_LIMIT * (self.limits[:, 1] - self.limits[:, 0])
        parts = [
            np.ones((len(states), 1)),
            position,
            speed,
            position**2,
            (position < self.limits[:, 0] + margin).astype(np.float64),
            (position > self.limits[:, 1] - margin).astype(np.float64),
        ]
        free = np.concatenate(parts, axis=1)
        if self.contact is None:
            return free
        return np.concatenate([free, free * states[:, self.contact, None]], axis=1)


def _response(features: FloatArray, command: FloatArray) -> tuple[FloatArray, ...]:
    """The terms of a joint's answer to a command: linear in every feature, then its square and cube."""
    return features * command, command**2, command**3


def orbit_views(group: SymmetryGroup) -> list[OrbitViews]:
    """The views of every orbit of actuators; refuses a description that does not say enough."""
    layout = _described(group)
    relations = Relations.of(group)
    everything = np.ones(len(relations.target), dtype=bool)
    actuators = layout.actuators
    found = []
    for members in relations.orbits(everything):
        own = actuators[members[0]]
        limb = layout.body.joints[own.joint].limb
        joints = {
            one.joint: one
            for one in actuators
            if one is own or (limb is not None and layout.body.joints[one.joint].limb == limb)
        }
        placed = [one for one in joints.values() if one.position_index is not None]
        assert own.velocity_index is not None
        found.append(
            OrbitViews(
                members=members,
                views=tuple(_views(group, int(members[0]), members)),
                speed=own.velocity_index,
                positions=tuple(one.position_index for one in placed if one.position_index is not None),
                speeds=tuple(one.velocity_index for one in joints.values() if one.velocity_index is not None),
                contact=own.contact_index,
                limits=np.array([one.limits or (-np.inf, np.inf) for one in placed]).reshape(-1, 2),
            )
        )
    return found


def _views(group: SymmetryGroup, reference: int, members: IntArray) -> list[View]:
    """The identity and all transforms that carry a member to the reference; products of them if need be."""
    size = group.observation_size
    assert isinstance(size, int)
    views = [View(reference, 1.0, np.eye(size))]
    direct = []
    for symmetry in group:
        table = symmetry.action_map
        source, sign = int(table.indices[reference]), float(table.multipliers[reference])  # type: ignore[attr-defined]
        direct.append(View(source, sign, symmetry.observation_map.matrix))  # type: ignore[union-attr]
    views += direct
    newest = direct
    while {view.member for view in views} < set(members.tolist()):
        reached = {view.member for view in views}
        newest = [
            View(
                int(symmetry.action_map.indices[view.member]),  # type: ignore[attr-defined]
                view.sign * float(symmetry.action_map.multipliers[view.member]),  # type: ignore[attr-defined]
                view.matrix @ symmetry.observation_map.matrix,  # type: ignore[union-attr]
            )
            for view in newest
            for symmetry in group
            if int(symmetry.action_map.indices[view.member]) not in reached  # type: ignore[attr-defined]
        ]
        views += newest
    return views


def _described(group: SymmetryGroup) -> Layout:
    """The group's layout, if it names the speed of the joint that each action drives."""
    if group.layout is None:
        raise ValueError(
            "actuators are identified by the speeds of their joints, and this group does not say which "
            "observations those are; describe the robot by names (see 'Describe your robot')"
        )
    if isinstance(group.observation_size, dict):
        raise ValueError("actuators cannot be identified from Dict observations; join them into one vector")
    by_name = {one.name: one for one in group.layout.actuators}
    for index, name in enumerate(group.layout.action_names):
        actuator: Actuator | None = by_name.get(name)
        if actuator is None:
            raise ValueError(
                f"action {index} ({name!r}) drives no joint of the description, so its effect is not known; "
                "write it as the torque of a joint"
            )
        if actuator.velocity_index is None:
            raise ValueError(
                f"action {index} ({name!r}) drives joint {actuator.joint!r}, whose speed is not among the "
                "observations; actuators are identified by what they do to the speed of their joint"
            )
    return group.layout
