"""The diagnosis of a run directory: what its policy says, and what the robot that it moves says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambidex import SymmetryGroup, load, save
from ambidex.common.files import read_arrays, write_arrays
from ambidex.diagnosis.policy import diagnose_run
from tests.diagnosis.known_robots import RELATIVE_SCALE
from tests.report.conftest import Ambidex, WriteRun


def forget_hashes(directory: Path) -> None:
    """As of a run from before there were any, so that a test may change its files."""
    about = json.loads((directory / "run.json").read_text())
    del about["hashes"]
    (directory / "run.json").write_text(json.dumps(about))
    for policy in directory.glob("policy-*.safetensors"):
        write_arrays(policy, read_arrays(policy))


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ambidex.experiment.configure.presets import configure
    from ambidex.experiment.one_run import run

    directory = tmp_path_factory.mktemp("runs") / "triangle-rust" / "asl" / "seed-0"
    assignments = ["fit=calibrated", "num_envs=4", "n_steps=64", "metrics_every=1"]
    config = configure(None, assignments, scenario="triangle-rust", steps=512)
    run.train(config, directory)
    return directory


def test_a_run_directory(run_directory: Path) -> None:
    found = diagnose_run(run_directory, states=300)
    assert found.states == 300
    assert [one.true_scale for one in found.actuators] == pytest.approx(list(RELATIVE_SCALE), rel=1e-6)
    for behaviour in found.behaviours:
        assert behaviour.moved is not None
        assert behaviour.moved.first == pytest.approx(1, abs=0.2)
    assert all(one.value_distance is not None for one in found.transforms)
    assert "triangle-rust, asl, seed 0" in found.title
    again = diagnose_run(run_directory, states=300)
    assert again == found


def test_the_twin_is_the_same_run_of_plain_ppo(
    run_directory: Path, tmp_path: Path, write_run: WriteRun
) -> None:
    """One that lies in the twin's place but is another run, or is not done, says nothing about this one."""
    copied = Path(shutil.copytree(run_directory, tmp_path / "asl" / "seed-0"))
    twin = tmp_path / "ppo" / "seed-0"
    same: dict[str, Any] = {"method": "ppo", "returns": {512: [7.0]}, "steps": 512}
    write_run(twin, **same)
    assert diagnose_run(copied, states=50).plain_return == 7
    for other in (
        {"scenario": "triangle"},
        {"config": {"env": "Pendulum-v1"}},
        {"seed": 1},
        {"steps": 1024},
        {"status": "running"},
        {"method": "msl"},
    ):
        write_run(twin, **same | other)
        assert diagnose_run(copied, states=50).plain_return is None, other
    (twin / "run.json").write_text("{")
    assert diagnose_run(copied, states=50).plain_return is None


def test_recorded_observations_instead_of_a_simulation(run_directory: Path, tmp_path: Path) -> None:
    from ambidex.envs.triangle.robot import TriangleEnv

    env = TriangleEnv()
    np.savez(tmp_path / "v.npz", states=np.stack([env.observation_space.sample() for _ in range(50)]))
    found = diagnose_run(run_directory, observations=tmp_path / "v.npz")
    assert found.states == 50
    assert found.motion is None


def test_an_observation_without_a_number_is_named(run_directory: Path, tmp_path: Path) -> None:
    states = np.zeros((300, 6))
    states[7, 2] = np.nan
    np.savez(tmp_path / "v.npz", states=states)
    with pytest.raises(ValueError, match=r"v\.npz: row 7, element 2 is nan$"):
        diagnose_run(run_directory, observations=tmp_path / "v.npz")


def test_the_robot_itself_beside_the_policy(run_directory: Path) -> None:
    found = diagnose_run(run_directory, states=2000)
    assert found.motion is not None
    assert found.motion.transitions == 2000
    for one in found.motion.actuators:
        assert one.scale_known
        assert one.scale == pytest.approx(RELATIVE_SCALE[one.index], rel=0.05)
        assert one.true_scale == pytest.approx(RELATIVE_SCALE[one.index])
    assert found.as_dict()["motion"]["actuators"][2]["is_off"]


def test_a_description_by_tables_says_nothing_about_joints(run_directory: Path, tmp_path: Path) -> None:
    """Without names the policy alone is diagnosed."""
    copied = Path(shutil.copytree(run_directory, tmp_path / "run"))
    group = load(copied / "symmetry.yaml")
    save(SymmetryGroup(list(group)), copied / "symmetry.yaml")
    forget_hashes(copied)
    found = diagnose_run(copied, states=100)
    assert found.motion is None
    assert found.as_dict()["motion"] is None


@pytest.mark.parametrize(
    "words",
    [
        "{run} --symmetry ant",
        "{run} --states 9 --observations v.npz",
        "--states 9 --transitions v.npz --symmetry triangle",
        "policy.zip --states 9 --symmetry triangle --observations v.npz",
    ],
)
def test_options_that_would_be_ignored_are_refused(run_directory: Path, ambidex: Ambidex, words: str) -> None:
    status, _, complaint = ambidex("diagnose", *words.format(run=run_directory).split())
    assert status == 2
    assert complaint.startswith("ambidex: --symmetry is" if "ant" in words else "ambidex: --states is")


def test_the_verb(run_directory: Path, tmp_path: Path, ambidex: Ambidex) -> None:
    figure = tmp_path / "robot.png"
    given = ("diagnose", str(run_directory), "--states", "200")
    status, printed, _ = ambidex(*given, "--json", "--figure", str(figure))
    assert not status
    found = json.loads(printed)
    assert {one["name"] for one in found["actuators"]} == {f"limb_{i}.shoulder" for i in range(3)}
    assert found["least_followed"] in load("triangle").names
    assert figure.read_bytes().startswith(b"\x89PNG")
    status, printed, _ = ambidex(*given)
    assert not status
    assert "follows" in printed
    status, _, complaint = ambidex("diagnose", str(tmp_path))
    assert status == 2
    assert "no run.json" in complaint
    assert "--symmetry" in ambidex("diagnose", str(tmp_path / "policy.zip"))[2]
