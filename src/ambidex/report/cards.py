"""The result in plain words: a few sentences, soberly, before any table."""

from __future__ import annotations

from dataclasses import dataclass

from ambidex.common.numerals import number, plural, score, steps
from ambidex.common.words import listed
from ambidex.experiment.configure.algorithms import plain_way
from ambidex.report import paper
from ambidex.report.learned_maps import LearnedMaps
from ambidex.report.statistics import FEW_POINTS, Estimate
from ambidex.report.summary import MethodSummary, ScenarioSummary, Summary
from ambidex.report.wording import bounds, method_name, pair_name, plain_name

_FEW_PAIRS = 4
_FEW_SEEDS = 4


@dataclass(frozen=True)
class Card:
    """One statement: what it is about, the figure, and a sentence that says what the figure means.

    :param colour: the name of a method whose colour marks the card, or "" for none
    :param warning: whether the reader should be careful
    """

    about: str
    figure: str
    sentence: str
    colour: str = ""
    warning: bool = False


def cards(summary: Summary) -> list[Card]:
    """The report's statements, the most important first."""
    found: list[Card | None] = []
    for one in summary.overall:
        found.append(
            Card(
                "All scenarios",
                number(one.improvement.value, 2),
                f"The chance that a seed of {method_name(one.method)} beats a seed of "
                f"{plain_name([one.method])}, the mean over "
                f"{plural(len(one.scenarios), 'scenario')}{_interval_words(one.improvement)}.",
                one.method,
            )
        )
    for scenario in summary.scenarios:
        found += [_best(scenario), _fit(scenario)]
        if len(summary.scenarios) == 1:
            found.append(_chance(scenario))
    found.append(_incomplete(summary))
    return [card for card in found if card is not None]


def _best(scenario: ScenarioSummary) -> Card | None:
    ranked = [method for method in scenario.methods if method.statistics.max_return_mean is not None]
    if not ranked:
        return None
    best = max(ranked, key=_maximum)
    name, figure = method_name(best.method), score(_maximum(best))
    others = [method for method in ranked if method is not best]
    when = f"reached around step {steps(best.statistics.max_return_timestep)}"
    if best.returns is not None and len(best.returns.steps) < FEW_POINTS:
        when += f" (of only {plural(len(best.returns.steps), 'evaluation')})"
    sentence = f"By {name}, {when}."
    if others:
        plain = plain_way(best.method)
        rival = scenario.get(plain) if best.method != plain else None
        rival = rival if rival in others else max(others, key=_maximum)
        sentence = f"By {name}, {when}; {_against(best, rival)}."
    if scenario.differing:
        sentence += f" But the methods were run with different {listed(scenario.differing)}."
    about = f"Highest return on {scenario.name}"
    return Card(about, figure, sentence, best.method, warning=bool(scenario.differing))


def _single(name: str, plain: str, ours: int, theirs: int) -> str:
    if ours == theirs:
        return f"{name} and {plain} with a single seed each"
    return f"A single seed of {name if ours == 1 else plain}"


def _interval_words(interval: Estimate) -> str:
    return f", 95 % interval {bounds(interval, 2)}" if interval.low is not None else ""


def _maximum(method: MethodSummary) -> float:
    return method.statistics.max_return_mean or 0.0


def _against(best: MethodSummary, rival: MethodSummary) -> str:
    ours, theirs = _maximum(best), _maximum(rival)
    name = method_name(rival.method)
    if theirs > 0 and ours / theirs >= 1.005:
        return f"{number(ours / theirs, 2)} times {name}'s {score(theirs)}"
    return f"{name} reached {score(theirs)}"


def _chance(scenario: ScenarioSummary) -> Card | None:
    compared = [method for method in scenario.methods if method.improvement is not None]
    if not compared:
        return None
    best = max(compared, key=_maximum)
    baseline = scenario.get(plain_way(best.method))
    if best.improvement is None or baseline is None:
        return None
    ours, theirs = len(best.final_scores), len(baseline.final_scores)
    name, plain = method_name(best.method), plain_name([best.method])
    if best.improvement.low is None:
        sentence = (
            f"{_single(name, plain, ours, theirs)}: a difference between them may be luck. "
            f"The paper averages {paper.SEEDS}."
        )
        return Card("How sure", "1 seed", sentence, warning=True)
    sentence = (
        f"The chance that a seed of {name} ends higher than one of {plain}, 95 % interval "
        f"{bounds(best.improvement, 2)}, from {ours} and {plural(theirs, 'seed')}."
    )
    if best.improvement.value in (0, 1):
        side = "higher" if best.improvement.value else "lower"
        sentence = f"Each of the {plural(ours, 'seed')} of {name} ended {side} than all {theirs} of {plain}."
    if min(ours, theirs) >= _FEW_SEEDS:
        return Card("How sure", number(best.improvement.value, 2), sentence, best.method)
    sentence += " So few seeds cannot say how sure that is."
    pairs = ours * theirs
    about, figure = f"Pairs of seeds above {plain}", f"{best.improvement.value * pairs:g} of {pairs}"
    if best.improvement.value in (0, 1):
        about, figure = f"Seeds above {plain}", f"{ours * best.improvement.value:g} of {ours}"
    return Card(about, figure, sentence, best.method, warning=True)


def _fit(scenario: ScenarioSummary) -> Card | None:
    for method in scenario.methods:
        if method.fit is not None and method.fit.true_pairs and method.fit.pairs:
            return _ratios(scenario, method, method.fit)
    return None


def _ratios(scenario: ScenarioSummary, method: MethodSummary, fit: LearnedMaps) -> Card:
    name = method_name(method.method)
    known = [pair for pair in fit.pairs if pair.truth is not None]
    if len(known) <= _FEW_PAIRS:
        truths = listed([number(pair.truth, 2).rstrip("0").rstrip(".") for pair in known])
        pairs = listed([pair_name(pair.name) for pair in known])
        return Card(
            f"Torque ratios that {name} learned",
            " · ".join(number(pair.mean, 2) for pair in known),
            f"For the actuator pairs {pairs} on {scenario.name}. The true ratios are {truths}.",
            method.method,
        )
    error = sum(pair.error or 0.0 for pair in known) / len(known)
    return Card(
        f"Error of the action ratios that {name} learned",
        number(error, 3),
        f"Mean over {plural(len(known), 'actuator pair')} on {scenario.name}; "
        f"the description as given is off by {number(fit.given_error, 3)}.",
        method.method,
    )


def _incomplete(summary: Summary) -> Card | None:
    methods = [method for scenario in summary.scenarios for method in scenario.methods]
    counted = sum(len(method.runs) for method in methods)
    missing = sum(len(method.missing) for method in methods) + len(summary.unreadable)
    unfinished = sum(run.status != "done" for method in methods for run in method.runs)
    if missing:
        sentence = (
            f"{plural(missing, 'run')} missing, failed or unfinished, and not in the averages; listed below."
        )
        return Card("Runs", f"{counted} of {counted + missing}", sentence, warning=True)
    if unfinished:
        return Card(
            "Runs", str(counted), f"{unfinished} of them unfinished: these figures will change.", warning=True
        )
    return None
