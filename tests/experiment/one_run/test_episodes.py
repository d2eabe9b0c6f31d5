import gymnasium
import numpy as np
import pytest
from stable_baselines3 import PPO

from ambidex.experiment.one_run import episodes
from ambidex.experiment.one_run.episodes import Episode, run_episodes
from ambidex.experiment.trained import stored
from ambidex.learn.update.fast.rollout import mean_actions


def test_an_episode_is_the_sum_of_its_rewards(finished):
    policy = stored.load_policy(finished, "last")
    (episode,) = run_episodes(policy.act, policy.env, 1)
    policy = stored.load_policy(finished, "last")
    observation, _ = policy.env.reset()
    rewards = []
    for _ in range(50):
        mean, _, _ = policy.policy(policy.policy.obs_to_tensor(observation)[0], deterministic=True)
        action = np.clip(mean.detach().numpy()[0], policy.env.action_space.low, policy.env.action_space.high)
        observation, reward, _, truncated, _ = policy.env.step(action)
        rewards.append(reward)
    assert truncated
    assert (episode.total, episode.length) == (pytest.approx(sum(rewards)), 50)


class Corridor(gymnasium.Env):
    """Looks its action up by name, and ends after so many steps, or never."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=None):
        self.length, self.steps = length, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), {0: 1.0, 1: 1.0}[action], False, self.steps == self.length, {}


def test_a_choice_reaches_the_environment_as_a_number():
    env = Corridor(length=3)
    policy = PPO("MlpPolicy", env, n_steps=4, batch_size=4, device="cpu").policy
    assert run_episodes(mean_actions(policy), env, 1) == [Episode(None, 3.0, 3)]
    of_a_run = stored.StoredPolicy(None, policy, env)
    assert run_episodes(of_a_run.act, env, 1) == [Episode(None, 3.0, 3)]


def test_an_episode_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(episodes, "LONGEST", 50)
    with pytest.raises(ValueError, match=r"not ended after 50 steps; register .* max_episode_steps"):
        run_episodes(lambda observation: 0, Corridor(), 1)
    assert run_episodes(lambda observation: 0, Corridor(length=50), 1)[0].length == 50
