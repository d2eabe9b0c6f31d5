"""The verbs that train and use runs, as a person types them."""

import json

import pytest
import typer.main
from typer.testing import CliRunner

from ambidex.cli import command_line as cli
from ambidex.experiment.many_runs import sweep
from ambidex.experiment.one_run.run import RunFailed

runner = CliRunner()


def _settings(tiny):
    return [part for key, value in tiny.items() if key != "steps" for part in ("--set", f"{key}={value}")]


def _run(*arguments, code=0):
    result = runner.invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def test_train_resume_status_evaluate(tmp_path, tiny):
    directory = tmp_path / "run"
    output = _run(
        "train", "triangle-rust", "--method", "asl", "--steps", 256, "--out", directory, *_settings(tiny)
    )
    assert "triangle-rust asl seed 0: 256 of 256 steps" in output
    assert f"done: {directory}" in output
    assert f"done: {directory}" in _run("resume", directory)
    extended = _run("resume", directory, "--steps", 512)
    assert "triangle-rust asl seed 0: 512 of 512 steps" in extended
    (row,) = json.loads(_run("status", directory, "--json"))
    assert (row["state"], row["steps"]) == ("done", 512)
    assert "512 of 512" in _run("status", directory)
    evaluated = json.loads(_run("evaluate", directory, "--episodes", 2, "--policy", "last", "--json"))
    assert [entry["episodes"] for entry in evaluated["goals"]] == [2]
    assert {entry["isometry"] for entry in evaluated["symmetry"]} == {"xz", "m60", "m120", "r120", "r240"}
    assert "mean return" in _run("evaluate", directory, "--episodes", 1)


def test_steps_that_are_no_whole_iterations_are_said_at_the_start(tmp_path, monkeypatch):
    from ambidex.experiment.one_run import run

    def two_iterations(config, directory, *, reporter):
        reporter.update(steps=8192, episode_return=1.0, best=None)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "train", two_iterations)
    words = ["train", "--env", "ambidex/Triangle-v0", "--method", "ppo", "--out", tmp_path / "run"]
    first, second, _ = _run(*words, "--set", "n_steps=4096", "--steps", 5000, code=130).splitlines()
    assert first == "5,000 steps are 2 iterations of 4,096, 8,192 steps"
    assert second.startswith("ambidex/Triangle-v0 ppo seed 0: 8,192 of 8,192 steps")
    (line, _) = _run(*words, "--set", "n_steps=4096", "--steps", "8_192", code=130).splitlines()
    assert line.startswith("ambidex/Triangle-v0 ppo seed 0: 8,192 of 8,192 steps")


@pytest.mark.parametrize("algorithm", ["a2c", "trpo"])
def test_another_algorithm_from_training_to_export(algorithm, tmp_path, tiny):
    directory = tmp_path / "run"
    settings = _settings({key: tiny[key] for key in ("n_steps", "num_envs", "net_arch", "evaluation_every")})
    words = ["train", "triangle-rust", "--algorithm", algorithm, "--method", "msl", "--steps", 512]
    output = _run(*words, "--out", directory, "--set", "rounds=1", *settings)
    assert f"triangle-rust {algorithm}-msl seed 0: 512 of 512 steps" in output
    assert json.loads((directory / "run.json").read_text())["config"]["algorithm"] == algorithm
    assert "mean return" in _run("evaluate", directory, "--episodes", 1)
    assert f"triangle-rust, {algorithm}-msl, seed 0" in _run("diagnose", directory, "--states", 64)
    assert "equal to the policy" in _run("export", directory, "--onnx", tmp_path / "policy.onnx")
    refused = runner.invoke(cli.app, ["train", "triangle", "--algorithm", "a2c", "--set", "clip_range=0.1"])
    assert "takes no clip_range" in str(refused.exception)


def test_several_words_after_one_option(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(sweep, "sweep", lambda runs, out, **options: seen.append((runs, options)) or [])
    words = "sweep --scenarios A1.1 A2.1 --methods ppo asl --seeds 2 --set gamma=0.5 --jobs 3 --out"
    assert "8 runs" in _run(*words.split(), tmp_path)
    ((runs, options),) = seen
    assert {run.config.scenario for run in runs} == {"A1.1", "A2.1"}
    assert {run.config.method for run in runs} == {"ppo", "asl"}
    assert {run.config.hyperparameters.gamma for run in runs} == {0.5}
    assert (options["engine"], options["jobs"]) == ("local", 3)


def test_a_robot_of_ones_own_is_tuned_as_it_is_trained(tmp_path, monkeypatch):
    from ambidex.experiment.tuning import search

    seen = []

    def stop(task, space, out, **options):
        seen.append(task)
        raise RunFailed("seen")

    monkeypatch.setattr(search, "search", stop)
    space = tmp_path / "space.yaml"
    space.write_text("target_kl: [0.01, 0.02]\n")
    words = "tune --env carts:Cart-v0 --symmetry cart.yaml --env-arg weak=0.5 --num-envs 8 --normalize"
    _run(
        *words.split(),
        "--stepping",
        "processes",
        "--algorithm",
        "trpo",
        "--space",
        space,
        "--budget",
        "1e5",
        "--out",
        tmp_path,
        code=1,
    )
    (task,) = seen
    assert task.budget == 100_000
    assert task.overrides == {
        "env": "carts:Cart-v0",
        "env_args": {"weak": 0.5},
        "num_envs": 8,
        "stepping": "processes",
        "normalize": True,
        "symmetry": "cart.yaml",
        "algorithm": "trpo",
    }


def test_a_search_keeps_its_page_up_to_date_and_says_when_nothing_was_found(tmp_path, monkeypatch):
    from ambidex.experiment.tuning import search, task
    from ambidex.report.publish import tuning_page

    written = []
    write = tuning_page.write_tuning_page
    monkeypatch.setattr(tuning_page, "write_tuning_page", lambda out: written.append(write(out)))
    monkeypatch.setattr(search, "sweep", lambda runs, out, **how: [])
    monkeypatch.setattr(task.Task, "returns", lambda task, runs: {"triangle": 1.0})
    space = tmp_path / "space.yaml"
    space.write_text("gamma: [0.9, 0.99]\n")
    words = ["tune", "--scenarios", "triangle", "--space", space, "--budget", 900, "--jobs", 1]
    assert "best: trial 0 with 1" in _run(*words, "--trials", 3, "--out", tmp_path / "found")
    assert len(written) == 4  # after each trial, and at the end

    def broken(task, values):
        if values:
            raise ValueError("no such network")

    monkeypatch.setattr(task.Task, "build", broken)
    said = _run(*words, "--trials", 1, "--out", tmp_path / "nothing", code=1)
    assert "no trial had the whole budget" in said
    assert "no such network" in (tmp_path / "nothing" / "tune.html").read_text()


def test_a_search_counts_by_the_papers_best_and_takes_the_engine(tmp_path, monkeypatch):
    from ambidex.experiment.tuning import search

    seen = []

    def stop(task, space, out, **options):
        seen.append((task, options))
        raise RunFailed("seen")

    monkeypatch.setattr(search, "search", stop)
    words = "tune --scenarios A1.1 A4.1 triangle --reference triangle=50 --reference A4.1=2000 --engine ray"
    _run(*words.split(), "--jobs", 3, "--trials", 7, "--out", tmp_path, code=1)
    ((task, options),) = seen
    assert task.references == {"A1.1": 2183.0, "A4.1": 2000.0, "triangle": 50.0}
    assert (options["engine"], options["jobs"], options["trials"]) == ("ray", 3, 7)


@pytest.mark.parametrize(
    "words",
    [
        "evaluate {} --episodes 0",
        "play {} --video film.gif --seconds 0",
        "sweep --scenarios triangle --methods ppo --out {} --jobs 0",
        "sweep --scenarios triangle --methods ppo --out {} --seeds 0",
    ],
)
def test_numbers_that_mean_nothing_are_refused(finished, words):
    option = words.split()[-2]
    assert option in _run(*words.format(finished).split(), code=2)


def test_a_failed_run_of_a_sweep_ends_with_status_1(tmp_path, monkeypatch):
    def fail(runs, out, **options):
        outcome = sweep.Outcome(runs[0], "failed", "out of luck")
        options["listener"](outcome)
        return [outcome]

    monkeypatch.setattr(sweep, "sweep", fail)
    output = _run("sweep", "--scenarios", "A1.1", "--methods", "ppo", "--out", tmp_path, code=1)
    assert "out of luck" in output


def test_a_run_that_breaks_ends_with_status_1(tmp_path, monkeypatch):
    from ambidex.experiment.one_run import run

    def fail(*arguments, **options):
        raise RunFailed("transform 'xz': the policy loss became nan")

    monkeypatch.setattr(run, "train", fail)
    assert "transform 'xz'" in _run("train", "A1.1", "--out", tmp_path / "run", code=1)


@pytest.mark.parametrize("verb", list(typer.main.get_command(cli.app).commands))
def test_every_verb_shows_an_example(verb):
    assert f"Example: ambidex {verb}" in _run(verb, "--help")


def test_other_algorithms_are_tuned_with_a_space_of_their_own(tmp_path, monkeypatch, capsys):
    words = [
        "ambidex",
        "tune",
        "--scenarios",
        "triangle",
        "--algorithm",
        "sac",
        "--out",
        str(tmp_path / "out"),
    ]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit):
        cli.main()
    assert "the search space that ships is for PPO; give sac one (--space)" in capsys.readouterr().err


def test_wrong_input_is_one_line_and_status_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["ambidex", "resume", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "not a run directory" in error
    assert len(error.strip().splitlines()) == 1
