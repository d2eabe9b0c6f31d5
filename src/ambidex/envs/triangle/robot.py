"""The paper's 2D robot: one at a time (`ambidex/Triangle-v0`) or many at once (`TriangleVecEnv`).

Each of three limbs shall reach its own target angle and hold it against its spring. A step earns

    1 - tracking cost - speed cost

so that a robot that rests on its targets earns 1. An episode has 50 steps and is cut off, never ended.
Actions are torques in [-1, 1]; the best ones of an ideal limb stay below 1/3, so that not even a limb that
needs triple the torque saturates. See `triangle_dynamics` for the physics and the observation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from ambidex.common.arrays import FloatArray
from ambidex.envs import scenarios
from ambidex.envs.perturbations import ActionMaps, next_change
from ambidex.envs.random_state import generator_from_words, generator_to_words
from ambidex.envs.scenarios import Scenario
from ambidex.envs.triangle import dynamics
from ambidex.envs.triangle.perturbations import LIMBS, TriangleConditions
from ambidex.symmetry import load

Observation = npt.NDArray[np.float32]
State = dict[str, npt.NDArray[Any]]

TRIANGLE_ID = "ambidex/Triangle-v0"
EVALUATION_EPISODES = 16


class _Robots:
    """``count`` robots of one scenario: their state, and what a step does to it."""

    def __init__(self, count: int, scenario: str | Scenario) -> None:
        self.scenario = scenarios.get(scenario) if isinstance(scenario, str) else scenario
        if self.scenario.env != TRIANGLE_ID:
            raise ValueError(
                f"scenario {self.scenario.name!r} is one of {self.scenario.env}, "
                f"not of a triangle robot ({TRIANGLE_ID})"
            )
        limits = self._conditions_at(0).action_limits.astype(np.float32)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)
        self.observation_space = spaces.Box(
            dynamics.SMALLEST_OBSERVATION, dynamics.LARGEST_OBSERVATION, dtype=np.float32
        )
        self.angles = np.zeros((count, LIMBS))
        self.speeds = np.zeros((count, LIMBS))
        self.targets = np.zeros((count, LIMBS))
        self.battery = np.ones(count)
        self.steps = np.zeros(count, np.int64)
        self.training_steps = 0

    def _conditions_at(self, step: int) -> TriangleConditions:
        conditions = TriangleConditions(gains=np.ones(LIMBS), ranges=np.ones(LIMBS))
        for perturbation in self.scenario.perturbations:
            perturbation.apply(conditions, step)
        if conditions.tilt is not None or any(mass is not None for mass in conditions.foot_masses):
            raise ValueError(
                f"scenario {self.scenario.name!r}: foot_masses and tilt are perturbations of the ant only"
            )
        return conditions

    @property
    def training_steps(self) -> int:
        return self._training_steps

    @training_steps.setter
    def training_steps(self, steps: int) -> None:
        self._training_steps = steps
        self.conditions = self._conditions_at(steps)
        self._next_change = next_change(self.scenario.perturbations, steps)

    def age(self, steps: int) -> None:
        """Count training steps, and let the scenario change what it changes."""
        self._training_steps += steps
        if self._training_steps >= self._next_change:
            self.training_steps = self._training_steps

    def place(self, robots: slice | npt.NDArray[np.int64], random: np.random.Generator) -> None:
        """Start an episode: limbs at rest near neutral, new targets, a battery at least half full."""
        count = len(self.steps[robots])
        start, target = dynamics.LARGEST_START_ANGLE, dynamics.LARGEST_TARGET
        self.angles[robots] = random.uniform(-start, start, (count, LIMBS))
        self.targets[robots] = random.uniform(-target, target, (count, LIMBS))
        self.battery[robots] = random.uniform(dynamics.LOWEST_START_LEVEL, 1.0, count)
        self.speeds[robots] = 0.0
        self.steps[robots] = 0

    def step(self, actions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Move all robots; returns the tracking cost and the speed cost of each."""
        torques = dynamics.torques(actions, self.angles, self.battery, self.conditions)
        self.angles, self.speeds = dynamics.move(self.angles, self.speeds, torques)
        self.battery = dynamics.drain(self.battery, torques)
        self.steps += 1
        return dynamics.tracking_cost(self.angles, self.targets), dynamics.speed_cost(self.speeds)

    def observe(self) -> Observation:
        return dynamics.observe(self.angles, self.speeds, self.targets, self.battery)

    def true_action_maps(self) -> ActionMaps | None:
        return self.conditions.true_action_maps(load(self.scenario.symmetry))

    def get_state(self) -> State:
        return {
            "angles": self.angles.copy(),
            "speeds": self.speeds.copy(),
            "targets": self.targets.copy(),
            "battery": self.battery.copy(),
            "steps": self.steps.copy(),
            "training_steps": np.array(self._training_steps),
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in ("angles", "speeds", "targets", "battery", "steps"):
            own = getattr(self, name)
            values = np.array(state[name], own.dtype)
            if values.shape != own.shape:
                raise ValueError(f"the state's {name!r} has shape {own.shape}, got {values.shape}")
            setattr(self, name, values)
        self.training_steps = int(state["training_steps"])


class TriangleEnv(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """One triangle robot. A step's ``info`` has the two costs that the reward subtracts from 1.

    :param scenario: a name (`ambidex scenarios`), the path of a scenario file, or a `Scenario`
    :param evaluation: walk through the same 16 starts again and again, whatever the seed, and do not count
        steps as training
    :param render_mode: ``"rgb_array"`` for `render`, or None
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": round(1 / dynamics.TIME_STEP),
    }

    def __init__(
        self,
        *,
        scenario: str | Scenario = "triangle",
        evaluation: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"render_mode {render_mode!r}: the robot renders as 'rgb_array', or not at all (None)"
            )
        self.render_mode = render_mode
        self.evaluation = evaluation
        self._robots = _Robots(1, scenario)
        self.scenario = self._robots.scenario
        self.observation_space = self._robots.observation_space
        self.action_space = self._robots.action_space
        self._episodes = 0
        self._in_episode = False

    @property
    def training_steps(self) -> int:
        """How many training steps the robot has made in its life: the time of wear and of sudden changes.

        An evaluation environment does not count its own steps; whoever trains sets it to where training is.
        """
        return self._robots.training_steps

    @training_steps.setter
    def training_steps(self, steps: int) -> None:
        self._robots.training_steps = steps

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; a seed also starts the sequence of evaluation episodes anew."""
        super().reset(seed=seed)
        if options:
            raise ValueError(f"reset options {sorted(options)}: the triangle has none; use set_state")
        if seed is not None:
            self._episodes = 0
        random = self.np_random
        if self.evaluation:
            random = np.random.default_rng(self._episodes % EVALUATION_EPISODES)
        self._episodes += 1
        self._robots.place(slice(None), random)
        self._in_episode = True
        return self._robots.observe()[0], {}

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self._in_episode:
            raise gymnasium.error.ResetNeeded("call reset() (or set_state()) before step()")
        tracking, speed = self._robots.step(_checked(action, (LIMBS,))[None])
        if not self.evaluation:
            self._robots.age(1)
        truncated = bool(self._robots.steps[0] >= dynamics.EPISODE_STEPS)
        info = {"tracking_cost": float(tracking[0]), "speed_cost": float(speed[0])}
        reward = float((1.0 - tracking - speed)[0])
        return self._robots.observe()[0], reward, False, truncated, info

    def true_action_maps(self) -> ActionMaps | None:
        """For each transform (multipliers, biases) of the action map that is true now; None where none is."""
        return self._robots.true_action_maps()

    def get_state(self) -> State:
        """Everything that decides what comes next, as arrays; exact to the bit in any process."""
        return {
            **self._robots.get_state(),
            "random": generator_to_words(self.np_random),
            "episodes": np.array([self._episodes, self._in_episode]),
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state that an environment of the same scenario returned, mid-episode too."""
        self._robots.set_state(state)
        self.np_random = generator_from_words(state["random"])
        self._episodes, in_episode = (int(value) for value in state["episodes"])
        self._in_episode = bool(in_episode)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The robot from above: limbs, their targets, the battery."""
        if self.render_mode is None:
            return None
        from ambidex.envs.triangle.picture import draw

        return draw(self._robots.angles[0], self._robots.targets[0], float(self._robots.battery[0]))


class TriangleVecEnv(VecEnv):
    """Many triangle robots stepped as one array: a Stable-Baselines3 VecEnv that reports its episodes itself.

    :param num_envs: how many
    :param scenario: as for `TriangleEnv`; every step of every robot counts as a training step
    :param seed: of the one generator that places all robots
    """

    render_mode: str | None = None

    def __init__(
        self, num_envs: int, *, scenario: str | Scenario = "triangle", seed: int | None = None
    ) -> None:
        self._robots = _Robots(num_envs, scenario)
        self.scenario = self._robots.scenario
        super().__init__(num_envs, self._robots.observation_space, self._robots.action_space)
        self._random = np.random.default_rng(seed)
        self._returns = np.zeros(num_envs)
        self._actions = np.zeros((num_envs, LIMBS))
        self._started = time.time()

    @property
    def training_steps(self) -> int:
        """The steps of all robots together."""
        return self._robots.training_steps

    def seed(self, seed: int | None = None) -> list[int | None]:
        self._random = np.random.default_rng(seed)
        return [seed] * self.num_envs

    def reset(self) -> VecEnvObs:
        self._robots.place(slice(None), self._random)
        self._returns[:] = 0.0
        return self._robots.observe()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        self._actions = _checked(actions, (self.num_envs, LIMBS))

    def step_wait(self) -> VecEnvStepReturn:
        robots = self._robots
        tracking, speed = robots.step(self._actions)
        robots.age(self.num_envs)
        rewards = 1.0 - tracking - speed
        self._returns += rewards
        observations = robots.observe()
        dones = robots.steps >= dynamics.EPISODE_STEPS
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        finished = np.flatnonzero(dones)
        if finished.size:
            self._report(finished, observations, infos)
            robots.place(finished, self._random)
            self._returns[finished] = 0.0
            observations = robots.observe()
        return observations, rewards.astype(np.float32), dones, infos

    def _report(
        self, finished: npt.NDArray[np.int64], observations: Observation, infos: list[dict[str, Any]]
    ) -> None:
        elapsed = round(time.time() - self._started, 6)
        for robot in finished.tolist():
            length = int(self._robots.steps[robot])
            infos[robot] = {
                "terminal_observation": observations[robot],
                "TimeLimit.truncated": True,
                "episode": {"r": float(self._returns[robot]), "l": length, "t": elapsed},
            }

    def true_action_maps(self) -> ActionMaps | None:
        """For each transform (multipliers, biases) of the action map that is true now; None where none is."""
        return self._robots.true_action_maps()

    def get_state(self) -> State:
        """Everything that decides what comes next, as arrays; exact to the bit in any process."""
        return {
            **self._robots.get_state(),
            "random": generator_to_words(self._random),
            "returns": self._returns.copy(),
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state that as many robots of the same scenario returned, mid-episode too."""
        self._robots.set_state(state)
        self._random = generator_from_words(state["random"])
        self._returns = np.array(state["returns"], np.float64)

    def close(self) -> None:
        """There is nothing to close."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise ValueError(f"the triangle robots share one object; set its {attr_name!r} itself")

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        raise ValueError(f"the triangle robots share one object; call its {method_name!r} itself")

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Episodes are reported as `Monitor` would, so that nobody need wrap the robots in it."""
        return [wrapper_class is Monitor] * len(list(self._get_indices(indices)))


def _checked(actions: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    torques = np.asarray(actions, np.float64)
    if torques.shape != shape:
        raise ValueError(f"the actions have shape {shape}, got {torques.shape}")
    if not np.isfinite(torques).all():
        raise ValueError(f"the actions have elements that are not finite: {torques.tolist()}")
    return torques
