"""The diagnosis against policies of robots with known faults."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import save_file
from stable_baselines3 import PPO

from ambidex import cli, load
from ambidex.report import diagnose_figure
from ambidex.report.diagnose import (
    Actuator,
    Diagnosis,
    Movement,
    _movement,
    diagnose_policy,
    diagnose_run,
    diagnose_zip,
    scales_of_maps,
)
from ambidex.report.diagnose_words import in_words
from ambidex.report.runs import Series
from ambidex.report.visited import read_observations

TRIANGLE = load("triangle-paper")
SCALE, OFFSET = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 0.0])


class KnownModel:
    """A model that answers each limb's angle with its own scale and offset, and a little noise."""

    action_space = spaces.Box(-4, 4, (3,))
    num_timesteps = 1000

    def __init__(self, scale: np.ndarray = SCALE, offset: np.ndarray = OFFSET, noise: float = 0.05) -> None:
        self.scale, self.offset, self.noise = scale, offset, noise
        self.rng = np.random.default_rng(0)

    def predict(self, observations: np.ndarray, deterministic: bool) -> tuple[np.ndarray, None]:
        assert deterministic
        canonical = -observations[:, :3] + self.noise * self.rng.normal(size=(len(observations), 3))
        return np.clip(self.offset + self.scale * canonical, -4, 4).astype(np.float32), None


def visited(states: int = 1000) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.8, 0.8, size=(states, 4)).astype(np.float32)


def known_diagnosis(**arguments: Any) -> Diagnosis:
    return diagnose_policy(KnownModel(**arguments), TRIANGLE, visited())  # type: ignore[arg-type]


def test_scales_and_offsets_of_a_known_robot() -> None:
    found = known_diagnosis()
    true = SCALE / np.exp(np.log(SCALE).mean())
    for one in found.actuators:
        low, high = one.scale_interval
        assert low - 0.02 < true[one.index] < high + 0.02
        assert one.scale == pytest.approx(true[one.index], rel=0.02)
        assert one.scale_is_off
        assert one.scale_known
    assert [one.offset_is_off for one in found.actuators] == [False, True, False]
    assert found.actuators[1].offset == pytest.approx(0.1, abs=0.01)
    assert [one.place for one in found.actuators] == ["back", "front right", "front left"]
    assert all(transform.agreement > 0.95 for transform in found.transforms)


def test_words_name_the_actuator_and_what_it_needs() -> None:
    text = in_words(known_diagnosis())
    assert "joint 2, front left shoulder: needs 1.6" in text
    assert "times the command of its counterparts" in text
    assert "and 0.10 ± 0.01 where they need 0" in text.replace("\n    ", " ")
    assert text.index("joint 0, back") < text.index("joint 1, front right")  # the worst first


def test_a_sound_robot() -> None:
    found = known_diagnosis(scale=np.ones(3), offset=np.zeros(3))
    assert not any(one.is_off for one in found.actuators)
    text = in_words(found)
    assert "No actuator differs" in text
    assert "joint 1, front right shoulder (1.00 ± 0.01)" in text.replace("\n    ", " ")


def test_a_policy_that_follows_no_symmetry() -> None:
    found = known_diagnosis(noise=5.0, scale=np.full(3, 0.2))
    assert not any(one.scale_known or one.is_off for one in found.actuators)
    text = in_words(found)
    assert "Not known:" in text
    assert "does not follow this symmetry" in text.replace("\n    ", " ")
    assert "hardly symmetric" in " ".join(text.split())


def test_a_share_of_saturated_states() -> None:
    found = known_diagnosis(scale=np.array([1.0, 2.0, 12.0]))
    assert found.actuators[2].saturated > 0.3
    assert "at the end of its range" in in_words(found).replace("\n    ", " ")


def test_the_least_followed_transform() -> None:
    found = known_diagnosis()
    worse = tuple(replace(one, agreement=0.3) if one.name == "d" else one for one in found.transforms)
    found = replace(found, transforms=worse)
    assert found.least_followed.name == "d"
    assert "follows d least: agreement 0.30" in in_words(found)


def test_what_the_symmetry_was_worth() -> None:
    found = known_diagnosis()
    gated = tuple(
        replace(
            one,
            blocked=0.7 if one.name == "a" else 0.1,
            value_distance=0.2 if one.name == "a" else 0.4,
            value_distance_moved=Movement(3.0, 1.0, 500),
        )
        for one in found.transforms
    )
    found = replace(found, transforms=gated, best_return=40.0)
    text = " ".join(in_words(found).split())
    assert "blocked 70% of a, 10% of b" in text
    assert "Much of a was refused" in text
    assert "0.20 (a) to 0.40 (b) of the values' own spread" in text
    assert "went from 3.00 to 1.00" in text
    assert "only plain PPO on the same scenario and seed can tell" in text
    assert "the symmetry helped" in " ".join(in_words(replace(found, plain_return=30.0)).split())
    assert "the symmetry hurt" in " ".join(in_words(replace(found, plain_return=50.0)).split())
    assert "made no difference" in " ".join(in_words(replace(found, plain_return=40.3)).split())


def test_scales_that_maps_imply() -> None:
    """By hand: m = s_u / s_q for limbs that need 1, 2 and 3 times, up to the geometric mean."""
    maps = {"a": np.array([-1, -2 / 3, -3 / 2]), "d": np.array([1 / 3, 2, 3 / 2])}
    np.testing.assert_allclose(scales_of_maps(TRIANGLE, maps), SCALE / 6 ** (1 / 3))
    np.testing.assert_array_equal(scales_of_maps(TRIANGLE, {}), 1)


def test_movement_settles_when_it_stays_near_the_end() -> None:
    series = Series(np.array([10.0, 20, 30, 40, 50]), np.array([1.0, 1.6, 1.95, 2.04, 2.0]))
    assert _movement(series) == Movement(1.0, 2.0, 30)
    still = Series(np.array([10.0, 20]), np.array([1.0, 1.0]))
    assert _movement(still) == Movement(1.0, 1.0, 10)


@pytest.mark.parametrize("ending", ["csv", "npz", "safetensors"])
def test_observations_from_files(tmp_path: Path, ending: str) -> None:
    states = visited(20)
    path = tmp_path / f"visited.{ending}"
    if ending == "csv":
        np.savetxt(path, states, delimiter=",", header="a,b,c,d", comments="", fmt="%.9g")
    elif ending == "npz":
        np.savez(path, observations=states)
    else:
        save_file({"observations": states}, path)
    np.testing.assert_array_equal(read_observations(path), states)


def test_dict_observations_from_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "visited.npz", joints=np.ones((5, 3)), goal=np.zeros((5, 2)))
    found = read_observations(tmp_path / "visited.npz")
    assert isinstance(found, dict)
    assert {name: array.shape for name, array in found.items()} == {"joints": (5, 3), "goal": (5, 2)}
    np.savez(tmp_path / "wrong.npz", joints=np.ones((5, 3)), goal=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="different numbers of states"):
        read_observations(tmp_path / "wrong.npz")


def test_files_that_hold_no_observations(tmp_path: Path) -> None:
    (tmp_path / "visited.txt").write_text("1,2")
    with pytest.raises(ValueError, match=r"read from \.csv"):
        read_observations(tmp_path / "visited.txt")
    (tmp_path / "visited.csv").write_text("a,b\n1,2\n3,x\n")
    with pytest.raises(ValueError, match="not a table of numbers"):
        read_observations(tmp_path / "visited.csv")
    np.savez(tmp_path / "flat.npz", observations=np.ones(4))
    with pytest.raises(ValueError, match="one row per state"):
        read_observations(tmp_path / "flat.npz")
    pickled = np.array([{"code": "runs"}], dtype=object)
    np.savez(tmp_path / "pickled.npz", observations=pickled)
    with pytest.raises(ValueError, match="allow_pickle"):
        read_observations(tmp_path / "pickled.npz")


def test_a_stable_baselines3_file_needs_trust(tmp_path: Path) -> None:
    from ambidex.envs.triangle import TriangleEnv

    group = load("triangle")
    env = TriangleEnv()
    model = PPO("MlpPolicy", env, device="cpu", seed=0)
    model.save(tmp_path / "policy.zip")
    states = np.stack([env.observation_space.sample() for _ in range(64)])
    np.savez(tmp_path / "visited.npz", observations=states)
    arguments = {"symmetry": "triangle", "observations": tmp_path / "visited.npz"}
    with pytest.raises(ValueError, match="--trust"):
        diagnose_zip(tmp_path / "policy.zip", **arguments)
    with pytest.raises(ValueError, match="no algorithm 'POP'"):
        diagnose_zip(tmp_path / "policy.zip", **arguments, algorithm="POP", trust=True)
    found = diagnose_zip(tmp_path / "policy.zip", **arguments, trust=True)
    direct = diagnose_policy(model, group, states)
    assert found == direct
    assert found.title == "PPO policy, after 0 steps"


def test_discrete_actions_have_no_scales() -> None:
    model = KnownModel()
    model.action_space = spaces.Discrete(3)  # type: ignore[assignment]
    with pytest.raises(ValueError, match="continuous"):
        diagnose_policy(model, TRIANGLE, visited())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ambidex.experiment import run
    from ambidex.experiment.presets import configure

    directory = tmp_path_factory.mktemp("runs") / "triangle-rust" / "asl" / "seed-0"
    assignments = ["fit=calibrated", "num_envs=4", "n_steps=64", "metrics_every=1"]
    config = configure(None, assignments, scenario="triangle-rust", steps=512)
    run.train(config, directory)
    return directory


def test_a_run_directory(run_directory: Path) -> None:
    found = diagnose_run(run_directory, states=300)
    assert found.states == 300
    assert [one.true_scale for one in found.actuators] == pytest.approx(list(SCALE / 6 ** (1 / 3)), rel=1e-6)
    for one in found.actuators:
        assert one.moved is not None
        assert one.moved.first == pytest.approx(1, abs=0.2)
    assert all(one.value_distance is not None for one in found.transforms)
    assert "triangle-rust, asl, seed 0" in found.title
    again = diagnose_run(run_directory, states=300)
    assert again == found


def test_recorded_observations_instead_of_a_simulation(run_directory: Path, tmp_path: Path) -> None:
    from ambidex.envs.triangle import TriangleEnv

    env = TriangleEnv()
    np.savez(tmp_path / "v.npz", states=np.stack([env.observation_space.sample() for _ in range(50)]))
    assert diagnose_run(run_directory, observations=tmp_path / "v.npz").states == 50


def test_the_verb(
    run_directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ambidex(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr("sys.argv", ["ambidex", "diagnose", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    figure = tmp_path / "robot.png"
    status, printed, _ = ambidex(str(run_directory), "--states", "200", "--json", "--figure", str(figure))
    assert not status
    found = json.loads(printed)
    assert {one["name"] for one in found["actuators"]} == {f"limb_{i}.shoulder" for i in range(3)}
    assert found["least_followed"] in load("triangle").names
    assert figure.read_bytes().startswith(b"\x89PNG")
    status, printed, _ = ambidex(str(run_directory), "--states", "200")
    assert not status
    assert "follows" in printed
    status, _, complaint = ambidex(str(tmp_path))
    assert status == 2
    assert "no run.json" in complaint
    assert "--symmetry" in ambidex(str(tmp_path / "policy.zip"))[2]


class TestFigure:
    def actuator(self, **changed: Any) -> Actuator:
        return replace(known_diagnosis().actuators[0], **changed)

    def test_colours(self) -> None:
        assert diagnose_figure.colour(self.actuator()) == diagnose_figure.LESS
        assert diagnose_figure.colour(self.actuator(scale_known=False)) == diagnose_figure.UNKNOWN
        more = self.actuator(scale=2.0, scale_interval=(1.9, 2.1))
        assert diagnose_figure.colour(more) == diagnose_figure.MORE
        unsure = self.actuator(scale=1.2, scale_interval=(0.9, 1.6))
        assert diagnose_figure.colour(unsure) == diagnose_figure.SAME

    def test_every_actuator_is_drawn(self, tmp_path: Path) -> None:
        path = tmp_path / "robot.svg"
        diagnose_figure.save_figure(known_diagnosis(), TRIANGLE, path)
        drawing = path.read_text()
        for ink in (diagnose_figure.LESS, diagnose_figure.MORE):
            assert ink in drawing

    def test_a_description_without_places(self, tmp_path: Path) -> None:
        found = known_diagnosis()
        group = type(TRIANGLE)(list(TRIANGLE))  # without its layout
        diagnose_figure.save_figure(found, group, tmp_path / "robot.png")
        assert (tmp_path / "robot.png").stat().st_size > 5000
