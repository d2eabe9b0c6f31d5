"""The page of a search, from a study that was written down rather than trained."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ambidex.experiment.tuning.search import FORMAT, open_study
from ambidex.experiment.tuning.space import as_data, parse_space
from ambidex.experiment.tuning.task import Task
from ambidex.report.publish.tuning_page import write_tuning_page
from tests.report.test_browser import CHROMIUM, browse

optuna = pytest.importorskip("optuna")

SPACE = {"learning_rate": {"low": 1e-5, "high": 1e-2, "log": True}, "batch_size": [64, 256]}
TRIED = [  # rate, batch, score at a ninth, a third and all of the budget
    (1e-4, "64", (0.1, 0.2, 0.3)),
    (1e-3, "256", (0.2, 0.4, 0.9)),
    (2e-3, "256", (0.2, 0.5, 0.8)),
    (5e-5, "64", (0.05,)),
    (3e-4, "64", (0.15, 0.3, 0.4)),
]


@pytest.fixture
def search(tmp_path: Path) -> Path:
    space = parse_space(SPACE, "test")
    references = {"A1.1": 2183.0, "A4.1": 1689.0}
    task = Task(("A1.1", "A4.1"), "equivariant", 900_000, references=references)
    about = {"format": FORMAT, "task": task.as_data(), "space": as_data(space), "given": {}}
    (tmp_path / "tune.json").write_text(json.dumps(about))
    study = open_study(tmp_path, create=True)
    distributions = {
        "learning_rate": optuna.distributions.FloatDistribution(1e-5, 1e-2, log=True),
        "batch_size": optuna.distributions.CategoricalDistribution(["64", "256"]),
    }
    states = optuna.trial.TrialState
    for rate, batch, scores in TRIED:
        study.add_trial(
            optuna.trial.create_trial(
                state=states.COMPLETE if len(scores) == 3 else states.PRUNED,
                value=scores[-1] if len(scores) == 3 else None,
                params={"learning_rate": rate, "batch_size": batch},
                distributions=distributions,
                intermediate_values=dict(zip((1, 3, 9), scores, strict=False)),
                user_attrs={"returns": {"A1.1": 1000 * scores[-1], "A4.1": 500 * scores[-1]}},
            )
        )
    failed = {"reason": "the policy answers with nan </script>"}
    params = {"learning_rate": 1e-2, "batch_size": "64"}
    study.add_trial(
        optuna.trial.create_trial(
            state=states.PRUNED, params=params, distributions=distributions, user_attrs=failed
        )
    )
    return tmp_path


def rows(text: str) -> list[list[str]]:
    table = text[text.index('<table class="trials">') :]
    found = re.findall(r"<tr>(.*?)</tr>", table[table.index("<tbody>") :], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found]


def test_every_trial_is_listed_the_best_first(search: Path) -> None:
    text = write_tuning_page(search).read_text()
    assert "Equivariant on A1.1 and A4.1" in text
    assert "divided by a reference: A1.1 2,183 and A4.1 1,689." in text
    assert "Trial 1, score 0.9" in text
    listed = rows(text)
    assert [row[0] for row in listed] == ["1", "2", "4", "0", "3", "5"]
    assert listed[0] == ["1", "the whole budget", "900,000", "0.9", "900", "450", "0.001", "256"]
    assert listed[4] == ["3", "stopped early", "100,000", "0.05", "50", "25", "5e-05", "64"]
    assert listed[5][1] == "failed: the policy answers with nan &lt;/script&gt;"


def test_history_halving_importances_and_slices_are_drawn(search: Path) -> None:
    text = write_tuning_page(search).read_text()
    figures = dict(re.findall(r'data-plot="(\w+)">(.*?)</script>', text))
    assert set(figures) == {"history", "rungs", "importances", "slices"}
    history = json.loads(figures["history"])["data"]
    assert {trace["name"] for trace in history} >= {"Objective Value", "Best Value"}
    (bars,) = [trace for trace in json.loads(figures["importances"])["data"] if trace["type"] == "bar"]
    assert set(bars["y"]) == {"learning_rate", "batch_size"}
    assert 'src="http' not in text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_draws_it_without_errors(search: Path, tmp_path: Path) -> None:
    document, console = browse(write_tuning_page(search), tmp_path / "profile")
    assert console == []
    assert len(re.findall(r'<div class="plot[^"]*js-plotly-plot', document)) == 4


def test_scores_that_differ_by_rounding_only_say_nothing_of_settings(tmp_path: Path) -> None:
    space = parse_space(SPACE, "test")
    about = {
        "format": FORMAT,
        "task": Task(("A1.1",), "equivariant", 900).as_data(),
        "space": as_data(space),
        "given": {},
    }
    (tmp_path / "tune.json").write_text(json.dumps(about))
    study = open_study(tmp_path, create=True)
    rates = optuna.distributions.FloatDistribution(1e-5, 1e-2)
    for rate, score in ((1e-4, 35.641), (1e-3, 35.641000000000005)):
        params, distributions = {"learning_rate": rate}, {"learning_rate": rates}
        study.add_trial(optuna.trial.create_trial(value=score, params=params, distributions=distributions))
    text = write_tuning_page(tmp_path).read_text()
    assert "History" in text
    assert "What mattered" not in text


@pytest.mark.parametrize("scores", [(1.0, 1.0 + 1e-8), (1.0, 2.0)])
def test_one_setting_with_two_scores_ends_no_search(scores: tuple[float, float], tmp_path: Path) -> None:
    """As robots have that are not the same twice; fANOVA then finds nothing that mattered."""
    task = Task(("A1.1",), "equivariant", 900)
    space = parse_space(SPACE, "test")
    about = {"format": FORMAT, "task": task.as_data(), "space": as_data(space), "given": {}}
    (tmp_path / "tune.json").write_text(json.dumps(about))
    study = open_study(tmp_path, create=True)
    rates = {"learning_rate": optuna.distributions.FloatDistribution(1e-5, 1e-2)}
    for score in scores:
        study.add_trial(
            optuna.trial.create_trial(value=score, params={"learning_rate": 1e-3}, distributions=rates)
        )
    text = write_tuning_page(tmp_path).read_text()
    assert "Each setting" in text
    assert "What mattered" not in text


@pytest.mark.parametrize("whole", [0, 1])
def test_trials_that_were_stopped_say_nothing_of_settings(whole: int, tmp_path: Path) -> None:
    about = {
        "task": Task(("A1.1",), "equivariant", 900).as_data(),
        "space": as_data(parse_space(SPACE, "test")),
    }
    (tmp_path / "tune.json").write_text(json.dumps(about | {"format": FORMAT, "given": {}}))
    study = open_study(tmp_path, create=True)
    rates = {"learning_rate": optuna.distributions.FloatDistribution(1e-5, 1e-2)}
    states = optuna.trial.TrialState
    for number in range(5):
        study.add_trial(
            optuna.trial.create_trial(
                state=states.COMPLETE if number < whole else states.PRUNED,
                value=0.1 * number,  # of one that was stopped, as Optuna has it: the last that it reached
                params={"learning_rate": 1e-3 * (number + 1)},
                distributions=rates,
                intermediate_values={1: 0.1 * number},
            )
        )
    text = write_tuning_page(tmp_path).read_text()
    assert "Halving" in text
    assert "What mattered" not in text
    assert "Each setting" not in text
