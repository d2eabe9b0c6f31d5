"""The paper's fit: each pair of actuators on its own, a line through what the policy does with both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ambidex.actuators.action_map import ActionMap
from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.forms import LINE, PROPORTIONAL, Form, fit_within_cycles
from ambidex.learn.fits.lines import cycle_error, dataset, fit_lines, fit_singles, target_spreads
from ambidex.learn.fits.protocol import FitState, Metric, Weight, check_weights, check_window
from ambidex.learn.fits.relations import Relations
from ambidex.symmetry import SymmetryGroup

LineFit = Callable[[FloatArray, FloatArray], tuple[float, float]]


def cycle_penalty(error: float) -> float:
    """H_U: at most 0.05, falling with the cycle error."""
    return 0.05 * 0.01 / (0.01 + error**4)


def spread_penalty(spread: float) -> float:
    """H_G: 1 for targets that stand still, falling with their relative spread."""
    return float(1.1**-spread)


@dataclass(frozen=True)
class PairwiseFit:
    """The paper's symmetry fitting (sec:sym_learning).

    :param form: ``"mx"`` or ``"mx+b"``, fitted by least squares in closed form; or a function that takes the
        inputs x and outputs y of a pair and returns the m and b of its own line, such as a robust one; or a
        `Form` that is not a line, such as ``ambidex.learn.fits.forms.DEAD_BAND``
    :param update_weight: H_U, from a cycle error to the weight of an update; its value at 0 is the weight
        of what no cycle judges
    :param function_weight: H_G, from the spread of the last targets to how far a relation is trusted
    :param window: k_I, how many targets that spread looks at, the newest included
    :param least_multiplier: an update that would bring an m below this is skipped and counted
    :param constrain_cycles: fit all pairs at once such that every cycle is an identity (eq:minimize_F_cycle),
        which the paper describes and advises against: it takes a second or so per iteration, and varies more
    """

    form: Literal["mx", "mx+b"] | LineFit | Form = "mx+b"
    update_weight: Weight = cycle_penalty
    function_weight: Weight = spread_penalty
    window: int = 5
    least_multiplier: float = 0.05
    constrain_cycles: bool = False

    def __post_init__(self) -> None:
        if not (callable(self.form) or isinstance(self.form, Form) or self.form in ("mx", "mx+b")):
            raise ValueError(
                f"PairwiseFit: form is 'mx', 'mx+b' or a function of x and y, or a Form; got {self.form!r}"
            )
        if self.constrain_cycles and callable(self.form):
            raise ValueError(
                "PairwiseFit: constrain_cycles needs form 'mx', 'mx+b' or a Form, not a function"
            )
        check_weights(self)
        check_window(self)
        if not self.least_multiplier > 0:
            raise ValueError(f"PairwiseFit: least_multiplier is above 0; got {self.least_multiplier!r}")

    def start(self, group: SymmetryGroup) -> FitState:
        if isinstance(self.form, Form):
            from ambidex.learn.fits.bent import FormState

            return FormState(self, group)
        return PairwiseState(self, group)


class PairwiseState:
    """The estimators under way: one (m, b) per pair q -> u, inverted for u -> q, and one b per single.

    An element reads its pair directly, ``m x + b``, or reflected, ``-m x + b`` (tab:dataset).
    """

    def __init__(self, spec: PairwiseFit, group: SymmetryGroup) -> None:
        self.spec = spec
        self.relations = Relations.of(group)
        self.names = group.names
        pairs, singles = len(self.relations.pairs), len(self.relations.singles)
        self.multipliers = _given_multipliers(self.relations)  # nu_m
        self.biases = np.zeros(pairs)  # nu_b
        self.single_biases = np.zeros(singles)
        self.skipped = np.zeros(pairs, dtype=np.int64)
        self.targets = np.zeros((0, 2 * pairs + singles))  # the last k_I zeta: m, b, b of singles
        self.update_weights = np.full(pairs, spec.update_weight(0.0))

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        symmetric = np.stack([symmetric_means[name] for name in self.names], dtype=np.float64)
        means = np.asarray(means, dtype=np.float64)
        slopes, intercepts, single_targets = self._fit(means, symmetric)
        newest = np.concatenate([slopes, intercepts, single_targets])
        self.targets = np.concatenate([self.targets, newest[None]])[-self.spec.window :]
        self.update_weights = self._cycle_weights(slopes, intercepts)

        with np.errstate(invalid="ignore", over="ignore"):
            # eq:pair_update
            multipliers = self.multipliers + self.update_weights * (slopes - self.multipliers)
            biases = self.biases + self.update_weights * (intercepts - self.biases)
        sound = np.isfinite(multipliers) & np.isfinite(biases) & (multipliers >= self.spec.least_multiplier)
        self.multipliers = np.where(sound, multipliers, self.multipliers)
        self.biases = np.where(sound, biases, self.biases)
        self.skipped += ~sound
        step = self.spec.update_weight(0.0) * (single_targets - self.single_biases)
        self.single_biases = self.single_biases + np.where(np.isfinite(step), step, 0.0)

    def _fit(self, means: FloatArray, symmetric: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """zeta: m and b of each pair, b of each single.

        :param means: (T, n)
        :param symmetric: (N, T, n)
        """
        form, relations = self.spec.form, self.relations
        assert not isinstance(form, Form)
        if self.spec.constrain_cycles:
            line = PROPORTIONAL if form == "mx" else LINE
            parameters = fit_within_cycles(relations, line, means, symmetric)
            if form == "mx":
                return parameters[:, 0], np.zeros(len(parameters)), np.zeros(len(relations.singles))
            return parameters[:, 0], parameters[:, 1], fit_singles(relations, means, symmetric)
        if form == "mx":
            slopes, intercepts = fit_lines(relations, means, symmetric, through_origin=True)
            return slopes, intercepts, np.zeros(len(relations.singles))
        if form == "mx+b":
            slopes, intercepts = fit_lines(relations, means, symmetric, through_origin=False)
        else:
            assert callable(form)
            lines = [
                np.asarray(form(*dataset(relations, pair, means, symmetric)), dtype=np.float64)
                for pair in range(len(relations.pairs))
            ]
            for pair, found in zip(relations.pairs, lines, strict=True):
                if found.shape != (2,):
                    raise ValueError(f"PairwiseFit: form gives m and b of a pair; of {pair} it gave {found}")
            slopes, intercepts = np.array(lines).reshape(-1, 2).T
        return slopes, intercepts, fit_singles(relations, means, symmetric)

    def _cycle_weights(self, slopes: FloatArray, intercepts: FloatArray) -> FloatArray:
        """w_U of each pair: the least weight of all cycles through it."""
        weights = np.full(len(slopes), self.spec.update_weight(0.0))
        for steps in self.relations.cycle_steps():
            error = cycle_error([(slopes[pair], intercepts[pair], forward) for pair, forward in steps])
            weight = self.spec.update_weight(error) if np.isfinite(error) else 0.0
            for pair, _ in steps:
                weights[pair] = min(weights[pair], weight)  # eq:cycle_error
        return weights

    def relation_weights(self) -> tuple[FloatArray, FloatArray]:
        """w_G of each pair and each single."""
        pairs, singles = len(self.relations.pairs), len(self.relations.singles)
        if not len(self.targets):
            return np.ones(pairs), np.ones(singles)
        spreads = target_spreads(self.targets)
        of_pairs, of_singles = spreads[:pairs] + spreads[pairs : 2 * pairs], spreads[2 * pairs :]
        weigh = self.spec.function_weight
        return (
            np.array([weigh(float(spread)) for spread in of_pairs]),
            np.array([weigh(float(spread)) for spread in of_singles]),
        )

    def action_maps(self) -> dict[str, ActionMap]:
        """g-hat of every transform from the independent estimators (tab:global_vs_local)."""
        relations = self.relations
        pair_weights, single_weights = self.relation_weights()
        in_pair, in_single = relations.pair >= 0, relations.single >= 0
        signs = np.sign(relations.multipliers)
        slopes = _spread_out(self.multipliers, relations.pair, default=1.0)
        intercepts = _spread_out(self.biases, relations.pair, default=0.0)
        forward = relations.forward
        multipliers = np.where(in_pair, signs * np.where(forward, slopes, 1 / slopes), relations.multipliers)
        # y = +-m x + b; inverted x = +-(y - b) / m
        biases = np.where(forward, intercepts, -signs * intercepts / slopes)
        biases = np.where(in_single, _spread_out(self.single_biases, relations.single, default=0.0), biases)
        weights = np.where(
            in_single,
            _spread_out(single_weights, relations.single, default=1.0),
            _spread_out(pair_weights, relations.pair, default=1.0),
        )
        return {
            name: ActionMap(relations.indices[j], multipliers[j], biases[j] + 0.0, weights[j])
            for j, name in enumerate(self.names)
        }

    def metrics(self) -> list[Metric]:
        relations = self.relations
        labels = [f"{q}->{u}" for q, u in relations.pairs]
        single_labels = [f"{i}->{i}" for i in relations.singles]
        pair_weights, single_weights = self.relation_weights()
        rows: list[tuple[str, list[str], npt.NDArray[Any]]] = []
        if len(self.targets):
            slopes, intercepts, singles = np.split(self.targets[-1], [len(labels), 2 * len(labels)])
            rows += [("target_m", labels, slopes)]
            if self.spec.form != "mx":
                rows += [("target_b", labels, intercepts), ("target_b", single_labels, singles)]
        rows += [
            ("function_weight", labels, pair_weights),
            ("function_weight", single_labels, single_weights),
            ("cycle_decay", labels, self.update_weights / (self.spec.update_weight(0.0) or 1.0)),
            ("skipped_updates", labels, self.skipped),
        ]
        metrics: list[Metric] = [
            (metric, "", label, float(value))
            for metric, names, values in rows
            for label, value in zip(names, values, strict=True)
        ]
        for transform, estimator in self.action_maps().items():
            for metric, values in (("map_m", estimator.multipliers), ("map_b", estimator.biases)):
                metrics += [(metric, transform, str(i), float(value)) for i, value in enumerate(values)]
        return metrics

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name).copy() for name in _STATE}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in _STATE:
            if name not in state:
                raise ValueError(f"the state of a PairwiseFit has {name!r}, but {sorted(state)} were given")
            expected = getattr(self, name).shape
            found = np.shape(state[name])
            if found[-1:] != expected[-1:] or len(found) != len(expected):
                raise ValueError(
                    f"the fit's state {name!r} has the shape {found}, this group needs {expected}"
                )
        for name in _STATE:
            setattr(self, name, np.array(state[name]))


_STATE = ("multipliers", "biases", "single_biases", "skipped", "targets", "update_weights")


def _given_multipliers(relations: Relations) -> FloatArray:
    """m of each pair as the tables give it; where transforms differ, their geometric mean."""
    logarithms = np.log(np.abs(relations.multipliers)) * np.where(relations.forward, 1, -1)
    used = relations.pair >= 0
    sums = np.bincount(relations.pair[used], logarithms[used], minlength=len(relations.pairs))
    counts = np.bincount(relations.pair[used], minlength=len(relations.pairs))
    return np.exp(sums / np.maximum(counts, 1))


def _spread_out(values: FloatArray, numbers: npt.NDArray[np.int64], default: float) -> FloatArray:
    """Each relation's value where it is used; ``default`` where the number is -1."""
    return np.append(values, default)[numbers]
