"""Each limb's transitions as its counterpart would have had them, all of its joints together.

A joint answers the torques of its whole limb: who pulls a thigh moves the calf. So limbs are compared as
wholes. As in `transitions`, a symmetry carries a limb to a counterpart and the whole transition with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.driven.impulses import impulses, missing_for_impulses
from ambidex.actuators.transitions import Transitions, View, described, views_of
from ambidex.common.arrays import FloatArray, IntArray
from ambidex.common.regression import expected_from
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.layout.layout import Layout


@dataclass(frozen=True)
class LimbViews:
    """All views of the limbs that are carried to one of them, the reference.

    :param layout: of the robot
    :param joints: the reference's actuators, n of them
    :param views: one or more of each limb
    :param members: (views, n) which actuators are seen in the place of the reference's
    :param positions: the observations that are the positions of its joints, as far as there are such
    :param speeds: those that are their speeds
    :param contact: the one that is its contact, if any
    """

    layout: Layout
    joints: IntArray
    views: tuple[View, ...]
    members: IntArray
    positions: tuple[int, ...]
    speeds: tuple[int, ...]
    contact: int | None

    @property
    def feature_count(self) -> int:
        """How many numbers the response of a joint depends on: posture and contact."""
        return 1 + len(self.positions) + (0 if self.contact is None else 3)

    @property
    def terms(self) -> int:
        """How many there are of the instruments, and of the impulses that they stand for."""
        return len(self.joints) * self.feature_count

    @property
    def control_count(self) -> int:
        view = self.views[0]
        moving = len(self.positions) + len(self.speeds)
        free = 1 + moving + len(self.positions) * (len(self.positions) + 1) // 2
        held = free if self.contact is None else 3 * free + 2
        return held + len(view.observations) + len(view.actions) - len(self.joints)

    @property
    def row_size(self) -> int:
        """How many numbers `rows` has per transition."""
        return self.control_count + 2 * self.terms + len(self.joints)

    def landing(self, transitions: Transitions) -> list[FloatArray]:
        """For each view, how surely the limb will be in contact after the step, as its state tells: (T,).

        A limb that lands within a step gives way less, and some limbs land more often than others. What
        happened in the step may not tell, since it depends on the command.
        """
        if self.contact is None:
            return [np.zeros(len(transitions))] * len(self.views)
        states = np.stack([transitions.observations @ view.observations.T for view in self.views], axis=1)
        touching = np.stack(
            [transitions.next_observations @ view.observations[self.contact] for view in self.views], axis=1
        )
        known = expected_from(states.reshape(-1, states.shape[-1]), touching.reshape(-1, 1))
        return list(known.reshape(touching.shape).clip(0, 1).T)

    def rows(
        self, transitions: Transitions, view: View, landing: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """What the regression is about, and how freely the limb hangs in the air in each transition.

        A row has the controls, the instruments, the impulses and the changes of the joints' speeds. The
        instruments are the part of the commands that does not follow from the state. Each has its impulse, by
        the same features of the state; but where the impulse goes by whether the limb has landed, which the
        command may have brought about, the instrument goes by how surely it was going to.
        """
        states = transitions.observations @ view.observations.T
        following = transitions.next_observations @ view.observations.T
        novelty = (transitions.actions - transitions.means) @ view.actions.T
        given = impulses(self.layout, transitions) @ view.actions.T
        position, speed = states[:, list(self.positions)], states[:, list(self.speeds)]
        posture = np.concatenate([np.ones((len(states), 1)), position], axis=1)
        first, second = np.triu_indices(position.shape[1])
        free = np.concatenate([posture, speed, position[:, first] * position[:, second]], axis=1)
        air = np.ones(len(states))
        before, after, held = [posture], [posture], [free]
        if self.contact is not None:
            touching, soon = states[:, self.contact, None], landing[:, None]
            landed = following[:, self.contact, None]
            before += [touching, soon, touching * soon]
            after += [touching, landed, touching * landed]
            held += [free * touching, free * soon, soon**2, touching * soon]
            air = ((1 - touching) * (1 - soon) ** 2)[:, 0].clip(0, 1)
        of_instruments, of_impulses = (np.concatenate(features, axis=1) for features in (before, after))
        parts = [
            *held,
            states,
            np.delete(novelty, self.joints, axis=1),
            *(of_instruments * novelty[:, joint, None] for joint in self.joints),
            *(of_impulses * given[:, joint, None] for joint in self.joints),
            following[:, list(self.speeds)] - speed,
        ]
        return np.concatenate(parts, axis=1), air


def limb_views(group: SymmetryGroup) -> list[LimbViews]:
    """The views of all limbs of a robot whose drive is described; refuses one that lacks something."""
    layout = described(group)
    if missing := missing_for_impulses(layout):
        raise ValueError(missing)
    relations = ElementRelations.of(group)
    everything = np.ones(len(relations.target), dtype=bool)
    orbits = {int(member): orbit for orbit in relations.orbits(everything) for member in orbit}
    actuators = layout.actuators
    found: list[LimbViews] = []
    covered: set[int] = set()
    for number, own in enumerate(actuators):
        if number in covered:
            continue
        limb = layout.body.joints[own.joint].limb
        joints = np.array(
            [
                other
                for other, one in enumerate(actuators)
                if other == number or (limb is not None and layout.body.joints[one.joint].limb == limb)
            ]
        )
        orbit = orbits[number]
        views = tuple(views_of(group, np.array([number, *(one for one in orbit if one != number)])))
        members = np.array([np.abs(view.actions[joints]).argmax(axis=1) for view in views])
        covered |= set(members.ravel().tolist())
        seen = [actuators[joint] for joint in joints]
        found.append(
            LimbViews(
                layout=layout,
                joints=joints,
                views=views,
                members=members,
                positions=tuple(one.position_index for one in seen if one.position_index is not None),
                speeds=tuple(one.velocity_index for one in seen if one.velocity_index is not None),
                contact=own.contact_index,
            )
        )
    return found
