"""A run that has collapsed says so and ends; a run that only begins, stands or learns never does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ambidex.envs.random_state import generator_from_words, generator_to_words
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.many_runs.status import status
from ambidex.experiment.many_runs.sweep import PlannedRun, sweep
from ambidex.experiment.one_run import record, run, training
from ambidex.experiment.one_run.collapse import FIRST, ITERATIONS, Row, collapsed
from ambidex.report import load_runs, summarise

LONG = 400


def falling(count: int) -> list[Row]:
    """A4.1 with seed 1 and a rate of up to 1e-3: after 20 iterations the ant falls within 20 steps."""
    start = [(18.0 - 0.4 * i, 34.0 - 0.7 * i, 0.37 * math.exp(-0.1 * i)) for i in range(20)]
    return [*start, *[(10.0, 20.0, 0.05)] * (count - 20)]


def test_an_ant_that_learned_to_fall_has_collapsed() -> None:
    why = collapsed(falling(LONG))
    assert why is not None
    assert "20 steps (34 at the start)" in why
    assert "return of 10 (18)" in why
    assert "std has shrunk to 0.05 (0.37)" in why


def test_it_must_have_been_so_for_long_without_a_break() -> None:
    ends = [count for count in range(LONG) if collapsed(falling(count)) is not None]
    low_std = next(i for i, row in enumerate(falling(LONG)) if row[2] <= 0.3 * 0.37)  # the last of the three
    assert ends[0] == low_std + ITERATIONS
    rows = falling(LONG)
    rows[-2] = (200.0, 20.0, 0.05)
    assert collapsed(rows) is None


def test_fewer_iterations_do_where_they_are_long() -> None:
    rows = [(18.0, 34.0, 1.0)] * FIRST + [(10.0, 20.0, 0.05)] * 6
    assert collapsed(rows) is None
    assert "for 6 iterations" in str(collapsed(rows, iterations=6))
    assert collapsed(rows, iterations=7) is None


def test_noise_that_a_floor_holds_up_counts_as_shrunk_there() -> None:
    def held(std: float) -> list[Row]:
        return [(18.0, 34.0, 1.0)] * FIRST + [(10.0, 20.0, std)] * ITERATIONS

    assert collapsed(held(0.4)) is None
    assert "std has shrunk to 0.4 (1)" in str(collapsed(held(0.4), floor=0.4))
    assert collapsed(held(0.5), floor=0.4) is None
    assert collapsed(held(0.25), floor=0.1) is not None
    assert collapsed(held(1.0), floor=1.0) is None  # it has not shrunk


def test_the_start_is_where_all_is_known() -> None:
    start = [(None, None, 0.4)] * 2 + [(100.0, 200.0, 0.4), (None, None, 0.4)] + [(100.0, 200.0, 0.4)] * 2
    rows = [*start, *[(10.0, 20.0, 0.02)] * ITERATIONS]
    assert "20 steps (200 at the start)" in str(collapsed(rows))
    assert collapsed(rows[:-1]) is None
    assert collapsed([*rows, (None, None, 0.02)]) is None


def rising(count: int, row: Any) -> list[Row]:
    return [row(i / (count - 1)) for i in range(count)]


HEALTHY = {
    "a standing ant at its start": rising(LONG, lambda t: (20 + 100 * t, 34.0 + 900 * t, 0.37)),
    "an ant that stands and loses its noise": rising(LONG, lambda t: (900.0, 1000.0, 0.37 * 0.05**t)),
    "it stays as untrained as it began": [(18.0, 34.0, 0.37)] * LONG,
    "no return, but it still tries": [(18.0, 34.0, 0.37)] * 5 + [(10.0, 20.0, 0.2)] * LONG,
    "a goal that is reached sooner and sooner": rising(
        LONG, lambda t: (10 + 50 * t, 100 - 90 * t, 0.37 * 0.05**t)
    ),
    "as good as by chance at the start, and sooner": [(1.0, 200.0, 1.0)] * 5 + [(1.0, 40.0, 0.05)] * LONG,
    "episodes of one length that get worse": rising(LONG, lambda t: (-200 - 500 * t, 200.0, 0.37 * 0.05**t)),
    "no episode has ended": [(None, None, 0.37 * 0.9**i) for i in range(LONG)],
    "its start is not known": [(None, None, 0.37)] * 5 + [(10.0, 20.0, 0.05)] * LONG,
    "no noise is known": [(18.0, 34.0, None)] * 5 + [(10.0, 20.0, None)] * LONG,
}


@pytest.mark.parametrize("rows", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy_runs(rows: list[Row]) -> None:
    assert all(collapsed(rows[:count]) is None for count in range(len(rows) + 1))


class Trap(gym.Env[np.ndarray, np.ndarray]):
    """What earns most now ends the episode: a policy that does not look ahead learns to end it at once."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Box(-2, 2, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._observed(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        reward = 2.0 - float((action[0] - 1) ** 2)
        return self._observed(), reward, bool(action[0] > 0.6), self.steps == 50, {}

    def get_state(self) -> dict[str, np.ndarray]:
        return {"steps": np.array(self.steps), "generator": generator_to_words(self.np_random)}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self.steps = int(state["steps"])
        self.np_random = generator_from_words(state["generator"])

    def _observed(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)


@pytest.fixture(scope="module")
def trap() -> RunConfig:
    gym.register("tests/Trap-v0", Trap)
    settings = {"env": "tests/Trap-v0", "gamma": 0.0, "gae_lambda": 0.0, "learning_rate": 5e-3, "n_steps": 32}
    settings |= {"num_envs": 4, "batch_size": 64, "n_epochs": 10, "net_arch": [16], "activation": "tanh"}
    settings |= {"steps": 128 * LONG, "evaluation_every": 10, "evaluation_episodes": 2, "desired_kl": None}
    return resolve(None, "ppo", settings)


@pytest.fixture(scope="module")
def over(trap: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("collapsed") / "run"
    run.train(trap, directory)
    return directory


def test_a_run_that_collapses_ends_early_and_says_so(over: Path, trap: RunConfig) -> None:
    about = record.read(over)
    assert about["status"] == "collapsed"
    assert FIRST + ITERATIONS < about["iterations"] < LONG / 2
    assert "too little to find a way out" in about["message"]
    (row,) = status(over)
    assert (row.state, row.message) == ("collapsed", about["message"])
    assert (over / "policy-last.safetensors").exists()
    with pytest.raises(ValueError, match="has collapsed: for 25 iterations"):
        run.resume(over)


def test_it_collapses_in_the_same_iteration_when_it_is_resumed(
    over: Path, trap: RunConfig, tmp_path: Path
) -> None:
    made = record.read(over)["iterations"]
    run.train(
        trap.model_copy(update={"steps": 128 * (made - 5), "checkpoint_seconds": 0.0}), tmp_path / "run"
    )
    assert record.read(tmp_path / "run")["status"] == "done"
    run.resume(tmp_path / "run", steps=trap.steps)
    about = record.read(tmp_path / "run")
    assert (about["status"], about["iterations"]) == ("collapsed", made)
    assert (tmp_path / "run" / "progress.csv").read_bytes() == (over / "progress.csv").read_bytes()


def test_it_stays_collapsed_when_it_is_killed_before_it_could_say_so(
    tiny: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def falls(rows: list[Row], floor: float, iterations: int) -> str | None:
        return "it falls" if len(rows) >= 2 and floor == 0.2 and iterations == ITERATIONS else None

    monkeypatch.setattr(training, "collapsed", falls)
    run.train(resolve("triangle", "ppo", tiny | {"std_floor": 0.2}), tmp_path)
    ended = json.loads((tmp_path / "run.json").read_text())
    assert (ended["status"], ended["iterations"]) == ("collapsed", 2)
    (tmp_path / "run.json").write_text(json.dumps(ended | {"status": "running", "message": None}))
    run.resume(tmp_path)
    about = record.read(tmp_path)
    assert (about["status"], about["message"], about["iterations"]) == ("collapsed", "it falls", 2)


def test_whoever_wants_it_trains_on(trap: RunConfig, over: Path, tmp_path: Path) -> None:
    steps = 128 * (record.read(over)["iterations"] + 3)
    run.train(trap.model_copy(update={"stop_collapsed": False, "steps": steps}), tmp_path / "run")
    assert record.read(tmp_path / "run")["status"] == "done"


def test_a_sweep_leaves_it_and_a_report_lists_it(over: Path, trap: RunConfig) -> None:
    (outcome,) = sweep([PlannedRun(trap, over)], over.parent)
    assert outcome.state == "collapsed"
    assert outcome.message is not None and "too little" in outcome.message
    assert json.loads((over / "run.json").read_text())["status"] == "collapsed"
    (method,) = summarise(load_runs([over])).scenarios[0].methods
    assert method.runs == []
    assert method.missing[0].startswith("collapsed at ")
