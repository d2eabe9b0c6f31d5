"""The way of somebody's own environment through a run: found, stepped, normalised, resumed, exported."""

import json
import shutil
import sys
from pathlib import Path

import gymnasium
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from stable_baselines3.common.vec_env import VecNormalize

from ambidex.cli.command_line import main
from ambidex.common.files import read_arrays
from ambidex.diagnosis.policy import diagnose_run
from ambidex.envs.making import make
from ambidex.experiment.configure import build
from ambidex.experiment.configure.normalization import Normalization
from ambidex.experiment.configure.presets import configure
from ambidex.experiment.configure.stepping import cpu_seconds_elsewhere
from ambidex.experiment.one_run import checkpoint, record, run, training
from ambidex.experiment.one_run.metrics import read_columns
from ambidex.experiment.one_run.progress import Silent
from ambidex.experiment.one_run.training import Training
from ambidex.experiment.trained import export, stored
from ambidex.symmetry import load

DESCRIPTION = """
robot: cart
limbs:
  left: {at: [0, 1], joints: {wheel: y}}
  right: {at: [0, -1], joints: {wheel: y}}
observations:
  - speeds: {joint: velocity}
  - heading: {pseudovector: [z]}
  - battery: scalar
actions:
  - torque: {joint: torque}
transforms: [xz]
"""
SMALL = {
    "n_steps": 32,
    "num_envs": 2,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [8],
    "evaluation_every": 2,
    "evaluation_episodes": 1,
    "checkpoint_seconds": 0.0,
    "steps": 64 * 4,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the robot's module and description; its module is forgotten afterwards."""
    shutil.copy(Path(__file__).with_name("own_robot.py"), tmp_path / "carts.py")
    (tmp_path / "cart.yaml").write_text(DESCRIPTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    yield tmp_path
    sys.modules.pop("carts", None)
    for name in ("Cart-v0", "ExactCart-v0"):
        gymnasium.registry.pop(name, None)


def config(**values):
    own = {"env": "carts:ExactCart-v0", "symmetry": "cart.yaml", "method": "asl", "normalize": True}
    return configure(None, [], **(SMALL | own | values))


def typed(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["ambidex", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return end.code
    return 0


def test_a_module_of_the_current_folder_is_found(folder):
    assert make("carts:Cart-v0", weak=0.5).unwrapped.weak == 0.5
    with pytest.raises(ValueError, match=r"no module 'cats' is installed or lies in the current folder"):
        make("cats:Cart-v0")


def test_from_the_command_line(folder, monkeypatch, capsys):
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    words = ["--env", "carts:ExactCart-v0", "--env-arg", "weak=0.5", "--env-arg", "length=10"]
    train = ["train", *words, "--symmetry", "cart.yaml", "--num-envs", "3", "--normalize", "--out", "run"]
    assert typed(monkeypatch, *train, *settings) == 0
    kept = json.loads(Path("run/run.json").read_text())["config"]
    assert kept["env_args"] == {"weak": 0.5, "length": 10}
    assert (kept["hyperparameters"]["num_envs"], kept["hyperparameters"]["normalize"]) == (3, True)
    capsys.readouterr()
    assert typed(monkeypatch, "evaluate", "run", "--trust", "--json") == 0
    assert json.loads(capsys.readouterr().out)["goals"][0]["mean_length"] == 10
    assert typed(monkeypatch, "evaluate", "run", "--env-arg", "length=7", "--trust", "--json") == 0
    assert json.loads(capsys.readouterr().out)["goals"][0]["mean_length"] == 7
    other = ["--env", "carts:Cart-v0", "--env-arg", "length=5", "--json"]
    assert typed(monkeypatch, "evaluate", "run", *other) == 0
    assert json.loads(capsys.readouterr().out)["goals"][0]["mean_length"] == 5
    assert typed(monkeypatch, "evaluate", "run", "--env", "Pendulum-v1") == 2
    assert "observation has 3 elements, but the transforms act on 4" in capsys.readouterr().err
    assert typed(monkeypatch, "train", *words[:2], "--env-arg", "weight=1", *train[7:], "--out", "no") == 2
    assert "takes no weight" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stepping", "normalize"), [("here", True), ("processes", True), ("here", "rewards")]
)
def test_a_resumed_run_has_the_same_bits(folder, stepping, normalize):
    """Normalisation included, and whether the environments are in other processes or not."""
    run.train(config(normalize=normalize), Path("whole"))
    run.train(config(stepping=stepping, normalize=normalize, steps=128), Path("cut"))
    run.resume(Path("cut"), steps=SMALL["steps"], trust=True)
    last = [checkpoint.newest(Path(name, "checkpoints"), pytest.fail).arrays for name in ("whole", "cut")]
    assert last[0]["normalization"]["return.count" if normalize == "rewards" else "whole.count"] > 256
    for group in last[0].keys() - ({"environment"} if stepping == "processes" else set()):
        for name, array in last[0][group].items():
            np.testing.assert_array_equal(array, last[1][group][name], err_msg=f"{group} {name}")
    for name in ("progress.csv", "evaluations.csv"):
        assert (Path("whole") / name).read_bytes() == (Path("cut") / name).read_bytes(), name
    for name in ("policy-last.safetensors", "policy-best.safetensors"):  # whose headers name their own run
        whole, cut = (read_arrays(Path(folder) / name) for folder in ("whole", "cut"))
        assert whole.keys() == cut.keys()
        for key, array in whole.items():
            np.testing.assert_array_equal(array, cut[key], err_msg=f"{name} {key}")


def test_the_time_of_a_run_is_that_of_all_its_processes(folder, monkeypatch):
    apart, here = (build.training_environment(config(stepping=which)) for which in ("processes", "here"))
    first = cpu_seconds_elsewhere(apart)
    apart.reset()
    for _ in range(200):
        apart.step(np.zeros((2, 2), np.float32))
    assert 0 < first < cpu_seconds_elsewhere(apart)
    assert cpu_seconds_elsewhere(here) == 0
    apart.close()

    monkeypatch.setattr(training, "cpu_seconds_elsewhere", lambda env: 1000.0)
    run.train(config(), Path("run"))
    assert 1000 < record.read(Path("run"))["timings"]["cpu"] < 1100
    run.resume(Path("run"), steps=2 * SMALL["steps"], trust=True)
    assert 2000 < record.read(Path("run"))["timings"]["cpu"] < 2200


@pytest.mark.parametrize("resets", ["Disabled", "SameStep"])
def test_one_array_of_robots_gives_the_numbers_of_single_ones(folder, resets):
    run.train(config(env="carts:Cart-v0"), Path("single"))
    single = build.training_environment(config(env="carts:Cart-v0", normalize=False))
    args = {"resets": resets}
    many = build.training_environment(
        config(env="carts:Cart-v0", stepping="vector", normalize=False, env_args=args)
    )
    for env in (single, many):
        env.seed(3)
    np.testing.assert_array_equal(single.reset(), many.reset())
    generator = np.random.default_rng(0)
    ended = 0
    for _ in range(50):
        actions = generator.uniform(-1, 1, size=(2, 2)).astype(np.float32)
        one, other = single.step(actions), many.step(actions)
        for part, same in zip(one[:3], other[:3], strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-6)
        for told, same in zip(one[3], other[3], strict=True):
            assert told["TimeLimit.truncated"] == same["TimeLimit.truncated"]
            if "episode" in told:
                ended += 1
                assert told["episode"]["r"] == pytest.approx(same["episode"]["r"], rel=1e-4)
                np.testing.assert_array_equal(told["terminal_observation"], same["terminal_observation"])
    assert ended >= 4


def test_an_array_that_resets_a_step_late_is_refused(folder):
    late = config(env="carts:Cart-v0", stepping="vector", env_args={"resets": "NextStep"})
    with pytest.raises(ValueError, match="one step after the last one has ended"):
        build.training_environment(late)


def test_statistics_survive_where_the_state_does_not(folder, capsys):
    """A robot without get_state begins a new episode; what was learned about its scales is kept."""
    run.train(config(env="carts:Cart-v0", steps=128), Path("cut"))
    before = checkpoint.newest(Path("cut/checkpoints"), pytest.fail).arrays
    assert "environment" not in before
    run.resume(Path("cut"), steps=192, trust=True)
    after = checkpoint.newest(Path("cut/checkpoints"), pytest.fail).arrays
    count = [float(arrays["normalization"]["whole.count"]) for arrays in (before, after)]
    assert count[1] == count[0] + 64


def test_the_policy_acts_on_what_the_environment_shows(folder):
    """The stored policy, and the file for other runtimes, against the normalisation written out."""
    run.train(config(method="equivariant", actuators="transition"), Path("run"))
    written = export.export(Path("run"), Path("policy.onnx"), "last", trust=True)
    assert written.difference < 1e-5
    arrays = read_arrays(Path("run/policy-last.safetensors"))
    mean, variance = arrays["normalization.whole.mean"], arrays["normalization.whole.var"]
    assert mean[3] > 900 and mean[2] == 0 and variance[0] == variance[1]  # battery; heading; the wheels
    seen = np.random.default_rng(0).normal([0, 0, 0, 1000], [100, 100, 1, 5], size=(40, 4))
    policy = stored.load_policy(Path("run"), "last", trust=True)
    by_hand = np.clip((seen - mean) / np.sqrt(variance + 1e-8), -10, 10).astype(np.float32)
    np.testing.assert_array_equal(policy.act(seen), policy.policy.predict(by_hand, deterministic=True)[0])
    session = onnxruntime.InferenceSession("policy.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].type == "tensor(double)"
    (actions,) = session.run(["action"], {"observation": seen})
    np.testing.assert_allclose(actions, policy.act(seen), atol=1e-5)
    told = {entry.key: json.loads(entry.value) for entry in onnx.load("policy.onnx").metadata_props}
    assert told["observation"]["names"] == list(load("cart.yaml").layout.observation_names)
    assert told["observation"]["normalization"] == told["action"]["actuators"] == "in the file"
    assert told["action"]["low"] == [-1, -1] and told["action"]["names"] == ["left.wheel", "right.wheel"]


def test_rewards_alone_may_be_normalised(folder):
    group = load("cart.yaml")
    plain, scaled = (
        build.training_environment(config(normalize=which), group) for which in (False, "rewards")
    )
    expected = VecNormalize(plain, norm_obs=False, gamma=config().hyperparameters.gamma)
    for env in (expected, scaled):
        env.seed(0)
        env.reset()
    for _ in range(30):
        seen, rewards, *_ = scaled.step(np.ones((2, 2), np.float32))
        as_it_is, divided, *_ = expected.step(np.ones((2, 2), np.float32))
        np.testing.assert_array_equal(seen, as_it_is)
        np.testing.assert_array_equal(rewards, divided)
    assert Normalization.of(scaled) is None
    run.train(config(normalize="rewards"), Path("run"))
    assert not any("normalization" in name for name in read_arrays(Path("run/policy-last.safetensors")))
    assert stored.load_policy(Path("run"), "last", trust=True).normalization is None


@pytest.mark.parametrize(("normalize", "distance"), [(False, 2.0), ("rewards", 10.0)])
def test_the_value_distance_is_in_units_of_rewards(folder, normalize, distance):
    """Values of 0, and of 2 for images, where rewards are as they are and where they are divided by 5."""
    group = load("cart.yaml")
    training = Training(config(normalize=normalize, method="ppo"), group, Silent())
    training.loop._roll_out()
    if normalize:
        training.env.ret_rms.var = np.array(25.0)
    training.model.rollout_buffer.values[:] = 0
    critic = training.model.policy.value_net
    torch.nn.init.zeros_(critic.weight)
    torch.nn.init.constant_(critic.bias, 2.0)
    ((_, name, _, found),) = training.loop.value_distances(group)
    assert (name, found) == ("xz", pytest.approx(distance))


@pytest.mark.parametrize("normalize", [False, "rewards"])
def test_a_loss_logs_value_distances_in_the_unit_in_which_a_run_measures_them(folder, normalize):
    group = load("cart.yaml")
    training = Training(config(normalize=normalize, method="msl"), group, Silent())
    training.loop._roll_out()
    ((*_, measured),) = training.loop.value_distances(group)
    training.model._prepare(0.2)
    logged = [value for name, *_, value in training.model.symmetry_metrics() if name == "value_distance"]
    assert logged == [pytest.approx(measured)]
    assert measured > 0


def test_normalisation_as_stable_baselines_does_it(folder):
    env = build.training_environment(config())
    env.seed(0)
    env.reset()
    for _ in range(30):
        env.step(np.ones((2, 2), np.float32))
    assert isinstance(env, VecNormalize)
    seen = np.random.default_rng(0).normal(500, 500, size=(9, 4))
    own = Normalization.of(env)
    np.testing.assert_array_equal(own(seen), env.normalize_obs(seen))
    arrays = own.arrays() | {"weight": np.ones(1)}
    taken = Normalization.taken_from(arrays, env.observation_space)
    np.testing.assert_array_equal(taken(seen), own(seen))
    assert list(arrays) == ["weight"]


def test_a_diagnosis_normalises_for_the_policy_only(folder):
    run.train(config(env_args={"weak": 0.5}), Path("run"))
    found = diagnose_run(Path("run"), states=400, trust=True)
    scales = [actuator.scale for actuator in found.motion.actuators]
    assert scales[1] / scales[0] == pytest.approx(2, rel=0.02)


def test_a_short_run_leaves_the_record_of_its_fit(folder):
    run.train(config(steps=128), Path("short"))  # two iterations; metrics come every five
    rows = read_columns(Path("short/symmetry.csv"), "iteration", "metric")
    assert {"2"} == {iteration for iteration, _ in rows} and len({metric for _, metric in rows}) > 3
    run.resume(Path("short"), steps=64 * 5, trust=True)
    run.train(config(steps=64 * 5), Path("long"))
    assert Path("short/symmetry.csv").read_bytes() == Path("long/symmetry.csv").read_bytes()


def test_what_a_stopped_run_can_do(folder, monkeypatch, capsys):
    words = ["train", "--env", "carts:ExactCart-v0", "--symmetry", "cart.yaml", "--out", "run"]

    def stop(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build, "build_model", stop)
        assert typed(patch, *words) == 130
    assert "nothing was written, so there is nothing to resume" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("ambidex.experiment.one_run.training.Training._iterate", stop)
        assert typed(patch, *words, *[w for n, v in SMALL.items() for w in ("--set", f"{n}={v}")]) == 130
    assert "`ambidex resume run --trust` starts from the beginning" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("ambidex.experiment.one_run.training.Training.say", lambda *a: None)
        patch.setattr("ambidex.experiment.one_run.training.Training._write_truth", lambda self: None)
        real = checkpoint.write
        patch.setattr(checkpoint, "write", lambda *a: (real(*a), stop()))
        assert typed(patch, "resume", "run", "--trust") == 130
    assert "`ambidex resume run --trust` continues" in capsys.readouterr().err
