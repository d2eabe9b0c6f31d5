"""Each actuator's transitions as its orbit's reference would have had them, and what is said about them.

A symmetry carries an actuator to a counterpart, and the whole transition (s, a, s') with it. In that *view*
all actuators of an orbit sit in the same place of the same robot: the same state and command should have the
same outcome, and where they do not, the actuators differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.relabelling import Relabelling, columns_that_become
from ambidex.actuators.torque_terms import TorqueTerms
from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.layout.layout import Actuator, Layout

AT_LIMIT = 0.025  # of a joint's range, at either end
PROBES = 64  # transitions of random numbers, enough to tell the columns of their rows apart


@dataclass(frozen=True, eq=False)
class Transitions:
    """Steps of a robot in the order in which they were made, a row each.

    :param observations: s
    :param actions: a, as the robot got it: clipped to the action box
    :param next_observations: s'
    :param means: what the action was to be expected from the state, the clipping included: beyond it, the
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
        return [
            Transitions(
                self.observations[part],
                self.actions[part],
                self.next_observations[part],
                self.means[part],
            )
            for part in consecutive(len(self), count)
        ]


def consecutive(length: int, count: int) -> list[slice]:
    """So many parts of this length."""
    ends = np.linspace(0, length, count + 1).astype(int)
    return [slice(start, end) for start, end in pairwise(ends)]


@dataclass(frozen=True)
class View:
    """How to see an actuator's transitions in the place of the reference.

    :param member: the actuator
    :param sign: S, the reference's command that does what 1 does for the actuator, were they alike
    :param observations: (o, o), carries observations there
    :param actions: (n, n), carries actions there
    """

    member: int
    sign: float
    observations: FloatArray
    actions: FloatArray

    @classmethod
    def of(cls, reference: int, observations: FloatArray, actions: FloatArray) -> View:
        """The view through these maps, whose actions are signed permutations."""
        member = int(np.flatnonzero(actions[reference])[0])
        return cls(member, float(actions[reference, member]), observations, actions)

    def is_near(self, other: View) -> bool:
        return np.allclose(self.observations, other.observations) and np.allclose(self.actions, other.actions)

    def then(self, other: View, reference: int) -> View:
        """The view through another one, and then through this."""
        return View.of(reference, self.observations @ other.observations, self.actions @ other.actions)

    def is_same(self, other: View) -> bool:
        return np.array_equal(self.observations, other.observations) and np.array_equal(
            self.actions, other.actions
        )


@dataclass(frozen=True)
class OrbitViews:
    """All views of the actuators of one orbit.

    :param members: the actuators, the first one is the reference
    :param views: one or more of each actuator
    :param speed: the observation that is the speed of the reference's joint
    :param positions: those that are positions of the joints of its limb, its own included
    :param speeds: those that are their speeds
    :param contact: the one that is the contact of its limb, if any
    :param stops: (positions, 2), below and above which a joint is at its limit, infinite if not described
    :param relabellings: what makes of every view another view of the same actuator by swaps and changed
        signs alone; if there are any, only the `distinct` views and the `columns` that matter are added up
    """

    members: IntArray
    views: tuple[View, ...]
    speed: int
    positions: tuple[int, ...]
    speeds: tuple[int, ...]
    contact: int | None
    stops: FloatArray
    relabellings: tuple[Relabelling, ...] = ()

    @cached_property
    def feature_count(self) -> int:
        moving = len(self.positions) + len(self.speeds)
        free = 1 + moving + moving * (moving + 1) // 2 + 2 * len(self.positions)
        return free * (1 if self.contact is None else 2)

    @cached_property
    def every_term(self) -> TorqueTerms:
        """Of the response in the command."""
        return TorqueTerms(self.feature_count)

    @cached_property
    def every_column(self) -> int:
        """How many numbers a transition has, those included that do not matter."""
        others = len(self.unseen) + len(self.views[0].actions) - 1
        return self.feature_count + others + 2 * len(self.every_term) + 1

    @cached_property
    def columns(self) -> IntArray:
        """Those of `every_column` that have something to say about the outcome."""
        idle = np.zeros(self.every_column, dtype=bool)
        for one in self.relabellings:
            idle |= one.idle
        return np.flatnonzero(~idle)

    @cached_property
    def terms(self) -> TorqueTerms:
        """Those of `every_term` that have something to say about the outcome."""
        start = self.every_column - len(self.every_term) - 1
        kept = np.isin(np.arange(start, self.every_column - 1), self.columns)
        return TorqueTerms(self.feature_count, tuple(np.flatnonzero(kept).tolist()))

    @cached_property
    def row_size(self) -> int:
        """How many numbers `rows` has per transition."""
        return len(self.columns)

    @cached_property
    def unseen(self) -> IntArray:
        """The observations that the features of the response do not hold yet."""
        contact = set() if self.contact is None else {self.contact}
        seen = {*self.positions, *self.speeds} | contact
        return np.array([one for one in range(len(self.views[0].observations)) if one not in seen], dtype=int)

    @cached_property
    def distinct(self) -> IntArray:
        """The numbers of views from which the relabellings make all others."""
        kept: list[int] = []
        for number in range(len(self.views)):
            if not any(number in one.views[kept] for one in self.relabellings):
                kept.append(number)
        return np.array(kept)

    def of_members(self, sums: FloatArray) -> FloatArray:
        """Sums of products over all views of each member: (..., m, rows, rows).

        :param sums: those of the distinct views, (..., distinct, rows, rows)
        """
        owner = np.array([self.views[number].member for number in self.distinct])
        once = np.stack([sums[..., owner == member, :, :].sum(axis=-3) for member in self.members], axis=-3)
        every = once
        for one in self.relabellings:
            every = every + one.only(self.columns)(once)
        return every

    def rows(self, states: FloatArray, transitions: Transitions, view: View) -> FloatArray:
        """What the regression is about, a row per transition: controls, terms of the response, outcome.

        The controls are what the outcome depends on beside the experiment: first the features of the
        response, then all other observations and commands, then the response that was to be expected.

        :param states: the observations of the transitions, seen in the view
        """
        features = self.features(states)
        others = [states[:, self.unseen], np.delete(transitions.actions @ view.actions.T, self.members[0], 1)]
        commands, means = (
            view.sign * given[:, view.member] for given in (transitions.actions, transitions.means)
        )
        deviation = float(np.linalg.norm(commands - means)) / np.sqrt(max(len(commands), 1))
        outcome = transitions.next_observations @ view.observations[self.speed] - states[:, self.speed]
        controls = np.concatenate([features.T, *(one.T for one in others)])
        parts = [
            controls[self.columns[self.columns < len(controls)]],
            self.terms.expected(features, means, deviation).T,
            self.terms.of(features, commands).T,
            outcome[None],
        ]
        return np.concatenate(parts).T

    def features(self, states: FloatArray) -> FloatArray:
        """What the response of a joint to its torque depends on: its limb's posture, speed and contact.

        Posture and speed come with their squares and products, and with whether a joint is at its limit.
        """
        position = states.T[list(self.positions)]
        moving = np.concatenate([position, states.T[list(self.speeds)]])
        first, second = np.triu_indices(len(moving))
        parts = [
            np.ones((1, len(states))),
            moving,
            moving[first] * moving[second],
            (position < self.stops[:, :1]).astype(np.float64),
            (position > self.stops[:, 1:]).astype(np.float64),
        ]
        free = np.concatenate(parts)
        if self.contact is None:
            return free.T
        return np.concatenate([free, free * states[:, self.contact]]).T

    def touching(self, states: FloatArray) -> BoolArray:
        """In which of these states, seen in a view, the limb touches the ground, as far as is observed."""
        if self.contact is None:
            return np.zeros(len(states), dtype=bool)
        touching: BoolArray = states[:, self.contact] > 0.5
        return touching


def orbit_views(group: SymmetryGroup, *, mirrored: bool = True) -> list[OrbitViews]:
    """The views of every orbit of actuators; refuses a description that does not say enough.

    :param mirrored: whether to make use of views that are mirror images of each other (see `relabelling`);
        what they leave out is needed for offsets
    """
    layout = described(group)
    relations = ElementRelations.of(group)
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
        orbit = OrbitViews(
            members=members,
            views=tuple(views_of(group, members)),
            speed=own.velocity_index,
            positions=tuple(one.position_index for one in placed if one.position_index is not None),
            speeds=tuple(one.velocity_index for one in joints.values() if one.velocity_index is not None),
            contact=own.contact_index,
            stops=np.array([_stops(one) for one in placed]).reshape(-1, 2),
        )
        found.append(replace(orbit, relabellings=_relabellings(orbit)) if mirrored else orbit)
    return found


def _relabellings(orbit: OrbitViews) -> tuple[Relabelling, ...]:
    """The symmetries that keep the reference in its place, if all of them relabel all views."""
    random = np.random.default_rng(0)
    sizes = [len(matrix) for matrix in (orbit.views[0].observations, orbit.views[0].actions)]
    # Many orders of magnitude, so that every joint is now within its limits and now beyond them.
    probes = Transitions(
        *(
            random.standard_normal((PROBES, size)) * 10 ** random.uniform(-2, 2, (PROBES, size))
            for size in (*sizes, *sizes)
        )
    )
    reference = orbit.views[0].member
    first, *others = (
        (view, orbit.rows(probes.observations @ view.observations.T, probes, view))
        for view in orbit.views
        if view.member == reference
    )
    found = []
    for keeping, rows in others:
        reached = [keeping.then(view, reference) for view in orbit.views]
        becomes = [number for one in reached for number, view in enumerate(orbit.views) if view.is_near(one)]
        columns = columns_that_become(first[1], rows)
        if columns is None or sorted(becomes) != list(range(len(orbit.views))):
            return ()
        found.append(Relabelling(*columns, np.array(becomes)))
    return tuple(found)


def _stops(actuator: Actuator) -> tuple[float, float]:
    if actuator.limits is None:
        return -np.inf, np.inf
    low, high = actuator.limits
    margin = AT_LIMIT * (high - low)
    return low + margin, high - margin


def views_of(group: SymmetryGroup, members: IntArray) -> list[View]:
    """The identity, all transforms, and products of them until every member is carried to the reference."""
    size = group.observation_size
    assert isinstance(size, int)
    reference = int(members[0])
    steps = [
        (symmetry.observation_map.matrix, symmetry.action_map.matrix)  # type: ignore[union-attr]
        for symmetry in group
    ]
    newest = [View.of(reference, np.eye(size), np.eye(group.action_size))]
    views = list(newest)
    while newest and (len(views) == 1 or {view.member for view in views} < set(members.tolist())):
        reached = {view.member for view in views} if len(views) > 1 else set()
        following: list[View] = []
        for view in newest:
            for of_observations, of_actions in steps:
                product = View.of(reference, view.observations @ of_observations, view.actions @ of_actions)
                if product.member not in reached and not any(product.is_same(one) for one in following):
                    following.append(product)
        newest = [one for one in following if not any(one.is_same(view) for view in views)]
        views += newest
    return views


def described(group: SymmetryGroup) -> Layout:
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
