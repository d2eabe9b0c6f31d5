"""A search on the triangle: it finds the better of two settings, and a SIGKILL costs nothing."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

import ambidex.experiment.tuning.search as searching
from ambidex.experiment.configure import presets
from ambidex.experiment.configure.presets import configure
from ambidex.experiment.many_runs.status import status
from ambidex.experiment.many_runs.sweep import Outcome, PlannedRun
from ambidex.experiment.one_run.run import RunFailed
from ambidex.experiment.tuning.search import open_study, read_search, search, write_best
from ambidex.experiment.tuning.space import parse_space
from ambidex.experiment.tuning.task import Task
from ambidex.report.publish.tuning_page import write_tuning_page

optuna = pytest.importorskip("optuna")

SETTINGS = {"n_steps": 16, "num_envs": 8, "n_epochs": 4, "evaluation_every": 4, "evaluation_episodes": 4}
SPACE = {"learning_rate": [1.0e-9, 3.0e-3]}
BUDGET = 128 * 36
SEED = 0  # proposes one of each
PRESET = presets._preset


def task() -> Task:
    return Task(("triangle",), "equivariant", BUDGET, references={"triangle": 49.5}, overrides=SETTINGS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search of two trials that nobody disturbed."""
    out = tmp_path_factory.mktemp("search")
    search(task(), parse_space(SPACE, "test"), out, trials=2, seed=SEED, jobs=2)
    return out


def scores(out: Path) -> list[tuple[dict, dict, str]]:
    trials = open_study(out).get_trials()
    return [(trial.params, trial.intermediate_values, trial.state.name) for trial in trials]


def test_it_finds_the_better_of_two_settings(finished: Path) -> None:
    study = open_study(finished)
    assert {trial.params["learning_rate"] for trial in study.trials} == {"1e-09", "0.003"}
    assert study.best_params == {"learning_rate": "0.003"}
    assert study.best_value > 0.85
    config = configure(finished / "best.yaml", [], scenario="triangle-rust", seed=4)
    h = config.hyperparameters
    assert (config.method, config.seed, h.learning_rate, h.n_steps) == ("equivariant", 4, 3e-3, 16)
    assert len(status(finished)) == 2
    command = [sys.executable, "-m", "ambidex.cli", "status", str(finished)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(f"trial-000{trial}/" in shown for trial in (0, 1))  # their titles are the same


def test_the_worse_one_is_stopped_early(finished: Path) -> None:
    worse = next(trial for trial in open_study(finished).trials if trial.params["learning_rate"] == "1e-09")
    assert worse.state.name == "PRUNED"
    assert 9 not in worse.intermediate_values
    steps = {row.directory.parts[-4]: row.steps for row in status(finished)}
    assert steps[f"trial-{worse.number:04d}"] < BUDGET == max(steps.values())


def test_more_trials_go_on_and_another_search_in_its_place_is_refused(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    space = parse_space(SPACE, "test")
    search(task(), space, out, trials=2, seed=SEED)
    assert scores(out) == scores(finished)
    other = Task(("triangle",), "ppo", BUDGET, references={"triangle": 49.5}, overrides=SETTINGS)
    with pytest.raises(ValueError, match="a search with another method;"):
        search(other, space, out, trials=2)
    with pytest.raises(ValueError, match="a search with another space;"):
        search(task(), parse_space({"gamma": [0.9, 0.99]}, "test"), out, trials=2)
    assert read_search(out) == (task(), space)


def test_a_search_does_not_go_on_with_another_preset(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    monkeypatch.setattr(presets, "_preset", lambda *names: PRESET(*names) | {"std_floor": 0.25})
    with pytest.raises(ValueError, match=r"began with another std_floor: the preset"):
        search(task(), parse_space(SPACE, "test"), out, trials=3)
    assert scores(out) == scores(finished)


@pytest.mark.parametrize("given", [None, [], {"triangle": None}])
def test_a_record_that_is_none_is_refused_in_words(given: Any, finished: Path, tmp_path: Path) -> None:
    about = json.loads((finished / "tune.json").read_text())
    (tmp_path / "tune.json").write_text(json.dumps(about | {"given": given}))
    with pytest.raises(ValueError, match="is not the record of a search"):
        search(task(), parse_space(SPACE, "test"), tmp_path, trials=2)


def test_a_search_that_is_killed_goes_on_where_it_was(finished: Path, tmp_path: Path) -> None:
    space = tmp_path / "space.yaml"
    space.write_text("learning_rate: [1.0e-9, 3.0e-3]\n")
    out = tmp_path / "search"
    command = [sys.executable, "-m", "ambidex.cli", "tune", "--scenarios", "triangle", "--out", str(out)]
    command += ["--space", str(space), "--budget", str(BUDGET), "--trials", "2", "--seed", str(SEED)]
    command += ["--reference", "triangle=49.5", "--jobs", "2"]
    command += [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        for line in killed.stdout:
            if "goes on" in line:  # it stands between two rungs, its runs about to be extended
                break
        killed.send_signal(signal.SIGKILL)
    assert "RUNNING" in [state for _, _, state in scores(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert scores(out) == scores(finished)
    assert f"{out}/best.yaml" in done.stdout
    assert (out / "best.yaml").read_text() == (finished / "best.yaml").read_text()


def test_the_best_setting_is_what_its_trial_was_trained_with(tmp_path: Path) -> None:
    space = parse_space({"learning_rate": {"low": 1.0e-4, "high": 1.0e-2}}, "test")
    fixed = {
        "hyperparameters": {"gamma": 0.5, "vf_coef": 0.25},
        "vf_coef": 0.75,
        "metrics_every": 2,
        "evaluation_every": 7,
    }
    small = Task(("triangle",), "ppo", 128, overrides=fixed)
    study = open_study(tmp_path, create=True)
    trial = study.ask({"learning_rate": optuna.distributions.FloatDistribution(1e-4, 1e-2)})
    study.tell(trial, 1.0)
    write_best(study, small, space, tmp_path)
    config = configure(tmp_path / "best.yaml", [], scenario="triangle", steps=128)
    h = config.hyperparameters
    assert (h.learning_rate, h.gamma, h.vf_coef) == (trial.params["learning_rate"], 0.5, 0.75)
    assert (config.metrics_every, config.evaluation_every) == (2, 7)
    assert [config] == small.configs(trial.params, 128)


@pytest.mark.parametrize("fixed", [{"gamma": 0.9}, {"hyperparameters": {"gamma": 0.9}}])
def test_what_is_searched_for_is_not_fixed_as_well(fixed: dict, tmp_path: Path) -> None:
    both = Task(("triangle",), "ppo", 128, overrides=fixed)
    with pytest.raises(ValueError, match="gamma is both in the search space and fixed"):
        search(both, parse_space({"gamma": [0.9, 0.99]}, "test"), tmp_path, trials=1)


@pytest.mark.parametrize(
    ("name", "option"), [("steps", "--budget"), ("method", "--method"), ("seed", "--seeds")]
)
def test_what_a_search_decides_is_not_set(name: str, option: str) -> None:
    with pytest.raises(ValueError, match=f"{name} .* {option}"):
        Task(("triangle",), "ppo", 128, overrides={name: 64})


@pytest.fixture
def returns_gamma(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained: a trial returns its gamma at every rung."""
    monkeypatch.setattr(searching, "sweep", lambda runs, out, **options: [])
    monkeypatch.setattr(
        Task, "returns", lambda task, runs: {"triangle": runs[0].config.hyperparameters.gamma}
    )


def search_gammas(out: Path, gammas: list[float], at_once: int) -> list[tuple[float, list[int], str]]:
    """Try these in this order, or go on with it; of each trial its gamma, its rungs and how it ended."""
    if not (out / "study.db").exists():
        study = open_study(out, create=True)
        for gamma in gammas:
            study.enqueue_trial({"gamma": gamma})
    space = parse_space({"gamma": {"low": 0.0, "high": 1.0}}, "test")
    batches = iter(range(len(gammas)))  # next() fails when there are more: it goes around in circles
    search(
        Task(("triangle",), "ppo", 900),
        space,
        out,
        trials=len(gammas),
        jobs=at_once,
        after_batch=lambda: next(batches),
    )
    return [(params["gamma"], sorted(values), state) for params, values, state in scores(out)]


@pytest.mark.usefixtures("returns_gamma")
@pytest.mark.parametrize("falling", [False, True])
def test_the_better_third_goes_on_in_whatever_order_they_come(falling: bool, tmp_path: Path) -> None:
    gammas = sorted((one / 10 for one in range(1, 10)), reverse=falling)
    ends = dict.fromkeys(gammas, ([1], "PRUNED"))
    ends |= {0.7: ([1, 3], "PRUNED"), 0.8: ([1, 3], "PRUNED"), 0.9: ([1, 3, 9], "COMPLETE")}
    found = search_gammas(tmp_path, gammas, at_once=9)
    assert found == [(gamma, *ends[gamma]) for gamma in gammas]


class Killed(BaseException):
    pass


@pytest.mark.usefixtures("returns_gamma")
@pytest.mark.parametrize("writes", [1, 3, 4, 6, 7])
def test_a_kill_between_any_two_writes_changes_nothing(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first three trials, whose scores are written one by one before any of them is judged."""
    left = [writes]

    def killing(write: Any) -> Any:
        def wrapped(*values: Any, **named: Any) -> None:
            write(*values, **named)
            left[0] -= 1
            if left[0] == 0:
                raise Killed

        return wrapped

    monkeypatch.setattr(optuna.Trial, "report", killing(optuna.Trial.report))
    monkeypatch.setattr(optuna.Study, "tell", killing(optuna.Study.tell))
    gammas = [0.5, 0.6, 0.7, 0.9]  # the last one comes when the others have ended, and stops none of them
    with pytest.raises(Killed):
        search_gammas(tmp_path, gammas, at_once=3)
    assert search_gammas(tmp_path, gammas, at_once=3) == [
        (0.5, [1], "PRUNED"),
        (0.6, [1], "PRUNED"),
        (0.7, [1, 3, 9], "COMPLETE"),
        (0.9, [1, 3, 9], "COMPLETE"),
    ]


def test_a_setting_that_breaks_the_run_is_a_bad_trial(tmp_path: Path) -> None:
    space = parse_space({"learning_rate": [1.0e30]}, "test")
    small = Task(("triangle",), "ppo", 128, overrides=SETTINGS)
    study = search(small, space, tmp_path, trials=1, jobs=1)
    (trial,) = study.trials
    assert trial.state.name == "PRUNED"
    assert "nan or infinity" in trial.user_attrs["reason"]
    assert not (tmp_path / "best.yaml").exists()
    assert "nan or infinity" in write_tuning_page(tmp_path).read_text()


@pytest.mark.usefixtures("returns_gamma")
def test_seeds_propose_settings_of_their_own(tmp_path: Path) -> None:
    space = parse_space({"gamma": {"low": 0.0, "high": 1.0}}, "test")
    proposed = []
    for seed in range(3):
        out = tmp_path / str(seed)
        study = search(Task(("triangle",), "ppo", 900), space, out, trials=6, seed=seed, jobs=1)
        proposed += [trial.params["gamma"] for trial in study.trials[1:]]  # after the preset
    assert len(set(proposed)) == len(proposed)


def test_a_robot_that_cannot_be_built_is_refused_before_any_trial(tmp_path: Path) -> None:
    space = parse_space({"gamma": [0.9, 0.99]}, "test")
    out = tmp_path / "search"
    for robot in (
        {"env": "nosuchmodule:Robot-v0", "symmetry": "ant"},
        {"env": "Ant-v5", "symmetry": "no.yaml"},
    ):
        with pytest.raises((ValueError, OSError), match=r"nosuchmodule|no\.yaml"):
            search(Task((), "ppo", 128, overrides=robot), space, out, trials=1)
    with pytest.raises(ValueError, match="'trangle'"):
        search(Task(("trangle",), "ppo", 128), space, out, trials=1)
    assert not out.exists()


def broken_robot(task: Task, values: dict[str, Any]) -> None:
    raise ValueError("no such robot")


def test_a_worker_that_was_killed_ends_the_search_and_its_trial_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = parse_space({"gamma": [0.9]}, "test")
    small = Task(("triangle",), "ppo", 128, overrides=SETTINGS)

    def killing(runs: list[PlannedRun], out: Path, **options: Any) -> list[Outcome]:
        return [Outcome(runs[0], "failed", "killed by signal 9")]

    with monkeypatch.context() as patched:
        patched.setattr(searching, "sweep", killing)
        with pytest.raises(RunFailed, match="killed by signal 9; mend the cause"):
            search(small, space, tmp_path, trials=1)
        patched.setattr(Task, "build", broken_robot)
        with pytest.raises(ValueError, match="no such robot"):
            search(small, space, tmp_path, trials=1)
    assert [state for _, _, state in scores(tmp_path)] == ["RUNNING"]
    search(small, space, tmp_path, trials=1, jobs=1)
    assert [state for _, _, state in scores(tmp_path)] == ["COMPLETE"]


@pytest.mark.usefixtures("returns_gamma")
def test_a_search_does_not_go_on_with_another_robot_in_the_same_file(tmp_path: Path) -> None:
    file, out = tmp_path / "limp.yaml", tmp_path / "search"
    text = (
        "limp:\n  env: ambidex/Triangle-v0\n  symmetry: triangle\n  description: one limb is rusty\n"
        "  perturbations: [{kind: rust, resistances: [1, 2, 1]}]\n"
    )
    file.write_text(text)
    space = parse_space({"gamma": [0.9, 0.99]}, "test")
    limping = Task((str(file),), "ppo", 128)
    search(limping, space, out, trials=1)
    search(limping, space, out, trials=1)
    file.write_text(text.replace("[1, 2, 1]", "[1, 3, 1]"))
    with pytest.raises(ValueError, match="began with another scenario file"):
        search(limping, space, out, trials=2)


def test_directories_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    space = parse_space({"gamma": [0.9, 0.99]}, "test")
    small = Task(("triangle",), "ppo", 128)
    (tmp_path / "study.db").write_text("garbage")
    with pytest.raises(ValueError, match=r"study\.db is damaged"):
        search(small, space, tmp_path, trials=1)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="holds a run; choose another"):
        search(small, space, tmp_path, trials=1)


def test_values_that_do_not_go_together_are_a_bad_trial(tmp_path: Path) -> None:
    """Each of them does with the preset's, so that the search is not refused."""
    space = parse_space({"n_steps": [1, 128], "num_envs": [1, 8]}, "test")
    small = Task(("triangle",), "ppo", 18 * 1024)
    study = open_study(tmp_path, create=True)
    study.enqueue_trial({"n_steps": "1", "num_envs": "1"})
    for _ in range(2):  # the same command again changes nothing
        study = search(small, space, tmp_path, trials=1, jobs=1)
        (trial,) = study.trials
        assert trial.state.name == "PRUNED"
        assert "takes two states" in trial.user_attrs["reason"]


def test_the_best_setting_is_written_though_an_earlier_call_ended_before_it_was(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    (out / "best.yaml").unlink()
    search(task(), parse_space(SPACE, "test"), out, trials=2, seed=SEED)
    assert (out / "best.yaml").read_text() == (finished / "best.yaml").read_text()


@pytest.mark.usefixtures("returns_gamma")
def test_what_is_proposed_does_not_depend_on_a_kill_between_two_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = {"low": 0.1, "high": 0.9}
    space = parse_space({"gamma": wide, "gae_lambda": wide, "clip_range": wide}, "test")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    search(Task(("triangle",), "ppo", 900), space, whole, trials=3, jobs=1)
    left, suggest = [5], optuna.Trial.suggest_float

    def killing(*values: Any, **named: Any) -> float:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return suggest(*values, **named)

    with monkeypatch.context() as patched:
        patched.setattr(optuna.Trial, "suggest_float", killing)
        with pytest.raises(Killed):
            search(Task(("triangle",), "ppo", 900), space, broken, trials=3, jobs=1)
    assert "RUNNING" in [state for _, _, state in scores(broken)]
    search(Task(("triangle",), "ppo", 900), space, broken, trials=3, jobs=1)
    assert scores(broken) == scores(whole)


@pytest.mark.usefixtures("returns_gamma")
def test_a_study_that_somebody_holds_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = parse_space({"gamma": {"low": 0.1, "high": 0.9}}, "test")
    small = Task(("triangle",), "ppo", 900)
    search(small, space, tmp_path, trials=1, jobs=1)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *words, **named: connect(*words, **named | {"timeout": 0}))
    with closing(connect(tmp_path / "study.db")) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ValueError, match=r"study\.db: database is locked; mend the cause"):
            search(small, space, tmp_path, trials=2, jobs=1)
    # Or somebody takes it while trials are under way.
    holder = connect(tmp_path / "study.db")

    def held(trial: Any, name: str, low: float, high: float, **named: Any) -> float:
        holder.execute("BEGIN EXCLUSIVE")
        return suggest(trial, name, low, high, **named)

    suggest = optuna.Trial.suggest_float
    with monkeypatch.context() as patched, closing(holder):
        patched.setattr(optuna.Trial, "suggest_float", held)
        with pytest.raises(RunFailed, match=r"study\.db: .*locked; mend the cause"):
            search(small, space, tmp_path, trials=2, jobs=1)
    assert len(search(small, space, tmp_path, trials=2, jobs=1).trials) == 2


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, dict[str, Any]]]:
    """Nothing is trained, and what the engine was asked for is written down: runs at once, and how."""
    seen: list[tuple[int, dict[str, Any]]] = []
    monkeypatch.setattr(searching, "sweep", lambda runs, out, **how: seen.append((len(runs), how)) or [])
    monkeypatch.setattr(Task, "returns", lambda task, runs: dict.fromkeys(task.robots, 1.0))
    return seen


def test_whole_numbers_and_factors_are_proposed_as_such(tmp_path: Path, swept: list[Any]) -> None:
    rates = {"low": 1e-9, "high": 1e-1, "log": True}
    space = parse_space({"n_epochs": {"low": 2, "high": 40}, "learning_rate": rates}, "test")
    study = search(Task(("triangle",), "ppo", 900), space, tmp_path, trials=30, jobs=1)  # beyond TPE's start
    epochs, tried = ([trial.params[name] for trial in study.trials] for name in space)
    assert all(isinstance(one, int) and 2 <= one <= 40 for one in epochs)
    assert len(set(epochs)) > 8
    assert sorted(tried)[len(tried) // 2] < 1e-3  # evenly spread it would be near 0.05


def test_as_many_trials_at_once_as_the_engine_has_room_for(
    tmp_path: Path, swept: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = parse_space({"gamma": {"low": 0.1, "high": 0.9}}, "test")
    references = {"triangle": 50.0, "triangle-rust": 50.0}
    two = Task(("triangle", "triangle-rust"), "ppo", 900, seeds=2, references=references)
    search(two, space, tmp_path / "local", trials=4, jobs=9)  # two trials of four runs
    assert swept[0] == (8, {"engine": "local", "jobs": 9})
    assert all(count <= 8 for count, _ in swept)

    swept.clear()
    pytest.importorskip("ray")
    from ambidex.experiment.many_runs import ray as cluster

    monkeypatch.setattr(cluster, "started", nullcontext)
    monkeypatch.setattr(cluster, "cores", lambda: 13)
    search(two, space, tmp_path / "ray", trials=4, engine="ray")
    assert swept[0] == (12, {"engine": "ray", "jobs": None})


def test_a_setting_that_the_method_does_not_take_is_not_searched_for(tmp_path: Path) -> None:
    space = parse_space({"max_shift": {"low": 0.1, "high": 0.9}}, "test")
    with pytest.raises(ValueError, match="'ppo' takes no max_shift, which is for asl"):
        search(Task(("triangle",), "ppo", 900), space, tmp_path, trials=1)


def test_a_path_that_the_study_cannot_have_is_refused(tmp_path: Path) -> None:
    space = parse_space({"gamma": [0.9, 0.99]}, "test")
    with pytest.raises(ValueError, match=r"a path with a '\?'"):
        search(Task(("triangle",), "ppo", 900), space, tmp_path / "what?", trials=1)
    assert not list(tmp_path.iterdir())


def test_a_study_of_another_version_of_optuna_is_named(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "study.db", tmp_path)
    with closing(sqlite3.connect(tmp_path / "study.db")) as database, database:
        database.execute("UPDATE version_info SET schema_version = 99")
        database.execute("UPDATE alembic_version SET version_num = 'v99.0.0.a'")
    with pytest.raises(ValueError, match=r"study\.db was written by another version of Optuna"):
        open_study(tmp_path)


def test_the_order_of_a_space_changes_nothing(tmp_path: Path, swept: list[Any]) -> None:
    wide = {"low": 0.1, "high": 0.9}
    orders = (["gamma", "gae_lambda"], ["gae_lambda", "gamma"])
    found = [
        search(
            Task(("triangle",), "ppo", 900),
            parse_space(dict.fromkeys(names, wide), "test"),
            tmp_path / names[0],
            trials=3,
            jobs=1,
        )
        for names in orders
    ]
    assert [trial.params for trial in found[0].trials] == [trial.params for trial in found[1].trials]


def test_the_best_setting_says_that_it_names_code(tmp_path: Path) -> None:
    robot = {"env": "tests.experiment.own_robot:Cart-v0", "symmetry": "cart.yaml"}
    own = Task((), "ppo", 900, overrides=robot)
    space = parse_space({"gamma": [0.9, 0.99]}, "test")
    study = open_study(tmp_path, create=True)
    trial = study.ask({"gamma": optuna.distributions.CategoricalDistribution(["0.9", "0.99"])})
    study.tell(trial, 1.0)
    write_best(study, own, space, tmp_path)
    assert "--trust only" in (tmp_path / "best.yaml").read_text()
