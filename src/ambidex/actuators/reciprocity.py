"""Whether joints answer less because their motors are weak, or because their limbs are heavier.

A torque on joint j changes the speed of joint i by N_ij, and one on joint i that of j by N_ji = N_ij: how a
mechanism gives way is symmetric, whatever its masses, its posture and its contacts. Behind motors of gains p
the answers to commands are ``A_ij = N_ij p_j``, so that

    A_ij p_i = A_ji p_j.

A weak motor upsets this balance, a heavy limb does not. Two explanations of joints that answer less are
compared by it: gains as each joint's answer to its own command says, and equal gains before unlike limbs.
"""

from __future__ import annotations

import numpy as np

from ambidex.actuators.canonical import ElementRelations
from ambidex.actuators.response import BLOCKS
from ambidex.actuators.scales import CHANCE, NOTEWORTHY, jackknife
from ambidex.actuators.transitions import Transitions, consecutive, described
from ambidex.common.arrays import BoolArray, FloatArray, IntArray
from ambidex.common.regression import solve_scaled
from ambidex.symmetry import SymmetryGroup

REWEIGHTED = 3  # times, until outliers no longer decide what an outlier is
SURE = 3.0  # standard errors, of eight blocks: one comparison in fifty, since a fit looks again and again
LEAST_ANSWER = 1e-3  # of a joint's answer to its own command: less is the regression's doing, not noise's
LEAST = 9.0  # of a difference of chi-squares: less says nothing, however little it varies


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
        limbs = [layout.body.joints[one.joint].limb or f"joint {one.joint}" for one in actuators]
        self._limbs = [np.flatnonzero([one == limb for one in limbs]) for limb in dict.fromkeys(limbs)]
        self._kin = _joined(self._count, [*orbits, *self._limbs])
        states = group.observation_size
        assert isinstance(states, int)
        self.row_size = 1 + states + 3 * self._count

    def moments(self, transitions: Transitions, earlier: FloatArray | None = None) -> FloatArray:
        """Sums of products of states, commands and changes of speed: (blocks, rows, rows).

        An impact throws all joints far from what is to be expected, so such a step counts less, as a whole:
        both sides of the balance then rest on the same steps.

        :param earlier: moments of other transitions, from which outliers are told; otherwise from themselves
        """
        changes = (transitions.next_observations - transitions.observations)[:, self._speeds]
        # Beside what was to be expected of a command, its effect is that of the experiment in it.
        constant = np.ones((len(transitions), 1))
        parts = [constant, transitions.observations, transitions.means, transitions.actions, changes]
        rows = np.concatenate(parts, axis=1)
        sums = rows.T @ rows if earlier is None else earlier.sum(axis=0)
        for _ in range(REWEIGHTED if earlier is None else 1):
            weighted = rows * np.sqrt(self._weights(rows, sums))[:, None]
            sums = weighted.T @ weighted
        blocks = [weighted[part] for part in consecutive(len(rows), BLOCKS)]
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
        noteworthy = self._noteworthy(log_scale)
        if not noteworthy.any():
            return before
        whole = sums.sum(axis=0)
        answers = self.answers(np.concatenate([whole[None], whole - sums]))
        # A joint whose speed falls by its own command is seen the other way round.
        answers *= np.sign(np.diagonal(answers[0]))
        directly = np.abs(np.diagonal(answers[0]))
        noise = self._variances(whole) + np.square(LEAST_ANSWER * directly) + np.finfo(float).tiny
        evidence = np.zeros(log_scale.shape)
        for members in self._orbits:
            evidence[:, members[0]] = _evidence_of_load(answers, noise, log_scale, members)
        is_loaded = before.copy()
        for label in np.unique(self._kin):
            own = self._kin == label
            of_all = evidence[:, own].sum(axis=1)
            is_sure = abs(of_all[0]) > max(SURE * jackknife(of_all[1:]), LEAST)
            if is_sure and noteworthy[own].any():
                is_loaded[own] = of_all[0] > 0
        return is_loaded

    def _variances(self, sums: FloatArray) -> FloatArray:
        """Of the noise in `answers`: (n, n)."""
        own = self._count
        squares, products, outcomes = sums[:-own, :-own], sums[:-own, -own:], sums[-own:, -own:]
        left = np.diagonal(outcomes - products.T @ self._coefficients(sums)) / sums[0, 0]
        of_commands = np.diagonal(solve_scaled(squares, np.eye(len(squares))))[-own:]
        return np.asarray(np.maximum(left, 0.0)[:, None] * of_commands)

    def heavier(self, log_scale: FloatArray) -> BoolArray:
        """(n,) of the actuators of loaded limbs, those whose own limb it is.

        :param log_scale: see `loaded`
        """
        answers_less = self._noteworthy(log_scale) & (log_scale[0] > 0)
        is_heavier = np.zeros(self._count, dtype=bool)
        for members in self._limbs:
            is_heavier[members] = answers_less[members].any()
        return is_heavier

    @staticmethod
    def _noteworthy(log_scale: FloatArray) -> BoolArray:
        error = jackknife(log_scale[1:])
        return np.asarray(np.abs(log_scale[0]) > np.maximum(CHANCE * error, NOTEWORTHY))


def _evidence_of_load(
    answers: FloatArray, noise: FloatArray, log_scale: FloatArray, members: IntArray
) -> FloatArray:
    """How much better the balance holds with equal gains than with these, over all pairs: (problems,).

    It is a difference of chi-squares, so that noisy answers count little and noise by itself has no side.

    :param answers: (problems, n, n)
    :param noise: (n, n) their variances
    :param log_scale: (problems, n) the gains are its inverse
    """
    i, j = (members[index] for index in np.triu_indices(len(members), 1))
    ratio = np.exp(log_scale[:, j] - log_scale[:, i])  # p_i / p_j
    there, back = answers[:, i, j], answers[:, j, i]
    unequal = np.square(there * ratio - back) / (ratio**2 * noise[i, j] + noise[j, i])
    equal = np.square(there - back) / (noise[i, j] + noise[j, i])
    difference: FloatArray = (unequal - equal).sum(axis=1)
    return difference


def _joined(count: int, together: list[IntArray]) -> IntArray:
    """(count,) equal numbers for what stands in one of these sets, or is joined by several."""
    label = np.arange(count)
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
        for table, own in ((symmetry.action_map, members), (symmetry.observation_map, speeds[members])):
            carried = np.abs(table.matrix[own])  # type: ignore[union-attr]
            if not (np.isin(carried, (0, 1)).all() and (carried[:, own].sum(axis=1) == 1).all()):
                return False
    return True
