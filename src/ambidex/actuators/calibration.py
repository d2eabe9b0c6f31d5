"""`calibrate`: one scale and one offset per actuator, from what a policy does in symmetric states.

The paper fits every pair of actuators on its own by least squares, which shrinks each slope (both sides are
noisy) and leaves pairs, inverses and cycles in disagreement. Here one model explains all of them: the command
is ``a_i = o_i + s_i c_i`` and the canonical commands ``c`` obey the ideal symmetry (see `canonical`). Every
action map follows, ``g_j(a)_i = o_i + s_i S (a_k - o_k) / s_k``, and the maps compose as the symmetries do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ambidex.actuators.canonical import ElementRelations, Noise, OrbitProblem, relation_sums
from ambidex.actuators.scales import ALONE, Scales, jackknife, smallest_offsets
from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.symmetry import SymmetryGroup

LEAST_AGREEMENT = 0.25  # below it a policy follows its symmetry too little to tell about the actuators
LEAST_STATES = 16
FAINT = 1e-3  # an actuator that moves less than this share of the liveliest one counts as still
LEAST_GAP = 3.0  # the two smallest eigenvalues must lie this many standard errors apart
MOST_SATURATED = 0.45  # an actuator with more of its means beyond one end of the action box is left out
REWEIGHTINGS = 4  # Huber's weights depend on the solution, which depends on the weights
LEAST_BLOCKS = 8
ROUNDING = 1e-12  # of the largest command: residuals below it are none


@dataclass(frozen=True)
class Calibration(Scales):
    """What each actuator needs, relative to its counterparts, as far as the policy tells.

    :param residual: for each transform (n,): root mean square of ``a' - g(a)``, in units of action
    :param agreement: for each transform (n,): 1 where the policy follows the calibrated symmetry exactly, 0
        where the two commands are unrelated, -1 where they are opposite
    """

    residual: dict[str, FloatArray]
    agreement: dict[str, FloatArray]


def calibrate(
    group: SymmetryGroup,
    means: npt.ArrayLike,
    symmetric_means: Mapping[str, npt.ArrayLike],
    *,
    offsets: bool = True,
    noise: Noise = "any",
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    huber: float | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Estimate the scale and offset of every actuator.

    In general the scales are the smallest generalised eigenvector of the relations' disobedience against the
    actuators' variances. Both sides of a relation are treated alike, so noise that is in proportion to an
    actuator's signal does not bias it.

    :param group: the ideal symmetries
    :param means: (T, n) the policy's means at visited states, in the order in which they were visited
    :param symmetric_means: for each transform (T, n): the policy's means at the symmetric states
    :param offsets: whether actuators may have offsets; without them the maps are ``y = m x``
    :param noise: ``"any"`` compares covariances only, to which independent noise adds nothing, where the
        transforms relate enough actuators for that (a lone pair is not enough); ``"proportional"`` takes the
        eigenvector everywhere
    :param bounds: lower and upper end of the action box: how far a mean lies beyond it says nothing about the
        actuator and does not count
    :param huber: residuals beyond this many robust standard deviations count less (1.345 is customary); None
        counts all alike
    :param confidence: of the intervals, which take the correlation of consecutive states into account
    """
    relations = ElementRelations.of(group)
    direct, mirrored = _checked(group, means, symmetric_means)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence}")
    if noise not in ("any", "proportional"):
        raise ValueError(f"noise is 'any' or 'proportional', got {noise!r}")
    if huber is not None and not huber > 0:
        raise ValueError(f"huber is a positive number of standard deviations or None, got {huber}")
    spread = np.minimum(direct.std(axis=0), mirrored.std(axis=1).min(axis=0))
    moves = spread > FAINT * spread.max()
    everything = np.concatenate([direct[None], mirrored])
    saturated, tails = np.zeros(relations.size, dtype=bool), np.zeros(relations.size)
    if bounds is not None:
        saturated, tails = _saturation(relations, everything, action_box(bounds, relations.size))
    informs = moves & ~saturated
    used = informs[relations.target] & informs[relations.source]

    inner = _without_tails(everything, tails)
    reference = inner[0].mean(axis=0) if offsets else np.zeros(relations.size)
    solve = partial(OrbitProblem.solve, offsets=offsets, noise=noise)
    y, x = _sides(relations, inner - reference)
    weights = np.ones_like(y) if huber is None else _huber_weights(relations, y, x, used, huber, solve)
    # Blocks of consecutive states, long enough to be nearly independent of each other.
    blocks = LEAST_BLOCKS if tails.any() else max(LEAST_BLOCKS, round(np.sqrt(len(direct)) / 2))
    starts = np.arange(blocks) * len(direct) // blocks
    sums = relation_sums(y, x, weights, starts)
    problems = np.concatenate([sums.sum(axis=0)[None], sums.sum(axis=0) - sums])  # all blocks; all but one
    if tails.any():  # where the tails begin is an estimate, too
        for number, block in enumerate(np.split(np.arange(len(direct)), starts[1:])):
            rest = _without_tails(np.delete(everything, block, axis=1), tails) - reference
            left = np.delete(weights, block, axis=0)
            problems[1 + number] = relation_sums(*_sides(relations, rest), left, starts[:1])[0]

    log_scale, offset = np.zeros((2, blocks + 1, relations.size))
    identifiable, offset_identifiable, offset_shared = np.zeros((3, relations.size), dtype=bool)
    orbit = np.arange(relations.size)
    reasons = [""] * relations.size
    for members in relations.orbits(used):
        orbit[members] = members[0]
        problem = OrbitProblem(relations, members, used)
        reason = _no_data(problem, moves, saturated)
        if not reason:
            p, q, eigenvalues = solve(problem, problems)
            reason = _no_answer(problem, p, eigenvalues, offsets)
        for member in members:
            reasons[member] = reason
        if reason:
            continue
        identifiable[members] = len(members) > 1
        offset_identifiable[members] = offsets
        log_p = np.log(p)
        log_scale[:, members] = log_p.mean(axis=1, keepdims=True) - log_p
        if offsets:
            shifted = reference[members] - q / p
            offset[:, members], offset_shared[members] = smallest_offsets(
                shifted, problem.shift_direction, np.exp(log_scale[:, members])
            )
        if len(members) == 1:
            reasons[members[0]] = f"{ALONE}, so only its offset is known"

    residual, agreement = _obedience(relations, mirrored, direct, np.exp(log_scale[0]), offset[0])
    return Calibration.estimated(
        log_scale,
        offset,
        identifiable,
        offset_identifiable,
        confidence,
        group=group,
        residual=dict(zip(relations.names, residual, strict=True)),
        agreement=dict(zip(relations.names, agreement, strict=True)),
        offset_shared=offset_shared,
        orbit=orbit,
        reasons=tuple(reasons),
    )


def _saturation(
    relations: ElementRelations, everything: FloatArray, box: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """Which actuators are left out, and what share of either tail of an actuator does not count.

    A mean beyond the box says only that the actuator wants at least its end. Clipping an actuator at its own
    box would narrow it alone and bias its scale; so all of an orbit are clipped at the same quantiles, which
    for a symmetric policy are the same canonical commands.

    :param everything: (1 + transforms, T, n), the means at the visited states and at their images
    """
    beyond = np.maximum((everything <= box[0]).mean(axis=1), (everything >= box[1]).mean(axis=1)).max(axis=0)
    saturated = beyond > MOST_SATURATED
    tails = np.zeros(relations.size)
    for members in relations.orbits(~(saturated[relations.target] | saturated[relations.source])):
        tails[members] = beyond[members].max() if not saturated[members[0]] else 0.0
    return saturated, tails


def _without_tails(everything: FloatArray, tails: FloatArray) -> FloatArray:
    """Means (1 + transforms, T, n), clipped where these shares (n,) of them lie beyond, at either end."""
    if not tails.any():
        return everything
    ordered = np.sort(everything, axis=1)
    last = everything.shape[1] - 1
    place = np.round(tails * last).astype(int)
    columns = np.arange(len(tails))
    low, high = ordered[:, place, columns], ordered[:, last - place, columns]
    return np.clip(everything, low[:, None], high[:, None])


def _sides(relations: ElementRelations, everything: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What each relation has on its two sides, (T, relations) each: its target's means and its source's."""
    direct, mirrored = everything[0], everything[1:]
    return mirrored.transpose(1, 0, 2).reshape(len(direct), -1), direct[:, relations.source]


def _huber_weights(
    relations: ElementRelations,
    y: FloatArray,
    x: FloatArray,
    used: BoolArray,
    threshold: float,
    solve: Callable[[OrbitProblem, FloatArray], tuple[FloatArray, FloatArray, FloatArray]],
) -> FloatArray:
    """(T, relations): 1 for residuals up to the threshold, falling as its share of the residual beyond.

    All relations of an orbit weigh a state alike, by the largest of its residuals: sums that weigh the states
    differently cannot be compared.
    """
    problems = [OrbitProblem(relations, members, used) for members in relations.orbits(used)]
    weights = np.ones_like(y)
    for _ in range(REWEIGHTINGS):
        sums = relation_sums(y, x, weights, np.zeros(1, dtype=np.int64))[0]
        for problem in problems:
            if not problem.inside.size:
                continue
            p, q = np.ones(relations.size), np.zeros(relations.size)
            p[problem.members], q[problem.members], _ = solve(problem, sums)
            inside = problem.inside
            i, k = relations.target[inside], relations.source[inside]
            canonical = p[i] * y[:, inside] + q[i]
            residual = np.abs(canonical - relations.multiplier[inside] * (p[k] * x[:, inside] + q[k]))
            spread = np.maximum(1.4826 * np.median(residual, axis=0), ROUNDING * np.abs(canonical).max())
            largest = (residual / spread).max(axis=1, keepdims=True)
            weights[:, inside] = threshold / np.maximum(largest, threshold)
    return weights


def _no_data(problem: OrbitProblem, moves: BoolArray, saturated: BoolArray) -> str:
    """Why an orbit has no usable relation, or an empty text."""
    if problem.inside.size:
        return ""
    (member,) = problem.members
    if not moves[member]:
        return "its mean never changes"
    if saturated[member]:
        return "its mean lies beyond the action box in most states"
    related = (problem.relations.target == member) & (problem.relations.source != member)
    if not related.any():
        return ALONE
    return "its counterparts never change or lie beyond the action box in most states"


def _no_answer(problem: OrbitProblem, p: FloatArray, eigenvalues: FloatArray, offsets: bool) -> str:
    """Why the solution of an orbit means nothing, or an empty text."""
    agreement = 1.0 - eigenvalues[0, 0]
    if agreement < LEAST_AGREEMENT:
        return (
            f"the policy does not follow this symmetry (agreement {max(agreement, 0.0):.2f}), "
            "so it tells nothing about the actuator"
        )
    if len(problem.members) == 1:
        return "" if offsets and problem.shift_direction is None else ALONE
    gap = eigenvalues[:, 1] - eigenvalues[:, 0]
    if (p <= 0).any() or gap[0] < LEAST_GAP * jackknife(gap[1:]):
        return "the policy relates it to some of its counterparts only, or with the wrong sign"
    return ""


def _obedience(
    relations: ElementRelations,
    mirrored: FloatArray,
    direct: FloatArray,
    scale: FloatArray,
    offset: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Residual and agreement, (transforms, n) each, of means (transforms, T, n) and (T, n)."""
    source = relations.source.reshape(len(mirrored), 1, -1)
    multipliers = (relations.multiplier * scale[relations.target] / scale[relations.source]).reshape(
        source.shape
    )
    expected = offset + multipliers * (direct - offset)[:, source[:, 0]].transpose(1, 0, 2)
    squared = ((mirrored - expected) ** 2).mean(axis=1)
    variances = mirrored.var(axis=1) + expected.var(axis=1)
    agreement = 1.0 - np.divide(squared, variances, out=np.ones_like(squared), where=variances > 0)
    return np.sqrt(squared), agreement


def _checked(
    group: SymmetryGroup, means: npt.ArrayLike, symmetric_means: Mapping[str, npt.ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """(T, n) and (transforms, T, n) of finite numbers."""
    direct = np.asarray(means, dtype=np.float64)
    if direct.ndim != 2 or direct.shape[1] != group.action_size or len(direct) < LEAST_STATES:
        raise ValueError(
            f"means: expected an array of at least {LEAST_STATES} states times {group.action_size} actions, "
            f"got shape {direct.shape}"
        )
    mirrored = []
    for name in group.names:
        if name not in symmetric_means:
            raise ValueError(f"symmetric_means: transform {name!r} is missing; give the means at its states")
        mirrored.append(np.asarray(symmetric_means[name], dtype=np.float64))
        if mirrored[-1].shape != direct.shape:
            raise ValueError(
                f"symmetric_means[{name!r}]: expected the shape of the means, {direct.shape}, "
                f"got {mirrored[-1].shape}"
            )
    for name, array in zip(
        ("means", *map("symmetric_means[{!r}]".format, group.names)), (direct, *mirrored), strict=True
    ):
        if not np.isfinite(array).all():
            state, element = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(f"{name}: state {state}, action {element} is {array[state, element]}")
    return direct, np.stack(mirrored)


def action_box(bounds: tuple[npt.ArrayLike, npt.ArrayLike], size: int) -> FloatArray:
    """The lower and the upper end of each action: (2, n)."""
    low, high = (np.asarray(end, dtype=np.float64) for end in bounds)
    for end in (low, high):
        if end.shape not in ((), (size,)):
            raise ValueError(f"bounds: each end is one number or {size} of them, got shape {end.shape}")
    if not (low < high).all():
        raise ValueError(f"bounds: every lower end lies below its upper end, got {low} and {high}")
    return np.stack([np.broadcast_to(end, (size,)) for end in (low, high)])
