"""The three symmetry losses as values: which method, with which hyperparameters, for which transform."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from ambidex.common.words import suggestion
from ambidex.learn.fits.calibrated import CalibratedFit
from ambidex.learn.fits.protocol import Fit
from ambidex.symmetry import Symmetry, SymmetryGroup

Number = float | Mapping[str, float]
"""One number for every transform, or a mapping from each transform's name to its number."""

OptionalNumber = float | None | Mapping[str, float | None]


@dataclass(frozen=True)
class MSL:
    """Mirror Symmetry Loss: the squared difference of the symmetric means (eq:MSL_Lpi).

    The difference is averaged over the action elements, as the published weights assume; the paper's text
    writes its sum.

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param original: ``mu(s) - g(mu(f(s)))`` of Yu et al., right only where g is its own inverse; otherwise
        ``g(mu(s)) - mu(f(s))``, right for rotations too
    """

    policy_weight: Number = 10.0
    value_weight: Number = 0.5
    original: bool = False

    def __post_init__(self) -> None:
        _check(self, "policy_weight", "value_weight", at_least=0.0)


@dataclass(frozen=True)
class PSL:
    """Proximal Symmetry Loss: a ratio toward the symmetric action within PPO's trust region (eq:sym_ratio).

    :param policy_weight: w_pi
    :param value_weight: w_V
    """

    policy_weight: Number = 0.008
    value_weight: Number = 0.5

    def __post_init__(self) -> None:
        _check(self, "policy_weight", "value_weight", at_least=0.0)


@dataclass(frozen=True)
class ASL:
    """Adaptive Symmetry Learning: a restricted, gated step toward a fitted symmetric action (eq:ASL_impl).

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param max_shift: k_s, how far a symmetric mean may move per iteration, in units of PPO's largest step
    :param dead_zone: k_d, states nearer than this to their own image are left alone; 0 for rotations
    :param value_gate: k_v, at least 1, an image worth this factor more is left alone; None switches it off
    :param history: k_t, how many of the last batches measure the spread of each observation
    :param fit: how the action maps are fitted; `PairwiseFit` is the paper's, None keeps the given maps
    """

    policy_weight: Number = 0.05
    value_weight: Number = 0.5
    max_shift: Number = 0.3
    dead_zone: Number = 0.1
    value_gate: OptionalNumber = 1.5
    history: int = 10
    fit: Fit | None = field(default_factory=CalibratedFit)

    def __post_init__(self) -> None:
        _check(self, "policy_weight", "value_weight", "max_shift", "dead_zone", at_least=0.0)
        _check(self, "value_gate", at_least=1.0, optional=True)
        if isinstance(self.history, bool) or not isinstance(self.history, int) or self.history < 1:
            raise ValueError(f"ASL: history is a number of batches, at least 1; got {self.history!r}")
        if isinstance(self.fit, type):
            raise ValueError(f"ASL: fit is the class {self.fit.__name__}; write {self.fit.__name__}()")
        if self.fit is not None and not isinstance(self.fit, Fit):
            raise ValueError(f"ASL: fit is a CalibratedFit or another fit, or None; got {self.fit!r}")


SymmetryLoss = MSL | PSL | ASL
LossChoice = SymmetryLoss | None | Mapping[str, SymmetryLoss | None]


def _check(loss: SymmetryLoss, *names: str, at_least: float, optional: bool = False) -> None:
    for name in names:
        value = getattr(loss, name)
        entries = value.items() if isinstance(value, Mapping) else [(None, value)]
        for transform, number in entries:
            if number is None and optional:
                continue
            place = f"{type(loss).__name__}: {name}" + (f" of transform {transform!r}" if transform else "")
            if isinstance(number, bool) or not isinstance(number, numbers.Real):
                raise ValueError(f"{place} is a number or a mapping from transform to number; got {number!r}")
            if not math.isfinite(number) or number < at_least:
                raise ValueError(f"{place} is a finite number, at least {at_least:g}; got {number!r}")


def hyperparameter(loss: SymmetryLoss, name: str, transform: str) -> float | None:
    """The value of the hyperparameter ``name`` for one transform."""
    value = getattr(loss, name)
    if not isinstance(value, Mapping):
        return value  # type: ignore[no-any-return]
    if transform not in value:
        raise ValueError(
            f"{type(loss).__name__}: {name} has no number for transform {transform!r}; "
            f"add it to the mapping, which names {', '.join(map(repr, value))}"
        )
    return value[transform]  # type: ignore[no-any-return]


def losses_by_transform(group: SymmetryGroup, loss: LossChoice) -> dict[str, SymmetryLoss]:
    """Which loss each transform has, in the group's order; transforms without a loss are left out."""
    if isinstance(loss, Mapping):
        refuse_unknown(loss, group.names, "loss")
        chosen = {name: loss.get(name) for name in group.names}
    else:
        chosen = dict.fromkeys(group.names, loss)
    for name, one in chosen.items():
        if one is not None and not isinstance(one, SymmetryLoss):
            raise ValueError(f"the loss of transform {name!r} is MSL, PSL, ASL or None; got {one!r}")
    used = {name: one for name, one in chosen.items() if one is not None}
    for name, one in used.items():
        for field_ in fields(one):
            value = getattr(one, field_.name)
            if isinstance(value, Mapping):
                refuse_unknown(value, group.names, f"{type(one).__name__}: {field_.name}")
                hyperparameter(one, field_.name, name)
    return used


def common_fit(losses: Mapping[str, SymmetryLoss]) -> tuple[Fit | None, tuple[str, ...]]:
    """The one fit of all ASL losses that have one, and the transforms that it fits."""
    fits = {name: loss.fit for name, loss in losses.items() if isinstance(loss, ASL) and loss.fit is not None}
    if not fits:
        return None, ()
    (first, fit), *others = fits.items()
    for name, other in others:
        if other != fit:
            raise ValueError(
                f"transforms {first!r} and {name!r} have different fits; relations between actuators span "
                "all transforms, so give every ASL the same fit, or None"
            )
    return fit, tuple(fits)


def refuse_unknown(names: Iterable[str], known: Iterable[str], what: str) -> None:
    known = tuple(known)
    for name in names:
        if name not in known:
            hint = suggestion(name, known) or f"; the transforms are {', '.join(known)}"
            raise ValueError(f"{what}: no transform {name!r}{hint}")


def only(group: SymmetryGroup, names: Iterable[str]) -> SymmetryGroup:
    """Exactly these transforms of the group."""
    chosen: list[Symmetry] = [group[name] for name in names]
    return SymmetryGroup(chosen, layout=group.layout)
