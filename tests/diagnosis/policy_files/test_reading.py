"""Policies and logs from files of every kind, and what is said of those that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO, SAC

from ambidex.diagnosis.policy_files.evaluation import evaluate_policy_file
from ambidex.diagnosis.policy_files.reading import answers, read_policy
from ambidex.diagnosis.policy_files.visited import read_visited
from ambidex.learn import SymmetricSAC, TransitionFit
from ambidex.symmetry import SymmetryGroup, load
from tests.symmetry.files.export.robots import MIRROR

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit's own

WEIGHTS = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
ROWS = np.random.default_rng(1).normal(size=(20, 10)).astype(np.float32)
EXPECTED = ROWS @ WEIGHTS  # the triangle has 10 observations and 3 actions


def write_onnx(path: Path, shape: list[Any], kind: str = "FLOAT", names: tuple[str, ...] = ("obs",)) -> Path:
    """``action = x @ WEIGHTS``, where x are the inputs one after the other; a value stands before it."""
    onnx = pytest.importorskip("onnx")
    helper, number = onnx.helper, getattr(onnx.TensorProto, kind)
    width = len(WEIGHTS) // len(names)
    inputs = [helper.make_tensor_value_info(name, number, [*shape, width]) for name in names]
    outputs = [helper.make_tensor_value_info(name, number, None) for name in ("value", "actions")]
    table = onnx.numpy_helper.from_array(WEIGHTS.astype("f8" if kind == "DOUBLE" else "f4"), "weights")
    nodes = [
        helper.make_node("Concat", list(names), ["x"], axis=len(shape)),
        helper.make_node("Tanh", ["x"], ["value"]),
        helper.make_node("MatMul", ["x", "weights"], ["actions"]),
    ]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("shape", "kind"), [(["batch"], "FLOAT"), ([1], "FLOAT"), ([], "FLOAT"), (["batch"], "DOUBLE")]
)
def test_onnx_of_any_batch_of_one_row_and_without_a_batch(tmp_path: Path, shape: Any, kind: str) -> None:
    path = write_onnx(tmp_path / "policy.onnx", shape, kind)
    given = answers(read_policy(path), path, ROWS, {"": 10}, 3)
    np.testing.assert_allclose(given, EXPECTED, rtol=1e-5, atol=1e-6)


def test_onnx_with_an_input_for_each_group(tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "policy.onnx", ["batch"], names=("legs", "goal"))
    policy = read_policy(path)
    assert policy.keys == ("legs", "goal")
    given = answers(policy, path, ROWS, {"legs": 5, "goal": 5}, 3)
    np.testing.assert_allclose(given, EXPECTED, rtol=1e-5, atol=1e-6)


def test_torchscript_whose_answer_is_one_of_several(tmp_path: Path) -> None:
    path = tmp_path / "policy.pt"
    weights = torch.from_numpy(WEIGHTS)
    torch.jit.trace(lambda x: (x @ weights, x), torch.from_numpy(ROWS)).save(str(path))
    given = answers(read_policy(path, trust=True), path, ROWS, {"": 10}, 3)
    np.testing.assert_allclose(given, EXPECTED, rtol=1e-5, atol=1e-6)


def test_a_zip_of_stable_baselines3(tmp_path: Path) -> None:
    model = SAC("MlpPolicy", gymnasium.make("ambidex/Triangle-v0"), buffer_size=10)
    model.save(tmp_path / "policy.zip")
    np.savez(tmp_path / "log.npz", ROWS)
    with pytest.raises(ValueError, match="give --trust"):
        read_policy(tmp_path / "policy.zip")
    policy = read_policy(tmp_path / "policy.zip", algorithm="SAC", trust=True)
    np.testing.assert_array_equal(policy.act(ROWS), model.predict(ROWS, deterministic=True)[0])
    found = evaluate_policy_file(
        tmp_path / "policy.zip",
        symmetry="triangle",
        observations=tmp_path / "log.npz",
        algorithm="SAC",
        trust=True,
    )
    assert [one.transform for one in found.transforms] == list(load("triangle").names)
    assert found.worst.value > 0.1


@pytest.mark.parametrize("kind", ["SymmetricSAC", "TRPO"])
def test_a_zip_of_this_package_and_of_sb3_contrib(kind: str, tmp_path: Path) -> None:
    env = gymnasium.make("ambidex/Triangle-v0")
    if kind == "TRPO":
        model: Any = pytest.importorskip("sb3_contrib").TRPO("MlpPolicy", env)
    else:
        group, fit = load("triangle"), TransitionFit()
        model = SymmetricSAC(
            "EquivariantMlpPolicy", env, symmetries=group, actuators=fit, buffer_size=2000, device="cpu"
        )
    model.save(tmp_path / "policy.zip")
    policy = read_policy(tmp_path / "policy.zip", algorithm=kind, trust=True)
    np.testing.assert_array_equal(policy.act(ROWS), model.predict(ROWS, deterministic=True)[0])


class Grouped(gymnasium.Env[Any, Any]):
    """Two groups of observations, as in MIRROR, and one action."""

    observation_space = spaces.Dict({"policy": spaces.Box(-1, 1, (2,)), "critic": spaces.Box(-1, 1, (3,))})
    action_space = spaces.Box(-1, 1, (1,))


def test_a_policy_of_dict_observations_gets_all_its_keys(tmp_path: Path) -> None:
    model = PPO("MultiInputPolicy", Grouped())
    model.save(tmp_path / "policy.zip")
    random = np.random.default_rng(0)
    log = {"critic": random.uniform(-1, 1, (9, 3)), "policy": random.uniform(-1, 1, (9, 2))}
    log = {key: part.astype(np.float32) for key, part in log.items()}
    np.savez(tmp_path / "log.npz", **log)
    policy = read_policy(tmp_path / "policy.zip", trust=True)
    visited = read_visited(tmp_path / "log.npz", MIRROR, keys=policy.keys)
    given = answers(policy, tmp_path, visited.rows, visited.sizes, 1)
    np.testing.assert_allclose(given, model.predict(log, deterministic=True)[0], rtol=1e-5)
    flipped = {key: part * ([1, -1] if key == "policy" else [1, -1, 1]) for key, part in log.items()}
    image = visited.group["xz"].observation(visited.rows)
    given = answers(policy, tmp_path, image, visited.sizes, 1)
    np.testing.assert_allclose(given, model.predict(flipped, deterministic=True)[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("policy.onnx", b"no model", "is not a policy in ONNX"),
        ("policy.pt", b"no program", "is not TorchScript"),
        ("policy.zip", b"no archive", "cannot be loaded as PPO"),
        ("policy.h5", b"", "a policy is an .onnx file"),
    ],
)
def test_files_that_are_no_policies(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        read_policy(tmp_path / name, trust=True)


def test_a_policy_of_another_robot(tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "policy.onnx", ["batch"])
    policy = read_policy(path)
    with pytest.raises(ValueError, match=r"does not take observations of 28 elements"):
        answers(policy, path, np.zeros((4, 28), np.float32), {"": 28}, 3)
    with pytest.raises(ValueError, match=r"shape \(20, 3\); the description has 8 actions"):
        answers(policy, path, ROWS, {"": 10}, 8)
    with pytest.raises(ValueError, match="answers row 2 with numbers that are not finite"):
        answers(policy, path, np.where(np.arange(4)[:, None] == 2, np.inf, 0).repeat(10, 1), {"": 10}, 3)


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_logs_of_transitions_and_of_groups(tmp_path: Path) -> None:
    group = load("triangle")
    starts = np.zeros(20, bool)
    starts[[4, 16]] = True
    log = saved(tmp_path / "a.npz", observations=ROWS, actions=EXPECTED, episode_starts=starts)
    visited = read_visited(log, group)
    np.testing.assert_array_equal(visited.rows, ROWS)
    assert visited.starts.tolist() == [0, 4, 16]
    assert visited.longest_episode() == slice(4, 16)
    assert read_visited(saved(tmp_path / "b.npz", x=ROWS), group).longest_episode() == slice(0, 20)
    both = saved(tmp_path / "c.npz", policy=ROWS[:, :2], critic=ROWS[:, :3])
    np.testing.assert_array_equal(read_visited(both, MIRROR).rows, ROWS[:, :2])  # the actor's, by its name
    joined = read_visited(both, MIRROR, groups=["critic", "policy"])
    np.testing.assert_array_equal(joined.rows, ROWS[:, [0, 1, 2, 0, 1]])
    assert joined.sizes == {"critic": 3, "policy": 2}
    one = saved(tmp_path / "d.npz", x=ROWS[:, :3])
    assert read_visited(one, MIRROR, groups=["critic"]).group["xz"].observation(np.ones(3)).tolist() == [
        1,
        -1,
        1,
    ]


def test_where_the_joints_positions_stand(tmp_path: Path) -> None:
    described = (
        "limbs:\n  left: {at: [0, 1], joints: {hip: x}}\n  right: {at: [0, -1], joints: {hip: x}}\n"
        "observations:\n  proprio: [{spin: {pseudovector: [z]}}, {angles: {joint: position}}]\n"
        "  command: [{go: {vector: [x, y]}}]\nactions: [{target: joint}]\ngenerators: [xz]\n"
    )
    (tmp_path / "robot.yaml").write_text(described)
    group = load(tmp_path / "robot.yaml")
    log = saved(tmp_path / "log.npz", proprio=ROWS[:, :3], command=ROWS[:, :2])
    positions = read_visited(log, group, groups=["command", "proprio"]).positions
    assert positions is not None and positions.tolist() == [3, 4]
    assert read_visited(log, group, groups=["command"]).positions is None
    assert read_visited(saved(tmp_path / "ant.npz", x=np.zeros((3, 28))), raw_ant()).positions is None


def raw_ant() -> SymmetryGroup:
    """The ant by its tables alone."""
    return SymmetryGroup(list(load("ant")))


@pytest.mark.parametrize(
    ("group", "arrays", "options", "reason"),
    [
        (load("triangle"), {"x": ROWS[:, :9]}, {}, "has 9 elements in a row; the description has 10"),
        (load("triangle"), {"x": np.where(ROWS > 2, np.nan, ROWS)}, {}, "is nan"),
        (
            load("triangle"),
            {"x": ROWS},
            {"groups": ["policy"]},
            "neither the description nor the log has groups",
        ),
        (load("triangle"), {"a": ROWS, "b": ROWS}, {}, "say with --group which the policy takes"),
        (load("triangle"), {"observations": ROWS, "episode_starts": np.ones(3)}, {}, "each of the 20 rows"),
        (MIRROR, {"policy": ROWS[:, :2], "x": ROWS}, {"groups": ["critic"]}, "has no array 'critic'"),
        (MIRROR, {"x": ROWS}, {"groups": ["legs"]}, "the description has no observations 'legs'"),
        (MIRROR, {"x": ROWS}, {"groups": ["policy"], "keys": ["critic"]}, "the policy itself names critic"),
    ],
)
def test_logs_that_do_not_fit(tmp_path: Path, group: Any, arrays: Any, options: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_visited(saved(tmp_path / "log.npz", **arrays), group, **options)
