"""The fits of action maps that a run may choose by name.

Another one takes its place with ``FITS.register(FitChoice(...))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ambidex.common.registry import Registry

if TYPE_CHECKING:
    from ambidex.experiment.configure.config import Hyperparameters
    from ambidex.learn.fits.protocol import Fit, Weight

Form = Literal["mx", "mx+b"]


@dataclass(frozen=True)
class FitChoice:
    """A fit by its name.

    :param form: what it fits in Python if it is told nothing else
    :param make: the fit, from the form and from w_U of a sure update (None: the fit's own)
    """

    name: str
    form: Form
    make: Callable[[Form, float | None], Fit]


def make_fit(name: str, form: Form, h: Hyperparameters) -> Fit:
    """A fit by its name, as the hyperparameters want it."""
    fit: Any = FITS.get(name).make(form, h.update_weight)
    if h.fit_memory is not None:
        if not hasattr(fit, "memory"):
            raise ValueError(f"the fit {name!r} has no memory of transitions; leave fit_memory out")
        fit = replace(fit, memory=h.fit_memory)
    made: Fit = fit
    return made


def default_fit() -> FitChoice:
    """The one that a loss has in Python if it is told nothing else."""
    from ambidex.learn import ASL

    own = type(ASL().fit)
    return next(choice for choice in FITS if type(choice.make(choice.form, None)) is own)


def _pairwise(form: Form, update_weight: float | None) -> Fit:
    from ambidex.learn import PairwiseFit

    return PairwiseFit(form=form, update_weight=_scaled(PairwiseFit.update_weight, update_weight))


def _calibrated(form: Form, update_weight: float | None) -> Fit:
    from ambidex.learn import CalibratedFit

    weight = _scaled(CalibratedFit.update_weight, update_weight)
    return CalibratedFit(offsets=form == "mx+b", update_weight=weight)


def _transition(form: Form, update_weight: float | None) -> Fit:
    from ambidex.learn import TransitionFit

    weight = _scaled(TransitionFit.update_weight, update_weight)
    return TransitionFit(offsets=form == "mx+b", update_weight=weight)


def _scaled(penalty: Weight, largest: float | None) -> Weight:
    """A fit's own H_U, or the same with another value at 0."""
    if largest is None:
        return penalty
    factor = largest / penalty(0.0)
    return lambda error: factor * penalty(error)


PAPERS = FitChoice("pairwise", "mx+b", _pairwise)
FITS: Registry[FitChoice] = Registry(
    "fit", [PAPERS, FitChoice("calibrated", "mx+b", _calibrated), FitChoice("transition", "mx", _transition)]
)
