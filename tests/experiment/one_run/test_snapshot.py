"""A captured training goes on the same in new objects, Dict observations included."""

import json
import random

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.common.files import arrays_from_bytes, arrays_to_bytes
from ambidex.experiment.one_run import snapshot


class Walk(gym.Env):
    """A random walk that keeps its own state, seen as a vector or in two parts."""

    action_space = gym.spaces.Box(-1, 1, (1,))

    def __init__(self, parts):
        self.parts = parts
        box = gym.spaces.Box(-np.inf, np.inf, (2,))
        self.observation_space = gym.spaces.Dict({"near": box, "far": box}) if parts else box
        self.place = np.zeros(2, np.float32)
        self.steps = 0

    def _observe(self):
        return {"near": self.place, "far": 2 * self.place} if self.parts else self.place

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = np.zeros(2, np.float32), 0
        return self._observe(), {}

    def step(self, action):
        self.place = self.place + self.np_random.normal(size=2).astype(np.float32) + action
        self.steps += 1
        return self._observe(), -float(np.abs(self.place).sum()), False, self.steps >= 11, {}

    def get_state(self):
        text = json.dumps(self.np_random.bit_generator.state).encode()
        return {
            "place": self.place,
            "steps": np.array(self.steps),
            "random": np.frombuffer(text, np.uint8),
        }

    def set_state(self, state):
        self.place, self.steps = state["place"].copy(), int(state["steps"])
        self.np_random.bit_generator.state = json.loads(state["random"].tobytes())


def _model(parts, seed):
    policy = "MultiInputPolicy" if parts else "MlpPolicy"
    env = DummyVecEnv([lambda: Monitor(Walk(parts))])
    model = PPO(policy, env, n_steps=32, batch_size=16, n_epochs=2, seed=seed, device="cpu")
    model.set_logger(Logger(None, []))
    _, callback = model._setup_learn(10**6)
    return model, callback


def _iterate(model, callback):
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    model.train()
    model._episode_num += 1
    random.random()


@pytest.mark.parametrize("parts", [False, True])
def test_a_captured_training_goes_on_in_new_objects(parts):
    one, callback = _model(parts, seed=1)
    _iterate(one, callback)
    arrays, state = snapshot.capture(one)
    arrays = {name: arrays_from_bytes(arrays_to_bytes(group)) for name, group in arrays.items()}
    state = json.loads(json.dumps(state))
    _iterate(one, callback)
    drawn = random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002

    other, callback = _model(parts, seed=99)
    snapshot.restore(other, arrays, state)
    _iterate(other, callback)
    assert (random.random(), np.random.random(), torch.rand(1).item()) == drawn  # noqa: NPY002
    for name, array in snapshot.policy_arrays(one).items():
        np.testing.assert_array_equal(array, snapshot.policy_arrays(other)[name], err_msg=name)
    for name in snapshot._COUNTERS:
        assert getattr(one, name) == getattr(other, name)
    episodes = [[(e["r"], e["l"]) for e in model.ep_info_buffer] for model in (one, other)]
    assert episodes[0] == episodes[1] != []
