"""A run in a canonical frame: what can be done with it afterwards, and what is refused."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from ambidex import symmetry
from ambidex.diagnosis.policy import diagnose_run
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import run
from ambidex.experiment.one_run.metrics import read_columns
from ambidex.experiment.trained import evaluate, export, play, stored
from ambidex.learn.relabel.frame import EnvFrame


@pytest.fixture(scope="module")
def relabelled(tmp_path_factory: pytest.TempPathFactory, tiny: dict) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "relabelled"
    run.train(resolve("triangle-rust", "relabel", tiny), directory)
    return directory


def test_the_preset_names_the_field() -> None:
    assert resolve("triangle", "relabel", {}).hyperparameters.frame_by == "target"
    assert resolve("A1.1", "relabel", {}).hyperparameters.frame_by == "goal"


def test_evaluated_again_it_returns_what_it_did_in_training(relabelled: Path) -> None:
    kept = [float(total) for (total,) in read_columns(relabelled / "evaluations.csv", "return")]
    assert len(kept) == 8  # the first four are those of an earlier policy
    episodes = evaluate.evaluate(relabelled, which="last", episodes=8)
    np.testing.assert_allclose([one.total for one in episodes][4:], kept[4:], rtol=1e-5)


def test_it_acts_on_the_robot_as_by_hand(relabelled: Path) -> None:
    policy = stored.load_policy(relabelled, "last")
    assert isinstance(policy.env, EnvFrame)
    group = symmetry.load("triangle")
    robot = gym.make("ambidex/Triangle-v0", scenario="triangle-rust", evaluation=True)
    robot.reset(seed=0)
    state, _ = robot.reset()
    seen, _ = policy.env.reset()
    name = policy.env.element
    assert name != "identity"
    for _ in range(50):
        np.testing.assert_allclose(seen, group[name].observation(state), atol=1e-5)
        said = policy.act(seen)
        seen, reward, *_ = policy.env.step(said)
        state, expected, *_ = robot.step(group[name].inverse().action(said))
        assert reward == pytest.approx(expected, abs=1e-5)


def test_it_is_symmetric_and_measured_so(relabelled: Path) -> None:
    measured = evaluate.measure_symmetry(relabelled, which="last", episodes=2)
    assert {one.isometry for one in measured} == {"xz", "m60", "m120", "r120", "r240"}
    assert len(measured) == 5
    for one in measured:
        np.testing.assert_allclose(one.equivariance, 0, atol=1e-5)
    assert read_columns(relabelled / "symmetry.csv", "steps") == []


def test_it_is_filmed(relabelled: Path, tmp_path: Path) -> None:
    assert play.play(relabelled, tmp_path / "film.gif", seconds=0.2) == 6


def test_what_needs_the_frame_beside_the_network_is_refused(relabelled: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not keep the frame"):
        export.export(relabelled, tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()
    with pytest.raises(ValueError, match="--transitions"):
        diagnose_run(relabelled)


def test_a_field_that_the_robot_does_not_have_is_refused(tmp_path: Path, tiny: dict) -> None:
    config = resolve("triangle-rust", "relabel", tiny | {"frame_by": "goal"})
    with pytest.raises(ValueError, match="no field of the observation is called 'goal'; there are position"):
        run.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
