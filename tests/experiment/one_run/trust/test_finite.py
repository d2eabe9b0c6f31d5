"""What is no number ends a run as failed, with where it came from; the last checkpoint stays."""

import re

import gymnasium as gym
import numpy as np
import pytest

from ambidex import symmetry
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, run
from ambidex.experiment.one_run.loops import OnPolicyLoop
from ambidex.experiment.one_run.run import RunFailed

BREAKING = {"what": "", "step": 0, "value": np.nan, "first": 0}


class Breaking(gym.Wrapper):
    """A pendulum whose sensor or reward breaks in its nth step, from the first of them that does."""

    made = 0

    def __init__(self, env):
        super().__init__(env)
        self.steps = 0
        self.number = Breaking.made
        Breaking.made += 1

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        self.steps += 1
        if self.steps == BREAKING["step"] and self.number >= BREAKING["first"]:
            if BREAKING["what"] == "observation":
                observation = observation.copy()
                observation[2] = BREAKING["value"]
            elif BREAKING["what"] == "reward":
                reward = BREAKING["value"]
        return observation, reward, *rest


gym.register("Breaking-v0", lambda: Breaking(gym.make("Pendulum-v1", disable_env_checker=True)))


@pytest.fixture
def config(tmp_path, tiny):
    mirror = symmetry.Symmetry(
        "mirror",
        obs_indices=[0, 1, 2],
        obs_multipliers=[1, -1, -1],
        act_indices=[0],
        act_multipliers=[-1],
        kind="reflection",
    )
    symmetry.save(symmetry.SymmetryGroup([mirror]), tmp_path / "pendulum.yaml")
    settings = {
        "env": "Breaking-v0",
        "symmetry": str(tmp_path / "pendulum.yaml"),
        "num_envs": 2,
        "n_steps": 32,
    }
    return lambda **more: resolve(None, "asl", tiny | settings | {"evaluation_every": 100} | more)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("what", "value", "step", "words"),
    [
        (
            "observation",
            np.nan,
            70,
            r"environment 0: the observation, element 2, is nan (in step 6|after step 5) of",
        ),
        ("observation", np.inf, 96, r"environment 0: the observation, element 2, is inf after step 31 of"),
        (
            "reward",
            -np.inf,
            70,
            r"environment 0: the reward is -inf in step 5 of the roll-out, with 140 training steps made",
        ),
        ("reward", np.nan, 70, r"environment 0: the reward is nan in step 5 of"),
    ],
)
def test_a_broken_sensor_or_reward_ends_the_run(
    tmp_path, config, monkeypatch, fast, what, value, step, words
):
    monkeypatch.setitem(BREAKING, "what", what)
    monkeypatch.setitem(BREAKING, "step", step)
    monkeypatch.setitem(BREAKING, "value", value)
    directory = tmp_path / "run"
    with pytest.raises(RunFailed, match=f"Breaking-v0, {words}") as failed:
        run.train(config(fast=fast), directory)
    assert "the last checkpoint is from before it" in str(failed.value)
    assert record.read(directory)["status"] == "failed"
    assert re.search(words, record.read(directory)["message"])
    kept = checkpoint.newest(directory / "checkpoints", pytest.fail)
    assert kept.iteration == 2
    assert all(np.isfinite(array).all() for array in kept.arrays["policy"].values())


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("normalize", "what", "words"),
    [
        (False, "reward", "environment 1: the reward is inf in step 5 of"),
        ("rewards", "reward", "environment 1: the reward is inf in step 5 of"),
        (True, "reward", "environment 1: the reward is inf in step 5 of"),
        (True, "observation", "environment 1: the observation, element 2, is inf after step 5 of"),
    ],
)
def test_normalisation_does_not_blame_another_robot(tmp_path, config, monkeypatch, normalize, what, words):
    monkeypatch.setitem(BREAKING, "what", what)
    monkeypatch.setitem(BREAKING, "step", 70)
    monkeypatch.setitem(BREAKING, "value", np.inf)
    monkeypatch.setitem(BREAKING, "first", 1)
    monkeypatch.setattr(Breaking, "made", 0)
    with pytest.raises(RunFailed, match=words):
        run.train(config(normalize=normalize), tmp_path / "run")


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("fast", [True, False])
def test_a_sensor_that_breaks_where_an_episode_is_cut_off_is_not_called_a_reward(
    tmp_path, config, monkeypatch, fast
):
    """The value of that observation is part of the last reward, and nothing else of it is in the roll-out."""
    monkeypatch.setitem(BREAKING, "what", "observation")
    monkeypatch.setitem(BREAKING, "step", 200)  # a pendulum's last; 6 roll-outs of 32 steps, and 8 more
    words = "environment 0: the last observation of the episode, element 2, is nan in step 7 of the roll-out"
    with pytest.raises(RunFailed, match=f"Breaking-v0, {words}, with 400 training steps made"):
        run.train(config(fast=fast, steps=64 * 8), tmp_path / "run")


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_sensor_that_breaks_within_a_round_is_not_blamed_on_the_policy(tmp_path, monkeypatch):
    monkeypatch.setitem(BREAKING, "what", "observation")
    monkeypatch.setitem(BREAKING, "step", 20)  # the fourth of the third round
    settings = {"algorithm": "sac", "train_freq": 8, "learning_starts": 8, "batch_size": 8, "net_arch": [8]}
    settings |= {"env": "Breaking-v0", "buffer_size": 50, "steps": 64, "rounds": 1, "evaluation_every": 100}
    with pytest.raises(RunFailed, match="environment 0: the next observation, element 2, is nan 1 steps ago"):
        run.train(resolve(None, "ppo", settings), tmp_path / "run")


@pytest.mark.parametrize("fast", [True, False])
def test_a_broken_action_ends_the_run(tmp_path, config, monkeypatch, fast):
    real = OnPolicyLoop._roll_out

    def break_third(self):
        if self._model.num_timesteps == 128:
            self._model.policy.log_std.data[0] = np.nan
        real(self)

    monkeypatch.setattr(OnPolicyLoop, "_roll_out", break_third)
    with pytest.raises(RunFailed, match=r"the action, element 0, is nan in step 0 of|nan or infinity"):
        run.train(config(fast=fast), tmp_path / "run")
    assert checkpoint.newest(tmp_path / "run" / "checkpoints", pytest.fail).iteration == 2
    monkeypatch.undo()
    run.resume(tmp_path / "run")
    assert record.read(tmp_path / "run")["status"] == "done"


@pytest.mark.parametrize(
    ("what", "words"), [("observation", "observation, element 2, is nan"), ("reward", "reward is nan")]
)
def test_a_broken_evaluation_ends_the_run(tmp_path, config, monkeypatch, what, words):
    monkeypatch.setitem(BREAKING, "what", what)
    monkeypatch.setitem(BREAKING, "step", 150)  # each training environment makes 128 steps
    monkeypatch.setitem(BREAKING, "value", np.nan)
    with pytest.raises(RunFailed, match=f"evaluation environment's {words} after step 150 of an episode"):
        run.train(config(evaluation_every=2), tmp_path / "run")
    assert checkpoint.newest(tmp_path / "run" / "checkpoints", pytest.fail).iteration == 1
