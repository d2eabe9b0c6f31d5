import numpy as np
import pytest

from ambidex.experiment.one_run.episodes import run_episodes
from ambidex.experiment.trained import stored


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
