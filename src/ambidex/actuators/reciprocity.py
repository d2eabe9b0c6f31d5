"""Whether joints answer less because their motors are weak, or because their limbs are heavier.

A torque on joint j changes the speed of joint i by N_ij, and one on joint i that of j by N_ji = N_ij: how a
mechanism gives way is symmetric, whatever its masses, its posture and its contacts. Behind motors of gains p
the answers to commands are ``A_ij = N_ij p_j``, so that

    A_ij p_i = A_ji p_j.

A weak motor upsets this balance, a heavy limb does not. Two explanations of joints that answer less are
compared by it: gains as each joint's answer to its own command says, and equal gains before unlike limbs.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.scales import CHANCE, jackknife
from ambidex.actuators.transitions import Transitions, described
from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.common.regression import solve_scaled
from ambidex.symmetry import IndexMap, SymmetryGroup

BLOCKS = 8
REWEIGHTED = 3  # times, until outliers no longer decide what an outlier is
ALIKE = 0.05  # logarithms of scales: what differs by less needs no explanation
LEAST = 1e-6  # of the joints' own answers, squared: joints that do not move each other tell nothing


class CrossAnswers:
    """How every joint of a robot answers every command, and what that says about its motors.

    :param group: the symmetries, described by names
    """

    def __init__(self, group: SymmetryGroup) -> None:
        layout = described(group)
        actuators = layout.actuators
        self._count = len(actuators)
        self._speeds = np.array([one.velocity_index for one in actuators])
        relations = ElementRelations.of(group)
        orbits = relations.orbits(np.ones(len(relations.target), dtype=bool))
        self._orbits = [members for members in orbits if _same_units(group, members, self._speeds)]
        self._kin = _kin(orbits, [layout.body.joints[one.joint].limb for one in actuators])
        states = group.observation_size
        assert isinstance(states, int)
        self.row_size = 1 + states + 3 * self._count

    def moments(self, transitions: Transitions, before: FloatArray | None = None) -> FloatArray:
        """Sums of products of states, commands and changes of speed: (blocks, rows, rows).

        An impact throws all joints far from what is to be expected, so such a step counts less, as a whole:
        both sides of the balance then rest on the same steps.

        :param before: moments of earlier transitions, from which outliers are told; otherwise from themselves
        """
        changes = (transitions.next_observations - transitions.observations)[:, self._speeds]
        # Beside what was to be expected of a command, its effect is that of the experiment in it.
        constant = np.ones((len(transitions), 1))
        parts = [constant, transitions.observations, transitions.means, transitions.actions, changes]
        rows = np.concatenate(parts, axis=1)
        sums = rows.T @ rows if before is None else before.sum(axis=0)
        for _ in range(REWEIGHTED if before is None else 1):
            weighted = rows * np.sqrt(self._weights(rows, sums))[:, None]
            sums = weighted.T @ weighted
        ends = np.linspace(0, len(rows), BLOCKS + 1).astype(int)
        blocks = [weighted[start:end] for start, end in pairwise(ends)]
        return np.stack([block.T @ block for block in blocks])

    def _weights(self, rows: FloatArray, sums: FloatArray) -> FloatArray:
        """How much each transition counts: (T,)."""
        errors = rows[:, -self._count :] - rows[:, : -self._count] @ self._coefficients(sums)
        usual = np.median(np.abs(errors), axis=0)
        distance = np.linalg.norm(errors / np.where(usual > 0, usual, 1.0), axis=1)
        half = max(float(np.median(distance)), np.finfo(float).tiny)  # of all transitions, which count fully
        return np.asarray(np.square(half / np.maximum(distance, half)))

    def _coefficients(self, sums: FloatArray) -> FloatArray:
        """Of states, expected commands and commands, by which the changes of speed are expected."""
        own = self._count
        return solve_scaled(sums[..., :-own, :-own], sums[..., :-own, -own:])

    def answers(self, sums: FloatArray) -> FloatArray:
        """A: by how much a command, the last index, changes the speed of a joint: (..., n, n).

        :param sums: (..., rows, rows)
        """
        return np.asarray(np.swapaxes(self._coefficients(sums)[..., -self._count :, :], -1, -2))

    def loaded(self, sums: FloatArray, log_scale: FloatArray, before: BoolArray) -> BoolArray:
        """(n,) whose limbs, or their counterparts', carry a load, so that no motor needs be weak.

        :param sums: (blocks, rows, rows)
        :param log_scale: (1 + blocks, n) of motors that alone were to blame: with all data, and without one
            block each
        :param before: (n,) what holds where the data cannot tell
        """
        answers = self.answers(np.concatenate([sums.sum(axis=0)[None], sums.sum(axis=0) - sums]))
        evidence = np.zeros(log_scale.shape)  # of a load
        for members in self._orbits:
            if answers[0, members, members].any():
                evidence[:, members] = _imbalance(answers, log_scale, members)[:, None] / len(members)
        is_loaded = before.copy()
        for label in np.unique(self._kin):
            own = self._kin == label
            differ = np.abs(log_scale[0, own]) > np.maximum(CHANCE * jackknife(log_scale[1:, own]), ALIKE)
            of_all = evidence[:, own].sum(axis=1)
            if differ.any() and abs(of_all[0]) > CHANCE * jackknife(of_all[1:]) + LEAST:
                is_loaded[own] = of_all[0] > 0
        return is_loaded


def _imbalance(answers: FloatArray, log_scale: FloatArray, members: IntArray) -> FloatArray:
    """How much better the balance holds with equal gains than with these, added over all pairs: (problems,).

    :param answers: (problems, n, n)
    :param log_scale: (problems, n) the gains are its inverse
    """
    first, second = (members[index] for index in np.triu_indices(len(members), 1))
    size = np.abs(answers[0, members, members]).mean()
    there, back = answers[:, first, second] / size, answers[:, second, first] / size
    # The noise of both answers counts alike, whatever the gains: the distance from a line through 0.
    ratio = np.exp(log_scale[:, second] - log_scale[:, first])  # p_i / p_j
    unequal = np.square(there * ratio - back) / (1 + ratio**2)
    equal = np.square(there - back) / 2
    difference: FloatArray = (unequal - equal).sum(axis=1)
    return difference


def _kin(orbits: list[IntArray], limbs: list[str | None]) -> IntArray:
    """(n,) equal numbers for the actuators of one limb and of its counterparts."""
    together = [*orbits, *(np.flatnonzero([one == limb for one in limbs]) for limb in set(limbs) - {None})]
    label = np.arange(len(limbs))
    while True:
        joined = label.copy()
        for members in together:
            joined[members] = joined[members].min()
        if (joined == label).all():
            return label
        label = joined


def _same_units(group: SymmetryGroup, members: IntArray, speeds: IntArray) -> bool:
    """Whether commands and speeds of these actuators are carried into each other without a factor."""
    for symmetry in group:
        commands, states = symmetry.action_map, symmetry.observation_map
        if not isinstance(commands, IndexMap) or not isinstance(states, IndexMap):
            return False
        factors = np.concatenate([commands.multipliers[members], states.multipliers[speeds[members]]])
        if not (np.abs(factors) == 1).all():
            return False
    return True
