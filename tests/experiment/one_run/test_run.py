import csv
import fcntl
import json
import math
import os
import subprocess
import sys
import threading
import time

import gymnasium as gym
import numpy as np
import pytest
import torch

from ambidex import symmetry
from ambidex.common.files import read_arrays
from ambidex.experiment.configure import build
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, run
from ambidex.experiment.one_run.metrics import COLUMNS
from ambidex.experiment.one_run.run import RunFailed
from ambidex.experiment.one_run.training import LOGGED, Training
from ambidex.experiment.one_run.trust.locking import is_locked, lock
from ambidex.experiment.trained import evaluate, stored
from ambidex.learn import SymmetricPPO


class _Listener:
    def __init__(self):
        self.warnings = []
        self.updates = []

    def update(self, **figures):
        self.updates.append(figures)

    def warn(self, message):
        self.warnings.append(message)


def _rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_directory_describes_itself(finished):
    about = json.loads((finished / "run.json").read_text())
    assert (about["format"], about["status"], about["steps"], about["iterations"]) == (1, "done", 512, 4)
    assert about["config"]["scenario"] == "triangle-rust"
    assert about["config"]["hyperparameters"]["num_envs"] == 8
    assert about["versions"]["torch"] == torch.__version__
    assert about["hardware"]["cores"] == os.cpu_count()
    assert {"rollout", "fit", "update", "logging", "evaluation"} <= about["timings"].keys()
    assert symmetry.load(finished / "symmetry.yaml") == symmetry.load("triangle")
    truth = json.loads((finished / "truth.json").read_text())
    assert truth["b"]["multipliers"] == pytest.approx([-1 / 3, -1, -3])


def test_one_row_of_progress_per_iteration(finished):
    rows = _rows(finished / "progress.csv")
    assert [(row["iteration"], row["steps"]) for row in rows] == [
        ("1", "128"),
        ("2", "256"),
        ("3", "384"),
        ("4", "512"),
    ]
    assert rows[0]["episode_return"] == ""  # no episode of 50 steps has ended yet
    assert all(math.isfinite(float(row["symmetry_policy_loss"])) for row in rows)
    assert [row["iteration"] for row in _rows(finished / "timings.csv")] == ["1", "2", "3", "4"]


def test_the_logged_values_stand_under_their_names():
    assert COLUMNS["progress.csv"][4:] == tuple(LOGGED)


def test_evaluations_and_metrics_come_when_they_are_due(finished):
    evaluations = _rows(finished / "evaluations.csv")
    assert [row["iteration"] for row in evaluations] == ["2"] * 4 + ["4"] * 4
    assert [row["episode"] for row in evaluations] == ["0", "1", "2", "3"] * 2
    assert {row["length"] for row in evaluations} == {"50"}
    metrics = _rows(finished / "symmetry.csv")
    assert {row["iteration"] for row in metrics} == {"2", "4"}
    names = {row["metric"] for row in metrics}
    assert {"value_distance", "neutral_rejection_ratio", "value_gate_ratio", "target_m", "map_m"} <= names
    assert list((finished / "tensorboard").glob("events*"))


def test_best_and_last_policy_are_kept(finished):
    best, last = (read_arrays(finished / f"policy-{which}.safetensors") for which in ("best", "last"))
    assert best.keys() == last.keys()
    newest = checkpoint.newest(finished / "checkpoints", pytest.fail)
    for name, array in last.items():
        np.testing.assert_array_equal(array, newest.arrays["policy"][name])


def test_a_run_shorter_than_its_first_evaluation_is_evaluated_at_its_end(tmp_path, tiny):
    config = resolve("triangle", "ppo", tiny | {"steps": 100, "evaluation_every": 15})
    run.train(config, tmp_path / "run")
    assert {row["iteration"] for row in _rows(tmp_path / "run" / "evaluations.csv")} == {"1"}


def test_plain_ppo_measures_value_distances_before_the_update(tiny):
    group = symmetry.load("triangle")
    training = Training(resolve("triangle-rust", "ppo", tiny), group, _Listener())
    training.loop._roll_out()
    model = training.model
    expected = {name: [] for name in group.names}
    for step in range(16):
        for env in range(8):
            state = model.rollout_buffer.observations[step, env]
            value = model.rollout_buffer.values[step, env]
            for name in group.names:
                image = torch.as_tensor(group[name].observation(state))[None]
                expected[name].append(abs(model.policy.predict_values(image).item() - value))
    measured = training.loop.value_distances(group)
    assert [(metric, transform) for metric, transform, _, _ in measured] == [
        ("value_distance", name) for name in group.names
    ]
    for _, transform, _, value in measured:
        assert value == pytest.approx(np.mean(expected[transform]), rel=1e-5)


def test_a_directory_that_holds_a_run_is_refused(finished, tiny):
    with pytest.raises(ValueError, match="ambidex resume"):
        run.train(resolve("triangle-rust", "asl", tiny), finished)
    with pytest.raises(ValueError, match="another method, seed, policy_weight"):
        run.train_or_resume(resolve("triangle-rust", "ppo", tiny | {"seed": 4}), finished)


def test_two_processes_do_not_train_one_run(tmp_path, tiny):
    directory = tmp_path / "run"
    directory.mkdir()
    with lock(directory):
        assert is_locked(directory)
        with pytest.raises(ValueError, match="another process"):
            run.train(resolve("triangle", "ppo", tiny), directory)
    assert not is_locked(directory)


def test_looking_whether_a_run_is_locked_keeps_nobody_out(tmp_path):
    looking = threading.Event()

    def look():
        with (tmp_path / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            looking.set()
            time.sleep(0.2)

    watcher = threading.Thread(target=look)
    watcher.start()
    looking.wait()
    assert not is_locked(tmp_path)
    with lock(tmp_path):
        assert is_locked(tmp_path)
    watcher.join()


def test_wrong_input_leaves_no_directory(tmp_path, tiny):
    for scenario, overrides, words in [
        ("A9.9", {}, "A9.9"),
        (None, {"env": "NoSuch-v0"}, "NoSuch"),
        ("triangle", {"symmetry": "ant"}, "28"),
        ("A2.1", {"env": "CartPole-v1"}, "'CartPole-v1' takes no scenario"),
    ]:
        with pytest.raises(ValueError, match=words):
            run.train(resolve(scenario, "psl" if scenario else "ppo", tiny | overrides), tmp_path / "run")
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["ppo", "asl"])
def test_a_loss_that_breaks_ends_the_run_with_its_last_good_checkpoint(tmp_path, tiny, monkeypatch, method):
    real = SymmetricPPO.collect_rollouts
    calls = []

    def break_third(self, *arguments):
        calls.append(real(self, *arguments))
        if len(calls) == 3:
            self.rollout_buffer.returns[3, 2] = np.nan
        return calls[-1]

    monkeypatch.setattr(SymmetricPPO, "collect_rollouts", break_third)
    directory = tmp_path / "run"
    with pytest.raises(RunFailed, match="loss"):
        run.train(resolve("triangle-rust", method, tiny), directory)
    about = record.read(directory)
    assert about["status"] == "failed"
    assert "loss" in about["message"]
    good = checkpoint.newest(directory / "checkpoints", pytest.fail)
    assert good.iteration == 2
    assert all(np.isfinite(array).all() for array in good.arrays["policy"].values())
    monkeypatch.undo()
    run.resume(directory)
    assert record.read(directory)["status"] == "done"


@pytest.mark.parametrize(
    ("method", "learning_rate"),
    [("ppo", 100), ("ppo", 1e30), ("asl", 1e30)],  # nan weights; finite ones whose deviation overflows
)
def test_a_policy_that_breaks_in_mid_update_is_a_failed_run(tmp_path, tiny, method, learning_rate):
    """With too large a step torch refuses the policy's distribution before any loss is logged."""
    breaking = {"n_epochs": 20, "learning_rate": learning_rate, "fast": False}
    directory = tmp_path / "run"
    with pytest.raises(RunFailed, match=r"nan or infinity.*; no checkpoint was written before it$") as failed:
        run.train(resolve("triangle", method, tiny | breaking), directory)
    assert "\n" not in str(failed.value)
    about = record.read(directory)
    assert (about["status"], about["message"]) == ("failed", str(failed.value.__cause__))


def test_a_step_that_breaks_only_the_policy_reaches_no_checkpoint(tmp_path, tiny, monkeypatch):
    real = SymmetricPPO.train
    calls = []

    def break_third(self):
        calls.append(real(self))
        if len(calls) == 3:
            next(self.policy.parameters()).data[0] = math.inf

    monkeypatch.setattr(SymmetricPPO, "train", break_third)
    directory = tmp_path / "run"
    with pytest.raises(RunFailed, match="the last checkpoint is from before it"):
        run.train(resolve("triangle", "ppo", tiny), directory)
    assert checkpoint.newest(directory / "checkpoints", pytest.fail).iteration == 2


_FILE_LIMIT = """
import resource, signal, sys
from pathlib import Path
from ambidex.experiment.one_run import run
from ambidex.experiment.one_run import training
from ambidex.experiment.configure.presets import resolve
real = training.Training._iterate
def iterate(self):
    real(self)
    if self.iteration == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
training.Training._iterate = iterate
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    run.train(resolve("triangle-rust", "asl", eval(sys.argv[1])), Path(sys.argv[2]))
except OSError as error:
    print(error)
"""


def test_no_room_for_a_checkpoint_is_one_clear_error_and_the_last_one_stays(tmp_path, tiny, finished):
    directory = tmp_path / "run"
    command = [sys.executable, "-W", "ignore", "-c", _FILE_LIMIT, repr(tiny), str(directory)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "the last checkpoint is whole" in said
    assert f"ambidex resume {directory}" in said
    assert len(said.strip().splitlines()) == 1
    assert checkpoint.newest(directory / "checkpoints", pytest.fail).iteration == 1
    run.resume(directory)
    for name in ("policy-last.safetensors", "progress.csv", "symmetry.csv", "evaluations.csv"):
        assert (directory / name).read_bytes() == (finished / name).read_bytes()


def test_an_environment_without_state_is_said_loudly_and_resumes_with_a_new_episode(tmp_path, tiny):
    class Forgetful(gym.Env):
        observation_space = gym.spaces.Box(-1, 1, (3,))
        action_space = gym.spaces.Box(-1, 1, (1,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.steps = 0
            return self.observation_space.sample(), {}

        def step(self, action):
            self.steps += 1
            return self.observation_space.sample(), float(action[0]), False, self.steps >= 20, {}

    gym.register("Forgetful-v0", Forgetful)
    config = resolve(None, "ppo", tiny | {"env": "Forgetful-v0", "num_envs": 1, "n_steps": 64, "steps": 192})
    listener = _Listener()
    run.train(config, tmp_path / "run", reporter=listener)
    assert len(listener.warnings) == 1
    assert "Forgetful" in listener.warnings[0]
    kept = checkpoint.newest(tmp_path / "run" / "checkpoints", pytest.fail)
    assert "environment" not in kept.arrays
    run.resume(tmp_path / "run", steps=256)
    assert [row["steps"] for row in _rows(tmp_path / "run" / "progress.csv")] == ["64", "128", "192", "256"]


def test_any_gymnasium_id_with_a_symmetry_file(tmp_path, tiny):
    description = tmp_path / "pendulum.yaml"
    mirror = symmetry.Symmetry(
        "mirror",
        obs_indices=[0, 1, 2],
        obs_multipliers=[1, -1, -1],
        act_indices=[0],
        act_multipliers=[-1],
        kind="reflection",
    )
    symmetry.save(symmetry.SymmetryGroup([mirror]), description)
    overrides = tiny | {"env": "Pendulum-v1", "symmetry": str(description), "num_envs": 1, "n_steps": 128}
    run.train(resolve(None, "asl", overrides), tmp_path / "run")
    metrics = _rows(tmp_path / "run" / "symmetry.csv")
    assert {row["transform"] for row in metrics if row["metric"] == "value_distance"} == {"mirror"}
    assert not (tmp_path / "run" / "truth.json").exists()


_EVALUATE = """
import sys
from pathlib import Path
from ambidex.experiment.trained.evaluate import evaluate
print(len(evaluate(Path(sys.argv[1]), episodes=2)))
"""


def test_an_environment_of_the_package_needs_no_scenario(tmp_path, tiny):
    """Nor that anything else has registered it: here the process that evaluates is a new one."""
    settings = tiny | {"env": "ambidex/Triangle-v0", "symmetry": "triangle", "steps": 128}
    run.train(resolve(None, "psl", settings), tmp_path / "run")
    command = [sys.executable, "-W", "ignore", "-c", _EVALUATE, str(tmp_path / "run")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"


def test_a_scenario_of_ones_own_is_kept_with_the_run(tmp_path, tiny):
    file = tmp_path / "stiff.yaml"
    file.write_text(
        "stiff: {env: ambidex/Triangle-v0, symmetry: triangle, description: One stiff limb.,\n"
        "  perturbations: [{kind: rust, resistances: [1, 1, 4]}]}\n"
    )
    config = resolve(str(file), "ppo", tiny)
    assert str(config.directory) == "stiff/ppo/seed-0"
    run.train(config, tmp_path / "run")
    file.unlink()
    (row,) = evaluate.summary(evaluate.evaluate(tmp_path / "run", episodes=2))
    assert row["episodes"] == 2
    truth = json.loads((tmp_path / "run" / "truth.json").read_text())
    assert truth["b"]["multipliers"] == [-0.25, -1, -4]


def test_the_truth_of_a_robot_that_ages_is_that_of_the_end(tmp_path, tiny):
    file = tmp_path / "worn.yaml"
    file.write_text(
        "worn: {env: ambidex/Triangle-v0, symmetry: triangle, description: Limb 2 wears out.,\n"
        "  perturbations: [{kind: wear, actuators: [2], schedule: [[0, 1.0], [512, 0.5]]}]}\n"
    )
    directory = tmp_path / "run"
    run.train(resolve(str(file), "ppo", tiny | {"steps": 256}), directory)  # half of its wear: 0.75
    truth = json.loads((directory / "truth.json").read_text())
    assert truth["b"]["multipliers"] == pytest.approx([-0.75, -1, -1 / 0.75])
    assert stored.load_policy(directory).env.unwrapped.training_steps == 256
    run.resume(directory, steps=512)
    truth = json.loads((directory / "truth.json").read_text())
    assert truth["b"]["multipliers"] == pytest.approx([-0.5, -1, -2])


def test_robots_that_are_stepped_together_age_each_by_its_own_steps(tiny):
    assert build.robot_age(resolve("A2.1", "ppo", {"num_envs": 4}), 400) == 100
    assert build.robot_age(resolve("triangle", "ppo", {"num_envs": 4}), 400) == 400
    training = Training(resolve("triangle", "ppo", tiny), symmetry.load("triangle"), _Listener())
    training.loop._roll_out()
    assert training.env.training_steps == build.robot_age(training.config, training.steps)


def test_the_fits_update_weight_is_that_of_a_sure_update(tiny):
    for fit, own in (("pairwise", 0.05), ("calibrated", 0.2)):
        group = symmetry.load("triangle")
        for given, expected in ((None, own), (0.4, 0.4)):
            config = resolve("triangle-rust", "asl", tiny | {"fit": fit, "update_weight": given})
            weigh = Training(config, group, _Listener()).model.loss.fit.update_weight
            assert weigh(0.0) == pytest.approx(expected)
            assert weigh(0.5) == pytest.approx(expected * 0.01 / (0.01 + 0.5**4))


def test_the_memory_of_a_fit_from_transitions(tiny):
    group = symmetry.load("triangle")
    for given, expected in ((None, 500_000), (2e4, 20_000)):
        behind = resolve("triangle-rust", "equivariant", tiny | {"fit_memory": given})
        assert Training(behind, group, _Listener()).model.actuators.memory == expected
        in_loss = resolve("triangle-rust", "asl", tiny | {"fit": "transition", "fit_memory": given})
        assert Training(in_loss, group, _Listener()).model.loss.fit.memory == expected
    with pytest.raises(ValueError, match=r"'pairwise' has no memory .* leave fit_memory out"):
        Training(resolve("triangle-rust", "asl", tiny | {"fit_memory": 2e4}), group, _Listener())


def test_reflections_and_rotations_have_their_own_dead_zone(tiny):
    overrides = tiny | {"dead_zone_reflections": 0.25, "dead_zone_rotations": 0.5}
    training = Training(resolve("triangle", "asl", overrides), symmetry.load("triangle"), _Listener())
    assert training.model.loss.dead_zone == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.5, "e": 0.5}


def test_the_reporter_hears_of_every_iteration(tmp_path, tiny):
    listener = _Listener()
    run.train(resolve("triangle", "ppo", tiny), tmp_path / "run", reporter=listener)
    assert [figures["steps"] for figures in listener.updates] == [128, 256, 384, 512]
    evaluated = [figures["best"] is not None for figures in listener.updates]
    assert evaluated == [False, True, True, True]  # every second iteration, and heard of in the same one
    assert not listener.warnings
