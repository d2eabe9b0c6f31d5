"""A robot of somebody's own, as a module that the tests copy into a folder: a cart on two wheels.

It observes in float64, as Gymnasium's environments on MuJoCo do, with parts of very different size.
"""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

SEEN = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float64)
DONE = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)


def observe(speeds, heading, battery):
    return np.concatenate([100 * speeds, heading, 1000 + battery], axis=-1)


def moved(speeds, heading, battery, action, weak):
    speeds = 0.9 * speeds + action * np.array([1.0, weak])
    heading = heading + 0.1 * (speeds[..., 1:] - speeds[..., :1])
    return speeds, heading, battery - 0.01 * np.abs(action).sum(axis=-1, keepdims=True)


class Cart(gymnasium.Env):
    """:param weak: the strength of the right motor beside the left one's"""

    observation_space, action_space = SEEN, DONE

    def __init__(self, weak=1.0, length=20):
        self.weak, self.length = weak, length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2), self.np_random.normal(size=1), np.ones(1)
        self.steps = 0
        return observe(*self.state), {}

    def step(self, action):
        self.state = moved(*self.state, np.asarray(action, np.float64), self.weak)
        self.steps += 1
        reward = float(self.state[0].mean() - self.state[1][0] ** 2)
        return observe(*self.state), reward, bool(abs(self.state[1][0]) > 3), self.steps >= self.length, {}


class ExactCart(Cart):
    def get_state(self):
        generator = self.np_random.bit_generator.state["state"]
        words = [word for number in generator.values() for word in (number >> 64, number % 2**64)]
        return {
            "state": np.concatenate(self.state),
            "steps": np.array(self.steps),
            "generator": np.array(words, dtype=np.uint64),
        }

    def set_state(self, state):
        speeds, heading, battery = np.split(state["state"], [2, 3])
        self.state, self.steps = (speeds, heading, battery), int(state["steps"])
        words = [int(word) for word in state["generator"]]
        numbers = [(high << 64) + low for high, low in zip(words[::2], words[1::2], strict=True)]
        whole = self.np_random.bit_generator.state
        whole["state"] = dict(zip(("state", "inc"), numbers, strict=True))
        self.np_random.bit_generator.state = whole


class Carts(VectorEnv):
    """Many carts as one array; ``resets`` says when a new episode begins."""

    def __init__(self, num_envs=1, weak=1.0, length=20, resets="Disabled"):
        self.num_envs, self.weak, self.length = num_envs, weak, length
        self.metadata = {"autoreset_mode": AutoresetMode(resets)}
        self.single_observation_space, self.single_action_space = SEEN, DONE
        self.observation_space, self.action_space = (batch_space(s, num_envs) for s in (SEEN, DONE))
        self.state = np.zeros((num_envs, 2)), np.zeros((num_envs, 1)), np.zeros((num_envs, 1))
        self.steps = np.zeros(num_envs, int)

    def begin(self, chosen):
        for index in np.flatnonzero(chosen):
            generator = self.generators[index]
            start = generator.normal(size=2), generator.normal(size=1), np.ones(1)
            for part, value in zip(self.state, start, strict=True):
                part[index] = value
        self.steps[chosen] = 0

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.generators = [gymnasium.utils.seeding.np_random(one)[0] for one in seed]
        self.begin((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        return observe(*self.state), {}

    def step(self, actions):
        self.state = moved(*self.state, np.asarray(actions, np.float64), self.weak)
        self.steps += 1
        heading = self.state[1][:, 0]
        rewards = self.state[0].mean(axis=1) - heading**2
        terminated, truncated = np.abs(heading) > 3, self.steps >= self.length
        seen, told = observe(*self.state), {}
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP and (terminated | truncated).any():
            told["final_obs"] = seen.copy()
            self.begin(terminated | truncated)
            seen = observe(*self.state)
        return seen, rewards, terminated, truncated, told


for name, entry in {"Cart-v0": Cart, "ExactCart-v0": ExactCart}.items():
    gymnasium.register(name, entry_point=entry, vector_entry_point=Carts)
