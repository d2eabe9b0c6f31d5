import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from ambidex.common.files import arrays_from_bytes, arrays_to_bytes
from ambidex.experiment.one_run import environment_state


def _vec(env_id, count=1):
    return DummyVecEnv([lambda: Monitor(gym.make(env_id)) for _ in range(count)])


def _play(env, actions):
    """Everything an agent would see, as bytes."""
    seen = []
    for action in actions:
        observations, rewards, dones, infos = env.step(action)
        seen += [observations.tobytes(), rewards.tobytes(), dones.tobytes()]
        seen += [(info["episode"]["r"], info["episode"]["l"]) for info in infos if "episode" in info]
        seen += [info["terminal_observation"].tobytes() for info in infos if "terminal_observation" in info]
    return seen


@pytest.mark.parametrize(
    ("env_id", "steps"),
    [("Pendulum-v1", 450), ("CartPole-v1", 300), ("Ant-v5", 120), ("HalfCheetah-v5", 60), ("Hopper-v5", 150)],
)
def test_another_environment_continues_to_the_bit(env_id, steps):
    one, other = _vec(env_id, 2), _vec(env_id, 2)
    one.seed(3)
    other.seed(99)
    one.reset()
    other.reset()
    one.action_space.seed(0)
    actions = [np.array([one.action_space.sample() for _ in range(2)]) for _ in range(steps)]
    _play(one, actions[: steps // 3])
    _play(other, actions[5:20])
    kept = arrays_from_bytes(arrays_to_bytes(environment_state.capture(one)))
    expected = _play(one, actions[steps // 3 :])
    environment_state.restore(other, kept)
    assert _play(other, actions[steps // 3 :]) == expected
    assert environment_state.inexact(one) is None


def test_a_vec_monitor_is_kept():
    one = VecMonitor(DummyVecEnv([lambda: gym.make("CartPole-v1")]))
    one.seed(1)
    one.reset()
    _play(one, [np.array([1])] * 4)
    kept = environment_state.capture(one)
    expected = _play(one, [np.array([1])] * 30)
    environment_state.restore(one, kept)
    assert _play(one, [np.array([1])] * 30) == expected


def test_an_environment_that_keeps_no_state_is_named():
    class Foreign(gym.Wrapper):
        pass

    env = DummyVecEnv([lambda: Foreign(gym.make("CartPole-v1"))])
    assert environment_state.inexact(env) == "Foreign"


class Arm(gym.Env):
    """Offers a state as robots of other packages do: one vector, or numbers."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, state):
        self.state = state

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, False, {}

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = state


class NamedArm(Arm):
    def get_state(self, name):
        return self.state


@pytest.mark.parametrize(
    "state", [np.zeros(3), (1, 2), {"steps": 3}, {1: np.zeros(2)}, {"name": np.array(["arm"])}]
)
def test_an_environment_whose_state_is_not_arrays_by_name_is_named(state):
    assert environment_state.inexact(Monitor(Arm(state))) == "Arm"
    assert environment_state.inexact(Monitor(NamedArm(state))) == "NamedArm"


def test_arrays_by_name_are_a_state():
    arm = Monitor(Arm({"joints": np.arange(3.0), "steps": np.int64(3)}))
    arm.reset()
    assert environment_state.inexact(arm) is None
    kept = environment_state.capture(arm)
    arm.unwrapped.state = None
    environment_state.restore(arm, kept)
    np.testing.assert_array_equal(arm.unwrapped.state["joints"], np.arange(3.0))
