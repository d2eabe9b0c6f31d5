"""Everything that a report says, as numbers: per scenario and method, and over all scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ambidex.experiment.configure import methods
from ambidex.experiment.configure.algorithms import plain_way
from ambidex.experiment.many_runs.reading import Run, Runs
from ambidex.report import paper
from ambidex.report.curves import Curve, align, average, metric_curves
from ambidex.report.learned_maps import LearnedMaps, fit_of
from ambidex.report.settings import differing, differing_between
from ambidex.report.statistics import (
    WINDOW,
    Estimate,
    best_window,
    first_step_within,
    improvement_interval,
    interquartile_mean_interval,
    last_window,
)

BASELINE = methods.BASELINE.name


@dataclass(frozen=True)
class MethodSummary:
    """One method on one scenario.

    :param runs: the runs that count: those that are done, or where none is, those under way and evaluated
    :param missing: what happened to each seed that does not count, by seed
    :param collapsed: those of them whose run collapsed
    :param returns: the evaluation returns, seed by seed
    :param value_distance: the value distance, the mean over the transforms, seed by seed
    :param rejection: the neutral-state rejection ratio by transform
    :param statistics: the paper's figures of the two curves
    :param final_scores: each seed's mean return in its last five evaluations
    :param final: their interquartile mean
    :param improvement: the probability of improvement over the same algorithm without symmetries (PPO, for
        most), where that was run too
    :param notes: what a reader must know before comparing
    """

    method: str
    runs: list[Run]
    missing: dict[int, str]
    collapsed: list[int]
    returns: Curve | None
    value_distance: Curve | None
    rejection: dict[str, Curve]
    fit: LearnedMaps | None
    statistics: paper.PaperStatistics
    final_scores: list[float]
    final: Estimate | None
    improvement: Estimate | None
    notes: list[str]


@dataclass(frozen=True)
class ScenarioSummary:
    """One scenario on one robot.

    :param methods: in the order of the paper's tables
    :param published: what the paper published, by method
    :param differing: the settings that mean the same in every method, but are not the same in these
    """

    name: str
    methods: list[MethodSummary]
    published: dict[str, paper.PaperStatistics]
    differing: list[str]

    def get(self, method: str) -> MethodSummary | None:
        return next((one for one in self.methods if one.method == method), None)


@dataclass(frozen=True)
class Overall:
    """One method over several scenarios.

    :param relative: the interquartile mean of final returns divided by the mean of the same algorithm without
        symmetries (PPO, for most) in the same scenario
    :param improvement: the probability of improvement over that, the mean over the scenarios
    """

    method: str
    scenarios: list[str]
    relative: Estimate | None
    improvement: Estimate


@dataclass(frozen=True)
class Summary:
    """The whole report as numbers.

    :param unreadable: why a run could not be read, by directory, where it is not known which run it is
    :param seed: the bootstrap's
    """

    scenarios: list[ScenarioSummary]
    overall: list[Overall]
    unreadable: dict[str, str]
    seed: int


def summarise(runs: Runs, *, seed: int = 0) -> Summary:
    """Compute every number of the report.

    :param runs: what `load_runs` found
    :param seed: of the bootstrap; the same runs and seed give the same intervals
    """
    names = {run.scenario for run in runs.runs} | {name for name, _, _ in runs.planned | set(runs.lost)}
    scenarios = [_scenario(name, runs, seed) for name in sorted(names)]
    return Summary(
        scenarios=scenarios,
        overall=_overall(scenarios, seed) if len(scenarios) > 1 else [],
        unreadable={str(path): reason for path, reason in runs.unreadable.items()},
        seed=seed,
    )


def _scenario(name: str, runs: Runs, seed: int) -> ScenarioSummary:
    here = [run for run in runs.runs if run.scenario == name]
    planned = {(method, number) for scenario, method, number in runs.planned if scenario == name}
    lost = {(method, number): why for (of, method, number), why in runs.lost.items() if of == name}
    methods = in_paper_order({run.method for run in here} | {method for method, _ in planned | set(lost)})
    seeds = {number for _, number in planned} or {run.seed for run in here} | {number for _, number in lost}
    summaries = []
    for method in methods:
        absent = dict.fromkeys(sorted(seeds), "not run")
        absent |= {number: f"cannot be read: {why}" for (of, number), why in lost.items() if of == method}
        own = [run for run in here if run.method == method]
        baseline = _final_scores([run for run in here if run.method == plain_way(method)])
        summaries.append(_method(method, own, absent, baseline, seed))
    configs = [[run.config for run in method.runs] for method in summaries]
    return ScenarioSummary(name, summaries, paper.results(name), differing_between(configs))


def in_paper_order(methods: Iterable[str]) -> list[str]:
    """PPO, ASL, PSL, MSL as in the paper's tables, then any others by name."""
    known = list(paper.methods())
    return sorted(methods, key=lambda m: (known.index(m) if m in known else len(known), m))


def _method(
    method: str,
    runs: Sequence[Run],
    absent: Mapping[int, str],
    baseline: Sequence[float],
    bootstrap_seed: int,
) -> MethodSummary:
    """:param absent: what is to be said of each seed of which there is no run"""
    counted = counted_runs(runs)
    returns = align([run.returns for run in counted])
    distances = metric_curves(counted, "value_distance") if counted else {}
    value_distance = average(list(distances.values()))
    scores = _final_scores(runs)
    improvement = None
    if scores and baseline and method != plain_way(method):
        improvement = improvement_interval([(scores, baseline)], np.random.default_rng(bootstrap_seed))
    rejection = metric_curves(counted, "neutral_rejection_ratio") if counted else {}
    return MethodSummary(
        method=method,
        runs=counted,
        missing=_missing(runs, counted, absent),
        collapsed=sorted(run.seed for run in runs if run.status == "collapsed"),
        returns=returns,
        value_distance=value_distance,
        rejection=_planes({transform: curve for (transform, _), curve in rejection.items()}, counted),
        fit=fit_of(counted) if counted else None,
        statistics=statistics_of(returns, value_distance),
        final_scores=scores,
        final=interquartile_mean_interval([scores], np.random.default_rng(bootstrap_seed))
        if scores
        else None,
        improvement=improvement,
        notes=_notes(counted, returns),
    )


def counted_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs that are done; where none is, those under way that were evaluated at least once."""
    ended_early = ("failed", "collapsed")
    evaluated = [run for run in runs if run.returns is not None and run.status not in ended_early]
    return [run for run in evaluated if run.status == "done"] or evaluated


def statistics_of(returns: Curve | None, value_distance: Curve | None) -> paper.PaperStatistics:
    """A row of the paper's tables: the seeds are averaged first, then the windows taken (tab:stats_A1)."""
    numbers: dict[str, float | None] = {}
    if returns is not None:
        best = best_window(returns.steps, returns.mean)
        numbers |= {
            "max_return_mean": best.mean,
            "max_return_sd": best.deviation,
            "max_return_timestep": best.step,
            "timestep_90pct": first_step_within(returns.steps, returns.mean, best.mean),
        }
    if value_distance is not None:
        last = last_window(value_distance.steps, value_distance.mean)
        numbers |= {
            "value_distance_mean": float(value_distance.mean.mean()),
            "value_distance_final_mean": last.mean,
            "value_distance_final_sd": last.deviation,
        }
    return paper.PaperStatistics(**numbers)


def _final_scores(runs: Sequence[Run]) -> list[float]:
    returns = align([run.returns for run in counted_runs(runs)])
    if returns is None:
        return []
    return [last_window(returns.steps, row).mean for row in returns.seeds]


def _planes(curves: dict[str, Curve], runs: Sequence[Run]) -> dict[str, Curve]:
    """The reflections among them, as in the paper: a rotation's dead zone is 0 and rejects nothing."""
    group = runs[0].group if runs else None
    kinds = {symmetry.name: symmetry.kind for symmetry in group} if group is not None else {}
    planes = {name: curve for name, curve in curves.items() if kinds.get(name) == "reflection"}
    return planes or curves


def _missing(runs: Sequence[Run], counted: Sequence[Run], absent: Mapping[int, str]) -> dict[int, str]:
    there = {run.seed for run in runs}
    missing = {seed: reason for seed, reason in absent.items() if seed not in there}
    for run in runs:
        if run not in counted:
            reason = "not evaluated yet" if run.status == "done" else run.status
            why = f": {run.about['message']}" if run.about.get("message") else ""
            missing[run.seed] = f"{reason} at {_progress(run)}{why}"
    return missing


def _progress(run: Run) -> str:
    return (
        f"{run.steps:,} steps"
        if run.planned_steps is None
        else f"{run.steps:,} of {run.planned_steps:,} steps"
    )


def _notes(runs: Sequence[Run], returns: Curve | None) -> list[str]:
    notes = []
    unfinished = [run for run in runs if run.status != "done"]
    if unfinished:
        states = ", ".join(f"seed {run.seed} {run.status} at {_progress(run)}" for run in unfinished)
        notes.append(f"no run is done; counted as far as they are: {states}")
    if returns is not None and len(returns.steps) < WINDOW:
        count = len(returns.steps)
        notes.append(
            f"{count} evaluation{'s' * (count > 1)} so far: every window is that short, not {WINDOW} points"
        )
    different = differing([run.config for run in runs])
    if different:
        notes.append(f"the seeds do not share one configuration: {', '.join(different)} differ")
    return notes


def _overall(scenarios: Sequence[ScenarioSummary], seed: int) -> list[Overall]:
    methods = in_paper_order({one.method for scenario in scenarios for one in scenario.methods})
    return [
        one
        for method in methods
        if method != plain_way(method) and (one := _overall_method(method, scenarios, seed)) is not None
    ]


def _overall_method(method: str, scenarios: Sequence[ScenarioSummary], seed: int) -> Overall | None:
    pairs = {}
    for scenario in scenarios:
        ours, baseline = scenario.get(method), scenario.get(plain_way(method))
        if ours and baseline and ours.final_scores and baseline.final_scores:
            pairs[scenario.name] = (np.array(ours.final_scores), np.array(baseline.final_scores))
    if len(pairs) < 2:
        return None
    relative = None
    if all(baseline.mean() > 0 for _, baseline in pairs.values()):
        ratios = [scores / baseline.mean() for scores, baseline in pairs.values()]
        relative = interquartile_mean_interval(ratios, np.random.default_rng(seed))
    improvement = improvement_interval(list(pairs.values()), np.random.default_rng(seed))
    return Overall(method, list(pairs), relative, improvement)
