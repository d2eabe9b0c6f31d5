"""Forms of the pairwise fit: any ``y = G(x; z)`` with an inverse, alone or bound by cycles.

Most robots need a line. A form of your own is for an actuator whose fault is not one, such as a dead band:

    PairwiseFit(form=DEAD_BAND)

A form's functions get an array or a tensor ``x`` and a sequence of parameters ``z`` that broadcast with it;
written with ``+ - * /``, ``abs`` and comparisons they serve numpy and torch alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.learn.fits.lines import dataset
from ambidex.learn.fits.relations import Relations

Steps = list[tuple[int, bool]]
Function = Callable[[Any, Any], Any]
PROBES = (1.0, 2.0, -1.0, -2.0)  # a cycle is an identity if these come back; the paper's k is the first


@dataclass(frozen=True)
class Form:
    """``y = G(x; z)``, elementwise.

    :param name: what errors call it
    :param function: G, from x and the parameters z
    :param inverse: from y and the parameters z back to x
    :param start: the z of the identity, from which every fit starts
    :param lower: the least value of each parameter
    :param upper: the largest value of each parameter
    """

    name: str
    function: Function
    inverse: Function
    start: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.start) == len(self.lower) == len(self.upper) > 0:
            raise ValueError(f"form {self.name!r}: start, lower and upper have one number per parameter")
        x = np.linspace(-1, 1, 9)
        with np.errstate(all="ignore"):
            unchanged = np.asarray(self.function(x, self.start)), np.asarray(self.inverse(x, self.start))
        for side, y in zip(("function", "inverse"), unchanged, strict=True):
            if y.shape != x.shape or not np.allclose(y, x):
                raise ValueError(f"form {self.name!r}: its {side} at start={self.start} is not the identity")

    def fit(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """z by least squares (eq:minimize_F); NaN where it does not converge."""
        from scipy.optimize import least_squares

        def residuals(z: FloatArray) -> FloatArray:
            result: FloatArray = self.function(x, z) - y
            return result

        lower, upper = np.array(self.lower), np.array(self.upper)
        margin = 0.01 * np.minimum(upper - lower, 1.0)  # at a bound the search hardly moves
        inside = np.clip(self.start, lower + margin, upper - margin)
        found = least_squares(residuals, inside, bounds=(lower, upper))
        return found.x if found.success else np.full(len(self.start), np.nan)


def _dead_band(x: Any, z: Sequence[Any]) -> Any:
    slope, width = z
    return slope * x + width * ((x > 0) * 1.0 - (x < 0) * 1.0)


def _dead_band_inverse(y: Any, z: Sequence[Any]) -> Any:
    slope, width = z
    excess = abs(y) - width
    return excess * (excess > 0) * ((y > 0) * 1.0 - (y < 0) * 1.0) / slope


LARGEST = 20.0
PROPORTIONAL = Form("mx", lambda x, z: z[0] * x, lambda y, z: y / z[0], (1.0,), (1 / LARGEST,), (LARGEST,))
LINE = Form(
    "mx+b",
    lambda x, z: z[0] * x + z[1],
    lambda y, z: (y - z[1]) / z[0],
    (1.0, 0.0),
    (1 / LARGEST, -LARGEST),
    (LARGEST, LARGEST),
)
DEAD_BAND = Form(
    "dead band", _dead_band, _dead_band_inverse, (1.0, 0.0), (1 / LARGEST, 0.0), (LARGEST, LARGEST)
)
"""An actuator that does nothing until its command leaves a band: ``y = m x + d sign(x)``, d at least 0.

Commands within the band have no counterpart and map to 0.
"""


def fit_within_cycles(
    relations: Relations, form: Form, means: FloatArray, symmetric: FloatArray
) -> FloatArray:
    """z of all pairs together, such that every cycle is an identity (eq:minimize_F_cycle).

    A basis of cycles stands for all of them; each returns as many probes as the form has parameters. The
    result is (pairs, parameters), NaN where the search does not converge.

    :param means: (T, n) a-bar
    :param symmetric: (N, T, n) a-bar'
    """
    from scipy.optimize import minimize

    data = [dataset(relations, pair, means, symmetric) for pair in range(len(relations.pairs))]
    alone = np.array([form.fit(x, y) for x, y in data]).reshape(len(data), -1)
    cycles = independent_cycles(relations.pairs)
    if not cycles:
        return alone
    scale = sum(float(y @ y) for _, y in data) or 1.0

    def squares(flat: FloatArray) -> float:
        parameters = flat.reshape(alone.shape)
        errors = (form.function(x, z) - y for z, (x, y) in zip(parameters, data, strict=True))
        return sum(float(error @ error) for error in errors) / scale

    def returned(flat: FloatArray) -> FloatArray:
        parameters = flat.reshape(alone.shape)
        probes = np.array(PROBES[: len(form.start)])
        return np.concatenate([around(form, parameters, steps, probes) - probes for steps in cycles])

    found = minimize(
        squares,
        alone.ravel(),
        method="SLSQP",
        bounds=[*zip(form.lower, form.upper, strict=True)] * len(data),
        constraints={"type": "eq", "fun": returned},
        options={"maxiter": 200, "ftol": 1e-9},
    )
    return found.x.reshape(alone.shape) if found.success else np.full_like(alone, np.nan)


def around(form: Form, parameters: FloatArray, steps: Steps, value: Any) -> Any:
    """Where a value ends after going once around a cycle.

    :param parameters: (pairs, parameters)
    :param steps: the pairs on the path, and whether it walks each from q to u
    """
    for pair, forward in steps:
        value = (form.function if forward else form.inverse)(value, parameters[pair])
    return value


def independent_cycles(pairs: Sequence[tuple[int, int]]) -> list[Steps]:
    """A basis: for each pair that closes a loop over those before it, the pair and its way back."""
    paths: dict[int, dict[int, Steps]] = {}  # from each element to each element that is connected so far
    cycles = []
    for number, (q, u) in enumerate(pairs):
        for element in (q, u):
            paths.setdefault(element, {element: []})
        if u in paths[q]:
            cycles.append([(number, True), *paths[u][q]])
            continue
        left, right = dict(paths[q]), dict(paths[u])
        for start in left:
            for end in right:
                paths[start][end] = [*paths[start][q], (number, True), *paths[u][end]]
                paths[end][start] = [*paths[end][u], (number, False), *paths[q][start]]
    return cycles
