"""What each figure shows, independent of what draws it: matplotlib for files, plotly for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.numerals import plural
from ambidex.common.words import listed
from ambidex.experiment.configure.methods import METHODS, Dash
from ambidex.report.charts.colours import method_colour, series_colour
from ambidex.report.cost import minutes_per_step
from ambidex.report.curves import Curve
from ambidex.report.learned_maps import GIVEN, LearnedMaps
from ambidex.report.statistics import mean_curve_interval
from ambidex.report.summary import BASELINE, MethodSummary, ScenarioSummary
from ambidex.report.wording import method_name, pair_name


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    :param label: what the legend calls it; "" keeps it out of the legend
    :param colour: a name of `COLOURS`; lines of one colour belong together
    :param band: the interval's lower and upper edge, or None
    :param reference: something to compare with rather than a measurement
    :param broad: whether it is drawn as a pale stripe, on which another line stays visible
    """

    label: str
    x: FloatArray
    y: FloatArray
    colour: str
    dash: Dash = "solid"
    band: tuple[FloatArray, FloatArray] | None = None
    reference: bool = False
    broad: bool = False


@dataclass(frozen=True)
class Axis:
    """What a chart runs over.

    :param thousands: whether 1,000,000 is written as 1M there
    """

    title: str
    thousands: bool


STEPS = Axis("training steps", thousands=True)
MINUTES = Axis("minutes of the processor", thousands=False)


@dataclass(frozen=True)
class Chart:
    """One figure.

    :param key: names its file and its place in the page
    :param section: of the page, one of `SECTIONS`
    :param method: that it is about, where it is in the section "fit"
    :param over: what its lines run over
    """

    key: str
    section: str
    title: str
    y_title: str
    lines: list[Line]
    caption: str
    method: str = ""
    over: Axis = STEPS

    @property
    def constants(self) -> dict[str, float]:
        """The value of each measured line, where all of them stay where they are; empty otherwise.

        Learning curves are drawn anyway, and two points are no constant yet.
        """
        scale = max(float(np.abs(line.y).max()) for line in self.lines)
        measured = [line for line in self.lines if not line.reference]
        if self.section == "returns" or any(
            len(line.y) < 3 or not np.ptp(line.y) <= _INVISIBLE * scale for line in measured
        ):
            return {}
        return {line.label: float(line.y[-1]) for line in measured}


SECTIONS = ("returns", "symmetry", "fit")
_INVISIBLE = 1e-3  # of a chart's height


def charts(scenario: ScenarioSummary, *, seed: int = 0) -> list[Chart]:
    """The scenario's figures; one that would have no line is left out.

    :param seed: of the bootstrap that gives the intervals
    """
    return [chart for make in CHARTS for chart in make(scenario, seed) if chart.lines]


def _of_all_methods(scenario: ScenarioSummary, seed: int) -> list[Chart]:
    return [_returns(scenario, seed), _returns_over_time(scenario, seed), _value_distance(scenario, seed)]


def _of_each_method(scenario: ScenarioSummary, seed: int) -> list[Chart]:
    found = []
    for method in scenario.methods:
        found.append(_rejection(method))
        if method.fit is not None:
            found += [
                _targets(method, method.fit),
                _maps(method, method.fit),
                _target_error(method, method.fit),
                _biases(method, method.fit),
            ]
    return found


CHARTS: list[Callable[[ScenarioSummary, int], list[Chart]]] = [_of_all_methods, _of_each_method]
"""What makes a scenario's charts, given the seed of the bootstrap; append to it to have more."""


def _returns(scenario: ScenarioSummary, seed: int) -> Chart:
    lines = _method_lines({m.method: m.returns for m in scenario.methods}, seed)
    return Chart(
        "return",
        "returns",
        "Learning curves",
        "episode return",
        lines,
        "Mean over the seeds of the return in deterministic evaluation episodes." + _band_words(lines),
    )


def _returns_over_time(scenario: ScenarioSummary, seed: int) -> Chart:
    """Of the methods whose cost is known, where these are several."""
    curves: dict[str, Curve | None] = {}
    unknown = []
    for method in scenario.methods:
        cost = minutes_per_step(method.runs)
        curves[method.method] = None  # it keeps its place, and so its colour
        if method.returns is not None and cost is not None:
            curves[method.method] = Curve(method.returns.steps * cost, method.returns.seeds)
        elif method.returns is not None:
            unknown.append(method_name(method.method))
    lines = _method_lines(curves, seed)
    left_out = f" Of {listed(unknown)} it was not recorded." if unknown else ""
    return Chart(
        "return-time",
        "returns",
        "Learning curves over time",
        "episode return",
        lines if len(lines) > 1 else [],
        "The same returns over the minutes of the processor that they cost, evaluations included, as if each "
        f"step of a run had cost the same.{left_out}" + _band_words(lines),
        over=MINUTES,
    )


def _value_distance(scenario: ScenarioSummary, seed: int) -> Chart:
    lines = _method_lines({m.method: m.value_distance for m in scenario.methods}, seed)
    return Chart(
        "value-distance",
        "symmetry",
        "Value distance",
        "|V(s) − V(f(s))|",
        lines,
        "How differently the critic values a state and its symmetric counterpart, the mean over the "
        "transforms. Lower means a more symmetric policy." + _band_words(lines),
    )


def _method_lines(curves: Mapping[str, Curve | None], seed: int) -> list[Line]:
    return [
        Line(
            method_name(method),
            curve.steps,
            curve.mean,
            method_colour(method, place),
            METHODS.get(method).dash if method in METHODS else "solid",
            mean_curve_interval(curve.seeds, np.random.default_rng(seed)),
        )
        for place, (method, curve) in enumerate(curves.items())
        if curve is not None
    ]


def _band_words(lines: list[Line]) -> str:
    if any(line.band for line in lines):
        return " Bands are 95 % bootstrap intervals of that mean."
    return " One seed each, so there is no interval."


def _rejection(method: MethodSummary) -> Chart:
    lines = [
        Line(name, curve.steps, curve.mean, series_colour(place))
        for place, (name, curve) in enumerate(method.rejection.items())
    ]
    return Chart(
        f"rejection-{method.method}",
        "symmetry",
        f"Neutral states rejected by {method_name(method.method)}",
        "share of states",
        lines,
        "Share of the visited states that lie too near their own mirror image to learn from, per plane.",
    )


def _targets(method: MethodSummary, fit: LearnedMaps) -> Chart:
    name = method_name(method.method)
    return Chart(
        f"targets-{method.method}",
        "fit",
        f"Action ratios that {name} fits",
        "target m",
        _ratio_lines(fit.targets, fit.true_pairs),
        "The multiplier m that fits each pair of actuators in the latest batch, the mean over the seeds."
        + _truth_words(fit),
        method.method,
    )


def _maps(method: MethodSummary, fit: LearnedMaps) -> Chart:
    return Chart(
        f"maps-{method.method}",
        "fit",
        f"Action ratios that {method_name(method.method)} uses",
        "m in the maps",
        _ratio_lines(fit.estimates, fit.true_pairs),
        "The multiplier m of each pair in the maps that the loss uses, the mean over the seeds."
        + _truth_words(fit),
        method.method,
    )


def _ratio_lines(curves: Mapping[str, Curve], truth: Mapping[str, float]) -> list[Line]:
    lines = []
    for place, (pair, curve) in enumerate(curves.items()):
        colour = series_colour(place)
        if pair in truth:
            true = np.full(2, truth[pair])
            lines.append(Line("", curve.steps[[0, -1]], true, colour, reference=True, broad=True))
        lines.append(Line(pair_name(pair), curve.steps, curve.mean, colour))
    return lines


def _truth_words(fit: LearnedMaps) -> str:
    return " The pale stripes: the truth." if fit.true_pairs else ""


def _biases(method: MethodSummary, fit: LearnedMaps) -> Chart:
    lines = [
        Line(pair_name(name), curve.steps, curve.mean, series_colour(place))
        for place, (name, curve) in enumerate(fit.biases.items())
    ]
    return Chart(
        f"biases-{method.method}",
        "fit",
        f"Action offsets that {method_name(method.method)} fits",
        "target b",
        lines,
        "The offset b that fits each pair, and each actuator on a mirror plane, in the latest batch.",
        method.method,
    )


def _target_error(method: MethodSummary, fit: LearnedMaps) -> Chart:
    lines = []
    if fit.error is not None and fit.given_error is not None:
        error = fit.error
        lines = [
            Line("fitted ratios", error.steps, error.mean, method_colour(method.method, 0)),
            Line(
                f"description as given (m = {GIVEN:g})",
                error.steps[[0, -1]],
                np.full(2, fit.given_error),
                BASELINE,
                "dash",
                reference=True,
            ),
        ]
    pairs = plural(len(fit.true_pairs), "pair")
    return Chart(
        f"target-error-{method.method}",
        "fit",
        f"Error of the ratios that {method_name(method.method)} fits",
        "mean |m − true m|",
        lines,
        f"Mean absolute error over {pairs} of actuators and the seeds.",
        method.method,
    )
