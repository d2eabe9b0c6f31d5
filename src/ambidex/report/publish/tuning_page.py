"""A search for hyperparameters on one page that opens from disk: history, importances, what was tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambidex.common.escaping import script_json
from ambidex.common.files import write_bytes
from ambidex.common.numerals import plural
from ambidex.common.words import listed
from ambidex.experiment.tuning.search import open_study, read_search, steps_of
from ambidex.report.page import from_template
from ambidex.report.tables import Row, Table
from ambidex.report.wording import method_name

if TYPE_CHECKING:
    import optuna

    from ambidex.experiment.tuning.task import Task

_HEIGHT = 380
_STATES = {
    "COMPLETE": "the whole budget",
    "PRUNED": "stopped early",
    "RUNNING": "under way",
    "FAIL": "failed",
}


def write_tuning_page(directory: Path) -> Path:
    """Write the page of a search as `tune.html` into its directory, and return its path.

    :param directory: as `ambidex tune` writes it
    """
    task, _ = read_search(directory)
    study = open_study(directory)
    page = from_template(
        "tune.html",
        title=f"{method_name(task.method)} on {listed(task.robots)}",
        lead=_lead(study, task),
        score=_what_counts(task),
        figures=_figures(study),
        best=_best(study),
        trials=_trials(study, task),
    )
    path = directory / "tune.html"
    write_bytes(path, page.encode())
    return path


def _lead(study: optuna.Study, task: Task) -> str:
    seeds = plural(task.seeds, "seed")
    return (
        f"{plural(len(_tried(study)), 'trial')} of up to {task.budget:,} training steps, {seeds} each on "
        f"{plural(len(task.robots), 'robot')}; a ninth and a third of the way, the better third goes on."
    )


def _what_counts(task: Task) -> str:
    if not task.references:
        return "The score is the return: the mean over the last three ninths of a run, and over the seeds."
    by = listed([f"{robot} {value:,.4g}" for robot, value in task.references.items()])
    return (
        "The score is the mean over robots and seeds of the return, the mean over the last three ninths of a "
        f"run, divided by a reference: {by}."
    )


def _tried(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name != "WAITING"]


def _figures(study: optuna.Study) -> list[dict[str, str]]:
    from optuna import visualization

    drawn: list[tuple[str, str, str, Callable[[], Any]]] = [
        (
            "history",
            "History",
            "The score of each trial that had the whole budget, and the best so far.",
            lambda: visualization.plot_optimization_history(study),
        ),
        (
            "rungs",
            "Halving",
            "The score of each trial at a ninth, a third and all of the budget (1, 3 and 9).",
            lambda: visualization.plot_intermediate_values(study),
        ),
    ]
    whole = [trial for trial in _tried(study) if trial.state.name == "COMPLETE"]
    scores = [trial.value for trial in whole if trial.value is not None]
    if scores and max(scores) > min(scores):
        if (mattered := _importances(study)) is not None:
            caption = "How much of the differences between the trials each setting explains (fANOVA)."
            caption += " Of a handful of trials this is a guess."
            drawn.append(("importances", "What mattered", caption, lambda: mattered))
        caption = "The score over each setting, all others varying too."
        drawn.append(("slices", "Each setting", caption, lambda: visualization.plot_slice(study)))
    return [
        {"id": key, "title": title, "caption": caption, "json": _plain_json(draw())}
        for key, title, caption, draw in drawn
    ]


def _importances(study: optuna.Study) -> Any | None:
    """A figure; None where the scores differ by rounding only, or for one and the same setting."""
    from optuna import importance, visualization

    try:
        return visualization.plot_param_importances(
            study, evaluator=importance.FanovaImportanceEvaluator(seed=0)
        )
    except RuntimeError:  # "zero total variance in all trees"
        return None


def _plain_json(figure: Any) -> str:
    """A figure of Optuna as the page draws it: without a theme of its own, safe inside a script element."""
    data: dict[str, Any] = json.loads(figure.to_json())
    layout = {
        key: value for key, value in data["layout"].items() if key not in ("template", "title", "width")
    }
    layout |= {"height": _HEIGHT, "xaxis": layout.get("xaxis", {}), "yaxis": layout.get("yaxis", {})}
    return script_json({"data": data["data"], "layout": layout})


def _best(study: optuna.Study) -> Table | None:
    if not any(trial.state.name == "COMPLETE" for trial in _tried(study)):
        return None
    best = study.best_trial
    rows = [Row([name, _shown(value)]) for name, value in best.params.items()]
    title = f"Trial {best.number}, score {best.value:.4g}"
    return Table("best", title, [("", "Setting"), ("", "Value")], rows, "In best.yaml, for --config.")


def _trials(study: optuna.Study, task: Task) -> Table:
    """Every trial, the best first; one that was stopped early has the score of its last rung."""
    trials = sorted(_tried(study), key=_rank, reverse=True)
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    columns = [("", "Trial"), ("", "Ended"), ("", "Steps"), ("", "Score")]
    columns += [("Return", robot) for robot in task.robots] + [("Setting", name) for name in names]
    rows = []
    for trial in trials:
        reached = len(trial.intermediate_values)
        steps = f"{steps_of(reached - 1, task.budget):,}" if reached else ""
        ended = "failed" if "reason" in trial.user_attrs else _STATES[trial.state.name]
        score = _last(trial)
        returns: Mapping[str, float] = trial.user_attrs.get("returns", {})
        rows.append(
            Row(
                [
                    str(trial.number),
                    f"{ended}: {trial.user_attrs['reason']}" if "reason" in trial.user_attrs else ended,
                    steps,
                    "" if score is None else f"{score:.4g}",
                    *(f"{returns[robot]:,.4g}" if robot in returns else "" for robot in task.robots),
                    *(_shown(trial.params.get(name)) for name in names),
                ]
            )
        )
    return Table("trials", "What was tried", columns, rows)


def _rank(trial: optuna.trial.FrozenTrial) -> tuple[int, float]:
    """Trials that came further, and among them the better ones, are higher."""
    score = _last(trial)
    return len(trial.intermediate_values), float("-inf") if score is None else score


def _last(trial: optuna.trial.FrozenTrial) -> float | None:
    values = trial.intermediate_values
    return values[max(values)] if values else None


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value).strip('"')
