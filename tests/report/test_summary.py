"""The whole summary on runs whose numbers are known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ambidex.report import load_runs, summarise
from ambidex.report.page import render
from ambidex.report.statistics import Estimate
from ambidex.report.summary import MethodSummary

from .conftest import WriteRun, announce, fitted_metrics


def only(directory: Path, method: str = "asl") -> MethodSummary:
    found = summarise(load_runs([directory])).scenarios[0].get(method)
    assert found is not None
    return found


def test_the_papers_statistics_by_hand(tmp_path: Path, write_run: WriteRun) -> None:
    """Two seeds whose own maxima lie elsewhere than the maximum of their average."""
    first = {10: 0, 20: 100, 30: 0, 40: 80, 50: 80, 60: 80, 70: 80}
    second = {10: 0, 20: 24, 30: 60, 40: 80, 50: 80, 60: 120, 70: 80}
    for seed, returns in enumerate((first, second)):
        write_run(tmp_path / str(seed), seed=seed, returns={step: [value] for step, value in returns.items()})
    row = only(tmp_path).statistics
    # The average is 0, 62, 30, 80, 80, 100, 80: the last five have mean 74 and deviations -44, 6, 6, 26, 6.
    # 0.9 of 74 is 66.6, which 62 does not reach; 0.8 of it would be.
    assert row.max_return_mean == 74
    assert row.max_return_sd == pytest.approx(((44**2 + 3 * 6**2 + 26**2) / 5) ** 0.5)
    assert (row.max_return_timestep, row.timestep_90pct) == (50, 40)


def test_value_distance_is_the_mean_over_transforms_and_seeds(tmp_path: Path, write_run: WriteRun) -> None:
    for seed in range(2):
        metrics = {
            ("value_distance", "a", ""): {step: float(step + seed) for step in range(1, 8)},
            ("value_distance", "b", ""): {step: float(step + seed + 2) for step in range(1, 8)},
        }
        write_run(tmp_path / str(seed), seed=seed, returns={1: [0]}, metrics=metrics)
    row = only(tmp_path).statistics
    # The curve is step + 1.5 for the steps 1 to 7; its last five are 4.5 to 8.5.
    assert (row.value_distance_mean, row.value_distance_final_mean) == (5.5, 6.5)
    assert row.value_distance_final_sd == pytest.approx(2**0.5)


def test_final_scores_and_improvement(study: Path) -> None:
    asl, ppo = only(study), only(study, "ppo")
    assert asl.final_scores == [1600, 1600, 1600]
    assert (asl.final, asl.improvement) == (Estimate(1600, 1600, 1600), Estimate(1, 1, 1))
    assert ppo.improvement is None


def test_every_interval_depends_on_the_seed_and_on_nothing_else(scattered: Path) -> None:
    def intervals(seed: int) -> dict[str, Estimate | None]:
        summary = summarise(load_runs([scattered]), seed=seed)
        asl = summary.scenarios[0].get("asl")
        assert asl is not None
        return {
            "final": asl.final,
            "improvement": asl.improvement,
            "relative": summary.overall[0].relative,
            "overall improvement": summary.overall[0].improvement,
        }

    first, again, other = intervals(0), intervals(0), intervals(1)
    assert first == again
    for name, interval in first.items():
        second = other[name]
        assert interval is not None and second is not None
        assert interval.value == second.value
        assert interval != second, name


def test_only_runs_that_are_done_count(study: Path, write_run: WriteRun) -> None:
    run = study / "triangle-rust/asl/seed-3"
    write_run(run, seed=3, status="failed", returns={100: [9000]}, steps=120)
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | {"message": "the loss of d is not finite"}))
    asl = only(study)
    assert [one.seed for one in asl.runs] == [0, 1, 2]
    assert asl.missing == {3: "failed at 120 of 1,000 steps: the loss of d is not finite"}
    assert only(study, "ppo").missing == {3: "not run"}


def test_where_none_is_done_all_count_and_the_page_says_so(tmp_path: Path, write_run: WriteRun) -> None:
    for seed, last in enumerate((200, 300)):
        returns = {step: [1.0] for step in range(100, last + 1, 100)}
        write_run(tmp_path / str(seed), seed=seed, status="running", returns=returns, steps=last)
    summary = only(tmp_path)
    assert summary.returns is not None and summary.returns.steps.tolist() == [100, 200]
    assert summary.missing == {}
    assert "no run is done" in summary.notes[0] and "seed 1 running at 300 of 1,000 steps" in summary.notes[0]
    assert "2 evaluations so far" in summary.notes[1]


def test_a_grid_tells_which_seeds_and_methods_are_missing(study: Path) -> None:
    announce(study, ["ppo", "msl"], range(4))
    scenario = summarise(load_runs([study])).scenarios[0]
    assert [method.method for method in scenario.methods] == ["ppo", "asl", "msl"]
    assert scenario.methods[0].missing == {3: "not run"}
    assert scenario.methods[2].missing == dict.fromkeys(range(4), "not run")


def test_a_scenario_of_which_nothing_was_run_is_listed(study: Path, tmp_path: Path) -> None:
    announce(study, ["ppo", "asl"], range(3), ["triangle-rust", "A1.1"])
    summary = summarise(load_runs([study]))
    assert [scenario.name for scenario in summary.scenarios] == ["A1.1", "triangle-rust"]
    assert [method.missing for method in summary.scenarios[0].methods] == [
        dict.fromkeys(range(3), "not run")
    ] * 2
    assert "6 of 12" in render(summary)


@pytest.mark.parametrize("name", ["run.json", "truth.json"])
def test_an_unreadable_run_is_missing_once_and_in_its_place(study: Path, name: str) -> None:
    """Known from the grid, or from its record if another file is damaged."""
    if name == "run.json":
        announce(study, ["ppo", "asl"], range(3))
    (study / "triangle-rust/asl/seed-1" / name).write_text("{")
    summary = summarise(load_runs([study]))
    missing = [method.missing for method in summary.scenarios[0].methods]
    assert (missing[0], list(missing[1])) == ({}, [1])
    assert missing[1][1].startswith("cannot be read: ") and name in missing[1][1]
    assert summary.unreadable == {}
    assert "5 of 6" in render(summary)


def test_failed_runs_are_in_no_average_even_where_none_is_done(tmp_path: Path, write_run: WriteRun) -> None:
    for seed, status in enumerate(("failed", "running")):
        write_run(tmp_path / str(seed), seed=seed, status=status, returns={100: [100.0 * seed]}, steps=100)
    summary = only(tmp_path)
    assert [run.seed for run in summary.runs] == [1]
    assert summary.missing == {0: "failed at 100 of 1,000 steps"}
    write_run(tmp_path / "1", seed=1, status="failed", returns={100: [100.0]}, steps=100)
    summary = only(tmp_path)
    assert (summary.runs, summary.final_scores, list(summary.missing)) == ([], [], [0, 1])


def test_seeds_of_different_configurations_are_told(tmp_path: Path, write_run: WriteRun) -> None:
    for seed in range(2):
        config = {"hyperparameters": {"max_shift": 0.1 * seed, "gamma": 0.99}}
        write_run(tmp_path / str(seed), seed=seed, returns={1: [0]}, config=config)
    assert "max_shift differ" in only(tmp_path).notes[-1]


def test_another_robot_is_another_scenario_without_the_papers_figures(
    tmp_path: Path, write_run: WriteRun
) -> None:
    for method, env in (("ppo", None), ("asl", "ambidex/AntMujoco-v0"), ("psl", "ambidex/Ant-v0")):
        place = tmp_path / method
        write_run(place, scenario="A1.1", method=method, config={"env": env}, returns={1: [2.0]})
    summary = summarise(load_runs([tmp_path]))
    own, other = summary.scenarios
    assert (own.name, [method.method for method in own.methods]) == ("A1.1", ["ppo", "psl"])
    assert own.published
    assert other.name == "A1.1 on ambidex/AntMujoco-v0"
    assert not other.published
    assert other.methods[0].improvement is None


def test_settings_that_methods_should_share_are_told(tmp_path: Path, write_run: WriteRun) -> None:
    """A symmetry loss has weights of its own; what is PPO's in both must be the same."""
    for method, steps, gamma, weight in (("ppo", 256, 0.99, 0.05), ("asl", 2560, 0.9, 0.3)):
        for seed in range(2):
            hyperparameters = {"gamma": gamma, "policy_weight": weight, "n_steps": 64}
            config = {"steps": steps, "hyperparameters": hyperparameters}
            write_run(tmp_path / method / str(seed), method=method, seed=seed, config=config)
    assert summarise(load_runs([tmp_path])).scenarios[0].differing == []  # nothing is counted yet
    for path in tmp_path.rglob("evaluations.csv"):
        path.write_text("iteration,steps,episode,goal,return,length\n1,100,0,0,5.0,50\n")
    assert summarise(load_runs([tmp_path])).scenarios[0].differing == ["steps", "gamma"]


def test_rejection_is_shown_for_planes(study: Path) -> None:
    assert list(only(study).rejection) == ["a", "b", "c"]


def test_over_all_scenarios(tmp_path: Path, write_run: WriteRun) -> None:
    """ASL has twice PPO's return on one scenario and half of it on the other."""
    for scenario, gain in (("A1.1", 2), ("A2.1", 0.5)):
        for method, value in (("ppo", 100.0), ("asl", 100.0 * gain)):
            for seed in range(4):
                place = tmp_path / scenario / method / str(seed)
                write_run(place, scenario=scenario, method=method, seed=seed, returns={1: [value]})
    (overall,) = summarise(load_runs([tmp_path])).overall
    assert (overall.method, overall.scenarios) == ("asl", ["A1.1", "A2.1"])
    assert overall.relative == Estimate(1.25, 1.25, 1.25)
    assert overall.improvement == Estimate(0.5, 0.5, 0.5)


def test_negative_returns_are_not_divided(tmp_path: Path, write_run: WriteRun) -> None:
    for scenario in ("triangle", "triangle-rust"):
        for method, value in (("ppo", -100.0), ("asl", -50.0)):
            write_run(tmp_path / scenario / method, scenario=scenario, method=method, returns={1: [value]})
    (overall,) = summarise(load_runs([tmp_path])).overall
    assert overall.relative is None
    assert overall.improvement.value == 1


def test_the_fit_is_of_the_runs_that_count(study: Path, write_run: WriteRun) -> None:
    metrics = fitted_metrics((1.0, 50.0, 3.0), [100])
    write_run(study / "x", seed=9, status="failed", metrics=metrics, truth=True, returns={100: [1]})
    asl = only(study)
    assert asl.fit is not None and asl.fit.pairs[0].mean == pytest.approx(2.0)
