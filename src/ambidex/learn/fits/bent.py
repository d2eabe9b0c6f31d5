"""The pairwise fit with a form that is not a line: its state, and action maps that bend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ambidex.actuators.action_map import ActionMap
from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.forms import PROBES, Form, around, fit_within_cycles
from ambidex.learn.fits.lines import dataset, target_spreads
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.fits.relations import Relations
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn.fits.pairwise import PairwiseFit


@dataclass(frozen=True, eq=False)
class FormMap(ActionMap):
    """An action map whose elements are a form: ``G(+-x)`` read from q to u, ``+-G^-1(x)`` from u to q.

    Its multipliers are the given signs and its biases 0: what `bend` takes.

    :param form: of all elements
    :param parameters: (parameters, n) z of each element
    :param forward: (n,) whether an element reads its pair from q to u
    """

    form: Form
    parameters: FloatArray
    forward: npt.NDArray[np.bool_]

    def __call__(self, action: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        bent: npt.NDArray[np.floating] = bend([self], super().__call__(action)[..., None, :])[..., 0, :]
        return bent


def bend(maps: Sequence[ActionMap | None], signed: Any) -> Any:
    """From the signed permutation of an action to what these maps make of it; lines stay as they are.

    :param maps: N of them; None where a transform has no fit
    :param signed: (..., N, n), an array or a tensor
    """
    bent = signed.copy() if isinstance(signed, np.ndarray) else signed.clone()

    def like(values: npt.NDArray[Any]) -> Any:
        return values if isinstance(signed, np.ndarray) else signed.new_tensor(values)

    for j, found in enumerate(maps):
        if not isinstance(found, FormMap):
            continue
        forward, backward = np.flatnonzero(found.forward), np.flatnonzero(~found.forward)
        signs = like(found.multipliers[backward])
        bent[..., j, forward] = found.form.function(
            signed[..., j, forward], [like(z[forward]) for z in found.parameters]
        )
        bent[..., j, backward] = signs * found.form.inverse(
            signs * signed[..., j, backward], [like(z[backward]) for z in found.parameters]
        )
    return bent


class FormState:
    """The paper's fit with a form of one's own: parameters per pair, moved by the moving average.

    Singles keep the given sign, since their functions must be their own inverse.
    """

    def __init__(self, spec: PairwiseFit, group: SymmetryGroup) -> None:
        assert isinstance(spec.form, Form)
        self.spec, self.form = spec, spec.form
        self.names = group.names
        self.relations = Relations.of(group)
        for symmetry in group:
            if not symmetry.action_map.is_signed_permutation:  # type: ignore[attr-defined]
                raise ValueError(
                    f"transform {symmetry.name!r}: a form starts from its own parameters, not from known "
                    "ratios; give multipliers of 1 and -1, or fit lines"
                )
        pairs = len(self.relations.pairs)
        self.parameters = np.tile(np.array(self.form.start), (pairs, 1))  # nu
        self.targets = np.zeros((0, pairs, len(self.form.start)))  # the last k_I zeta
        self.update_weights = np.full(pairs, spec.update_weight(0.0))
        self.skipped = np.zeros(pairs, dtype=np.int64)

    def update(self, means: FloatArray, symmetric_means: Mapping[str, FloatArray]) -> None:
        symmetric = np.stack([symmetric_means[name] for name in self.names], dtype=np.float64)
        means = np.asarray(means, dtype=np.float64)
        if self.spec.constrain_cycles:
            newest = fit_within_cycles(self.relations, self.form, means, symmetric)
        else:
            pairs = range(len(self.relations.pairs))
            newest = np.array([self.form.fit(*dataset(self.relations, p, means, symmetric)) for p in pairs])
        self.targets = np.concatenate([self.targets, newest[None]])[-self.spec.window :]
        self.update_weights = self._cycle_weights(newest)
        moved = self.parameters + self.update_weights[:, None] * (newest - self.parameters)  # eq:local_update
        sound = np.isfinite(moved).all(axis=1)
        self.parameters = np.where(sound[:, None], moved, self.parameters)
        self.skipped += ~sound

    def _cycle_weights(self, newest: FloatArray) -> FloatArray:
        weigh = self.spec.update_weight
        weights = np.full(len(newest), weigh(0.0))
        for steps in self.relations.cycle_steps():
            with np.errstate(all="ignore"):
                error = abs(float(around(self.form, newest, steps, np.float64(PROBES[0]))) - PROBES[0])
            weight = weigh(error) if np.isfinite(error) else 0.0
            for pair, _ in steps:
                weights[pair] = min(weights[pair], weight)  # eq:cycle_error
        return weights

    def pair_weights(self) -> FloatArray:
        """w_G of each pair."""
        if not len(self.targets):
            return np.ones(len(self.parameters))
        spreads = target_spreads(self.targets.reshape(len(self.targets), -1)).reshape(self.parameters.shape)
        return np.array([self.spec.function_weight(float(spread)) for spread in spreads.sum(axis=1)])

    def action_maps(self) -> dict[str, ActionMap]:
        relations = self.relations
        parameters = np.vstack([self.parameters, self.form.start])[relations.pair]  # (N, n, parameters)
        weights = np.append(self.pair_weights(), 1.0)[relations.pair]
        return {
            name: FormMap(
                relations.indices[j],
                np.sign(relations.multipliers[j]),
                np.zeros(relations.indices.shape[1]),
                weights[j],
                self.form,
                parameters[j].T,
                relations.forward[j] | (relations.pair[j] < 0),
            )
            for j, name in enumerate(self.names)
        }

    def metrics(self) -> list[Metric]:
        labels = [f"{q}->{u}" for q, u in self.relations.pairs]
        decay = self.update_weights / (self.spec.update_weight(0.0) or 1.0)
        rows = [
            ("function_weight", self.pair_weights()),
            ("cycle_decay", decay),
            ("skipped_updates", self.skipped.astype(np.float64)),
        ]
        rows += [(f"form_{number}", column) for number, column in enumerate(self.parameters.T)]
        if len(self.targets):
            rows += [(f"target_form_{number}", column) for number, column in enumerate(self.targets[-1].T)]
        return [
            (metric, "", label, float(value))
            for metric, values in rows
            for label, value in zip(labels, values, strict=True)
        ]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name).copy() for name in _STATE}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in _STATE:
            if name not in state or np.shape(state[name])[-1:] != getattr(self, name).shape[-1:]:
                raise ValueError(
                    f"the state does not fit the form {self.form.name!r}: {name!r} is missing or too long"
                )
        for name in _STATE:
            setattr(self, name, np.array(state[name]))


_STATE = ("parameters", "targets", "update_weights", "skipped")
