import shutil

import numpy as np
import pytest

from ambidex.experiment.one_run.episodes import Episode, run_episodes
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.evaluate import evaluate, summary


def test_the_same_policy_gives_the_same_episodes(finished):
    assert evaluate(finished, which="last", episodes=3) == evaluate(finished, which="last", episodes=3)


def test_a_truncated_policy_is_named(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    policy = tmp_path / "run" / "policy-best.safetensors"
    policy.write_bytes(policy.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"policy-best\.safetensors is damaged"):
        stored.load_policy(tmp_path / "run")


def test_a_row_for_each_goal_and_one_for_all():
    episodes = [Episode(1, 10.0, 5), Episode(0, 2.0, 3), Episode(1, 20.0, 7)]
    rows = summary(episodes)
    assert [(row["goal"], row["episodes"], row["mean_return"]) for row in rows] == [
        (0, 1, 2.0),
        (1, 2, 15.0),
        (None, 3, pytest.approx(32 / 3)),
    ]
    assert (rows[1]["lowest_return"], rows[1]["highest_return"], rows[1]["mean_length"]) == (10.0, 20.0, 6.0)


@pytest.mark.pybullet
def test_every_goal_of_the_ant_gets_the_same_number_of_episodes():
    import gymnasium as gym

    env = gym.make("ambidex/Ant-v0", scenario="A1.2", evaluation=True)
    env.reset(seed=3)
    episodes = run_episodes(lambda observation: np.zeros(8, np.float32), env, 16)
    assert [row["episodes"] for row in summary(episodes)] == [2] * 8 + [16]
    env.close()


def test_a_run_without_a_policy_says_so(finished, tmp_path):
    (tmp_path / "run.json").write_bytes((finished / "run.json").read_bytes())
    with pytest.raises(ValueError, match="no best policy yet"):
        evaluate(tmp_path)


@pytest.mark.parametrize("name", ["directory", "which", "env_id", "config", "group"])
def test_an_argument_of_the_environment_may_have_any_name(finished, name):
    with pytest.raises(ValueError, match=f"takes no {name}; leave it out"):
        evaluate(finished, env_args={name: 1})
