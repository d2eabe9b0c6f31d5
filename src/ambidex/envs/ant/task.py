"""The paper's ant task (goals, observation, reward, endings) on whatever simulator carries the ant.

A simulator moves the body and reads it (`AntSimulator`); everything that the learner sees is computed here,
so that PyBullet and MuJoCo share one task. The floating-point operations are those of AntBulletEnv-v0, in
its order and on its types: on PyBullet the results are equal to it, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ambidex.common.arrays import below
from ambidex.envs.ant.body import GRAVITY, JOINTS, STEP_SECONDS, AntSimulator, Reading, State, Vector
from ambidex.envs.perturbations import ActionMaps, conditions_at, next_change
from ambidex.envs.random_state import generator_from_words, generator_to_words
from ambidex.envs.scenarios import ALL_GOALS, Scenario, get
from ambidex.symmetry import load

Observation = npt.NDArray[np.float32]

ANT_IDS = ("ambidex/Ant-v0", "ambidex/AntMujoco-v0")

OBSERVATIONS = 28
LARGEST_OBSERVATION = np.float32(5)
LARGEST_TORQUE = 250.0
LARGEST_START_ANGLE = 0.1

TARGET = (1000.0, 0.0)
GOAL_ANGLE = math.pi / 4
LOWEST_HEIGHT = 0.26
SMALLEST_COSINE = math.cos(math.radians(25))
PATIENCE = 30
SMALLEST_ADVANCE = 0.01
EPISODE_STEPS = 1000

ELECTRICITY_COST = -2.0
STALL_TORQUE_COST = -0.1
JOINT_LIMIT_COST = -0.1
NEAR_LIMIT = 0.99


class AntEnv(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """An ant that walks toward one of eight goals, under the conditions of a scenario.

    The goal is always 1 km along the world's x axis; goal k is realised by turning the ant by -45 k degrees
    at the start. A step's ``info`` has the goal and the reward's terms, the last step's also the ``ending``.

    :param simulator: the body
    :param scenario: a name (`ambidex scenarios`), the path of a scenario file, or a `Scenario`
    :param evaluation: walk through the scenario's evaluation goals, and do not count steps as training
    :param render_mode: ``"rgb_array"`` for `render`, or None
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": round(1 / STEP_SECONDS),
    }

    def __init__(
        self,
        simulator: AntSimulator,
        *,
        scenario: str | Scenario = "A1.1",
        evaluation: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"render_mode {render_mode!r}: the ant renders as 'rgb_array', or not at all (None)"
            )
        self.scenario = get(scenario) if isinstance(scenario, str) else scenario
        if self.scenario.env not in ANT_IDS:
            raise ValueError(
                f"scenario {self.scenario.name!r} is one of {self.scenario.env}, "
                f"not of an ant ({', '.join(ANT_IDS)})"
            )
        self.evaluation = evaluation
        self.render_mode = render_mode
        self.simulator = simulator
        self._joint_offsets = [lower for lower, _ in simulator.joint_limits]
        self._joint_spans = [upper - lower for lower, upper in simulator.joint_limits]
        self._goals = self.scenario.evaluation_goals if evaluation else self.scenario.train_goals
        self._renderer: Any = None

        start = conditions_at(self.scenario.perturbations, 0, actuators=JOINTS)
        limits = start.action_limits.astype(np.float32)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)
        self.observation_space = spaces.Box(
            -LARGEST_OBSERVATION, LARGEST_OBSERVATION, (OBSERVATIONS,), np.float32
        )

        self.training_steps = 0
        self._goal_index = 0
        self._goal = 0
        self._steps = 0
        self._start_height = 0.0
        self._start_direction = (0.0, 0.0)
        self._potential = 0.0
        self._contacts: Sequence[float] = (0.0,) * 4
        self._best_x = 0.0
        self._stalled_steps = 0
        self._rotation = np.eye(3)
        self._in_episode = False

    @property
    def training_steps(self) -> int:
        """How many training steps the robot has made in its life: the time of wear and of sudden changes.

        An evaluation environment does not count its own steps; it is told how far training came.
        """
        return self._training_steps

    @training_steps.setter
    def training_steps(self, steps: int) -> None:
        self._training_steps = steps
        self._next_change = float(steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode with the next goal; a seed also starts the sequence of goals anew.

        :param options: ``"goal"`` (0 to 7) fixes this episode's goal and leaves the sequence as it is;
            ``"joint_positions"`` (8 angles in rad) fixes the start instead of drawing it
        """
        super().reset(seed=seed)
        if seed is not None:
            self._goal_index = 0
        goal, joint_positions = self._start_options(options or {})
        if goal is None:
            goal = self._goals[self._goal_index % len(self._goals)]
            self._goal_index += 1
        if joint_positions is None:
            joint_positions = self.np_random.uniform(
                -LARGEST_START_ANGLE, LARGEST_START_ANGLE, JOINTS
            ).tolist()

        self._goal = goal
        self.simulator.reset(-goal * GOAL_ANGLE, joint_positions)
        self._apply_conditions()

        reading = self.simulator.read()
        self._start_height = reading.torso_position[2]
        self._contacts = (0.0,) * 4
        self._steps = 0
        self._best_x = -1.0
        self._stalled_steps = 0
        self._in_episode = True
        observation, self._start_direction = self._observe(reading)
        self._potential = _potential(reading.center)
        return _clipped(observation), {"goal": goal}

    def _start_options(self, options: Mapping[str, Any]) -> tuple[int | None, list[float] | None]:
        unknown = set(options) - {"goal", "joint_positions"}
        if unknown:
            raise ValueError(f"reset option {sorted(unknown)}: there are 'goal' and 'joint_positions'")
        goal = options.get("goal")
        if goal is not None and goal not in ALL_GOALS:
            raise ValueError(f"reset option 'goal': {goal!r} is not one of the goals 0 to 7")
        positions = options.get("joint_positions")
        if positions is not None:
            positions = [float(position) for position in positions]
            if len(positions) != JOINTS or not all(map(math.isfinite, positions)):
                raise ValueError(f"reset option 'joint_positions': expected 8 finite angles, got {positions}")
        return None if goal is None else int(goal), positions

    def _apply_conditions(self) -> None:
        """Bring actuators, masses and gravity to what the scenario says for this training step."""
        perturbations = self.scenario.perturbations
        conditions = conditions_at(perturbations, self._training_steps, actuators=JOINTS)
        self._next_change = next_change(perturbations, self._training_steps)
        self._gains = conditions.gains.astype(np.float32)
        self._limits = conditions.command_limits.astype(np.float32).tolist()
        self.simulator.set_foot_masses(conditions.foot_masses)
        self.simulator.set_gravity(self._gravity(conditions.tilt))

    def _gravity(self, tilt: tuple[float, int] | None) -> Vector:
        if tilt is None:
            return (0.0, 0.0, -GRAVITY)
        angle = math.radians(tilt[0])
        direction = (tilt[1] - self._goal) * GOAL_ANGLE
        pull = GRAVITY * math.sin(angle)
        return (pull * math.cos(direction), pull * math.sin(direction), -GRAVITY * math.cos(angle))

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self._in_episode:
            raise gymnasium.error.ResetNeeded("call reset() (or set_state()) before step()")
        if self._training_steps >= self._next_change:
            self._apply_conditions()
        command = self._command(action)
        self.simulator.step(self._torques(command))
        reading = self.simulator.read()
        unclipped, direction = self._observe(reading)
        self._contacts = self.simulator.feet_on_ground()
        self._steps += 1
        if not self.evaluation:
            self._training_steps += 1

        alive, progress, electricity, joint_limits = self._reward_terms(reading, command, unclipped)
        ending = self._ending(reading, direction, alive)
        info: dict[str, Any] = {
            "goal": self._goal,
            "reward_alive": alive,
            "reward_progress": progress,
            "reward_electricity": electricity,
            "reward_joint_limits": joint_limits,
        }
        if ending is not None:
            info["ending"] = ending
        truncated = ending == "time"
        reward = alive + progress + electricity + joint_limits
        return _clipped(unclipped), reward, ending is not None and not truncated, truncated, info

    def _command(self, action: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """What the motors are asked for, in units of their largest torque; electricity counts all of it."""
        action = np.asarray(action, np.float32)
        if action.shape != (JOINTS,):
            raise ValueError(f"the ant's action has shape ({JOINTS},), got {action.shape}")
        return self._gains * action

    def _torques(self, command: npt.NDArray[np.float32]) -> list[float]:
        values = command.tolist()
        if not math.isfinite(sum(values)):
            raise ValueError(f"the ant's action has elements that are not finite: {values}")
        return [
            LARGEST_TORQUE * (value if -limit <= value <= limit else math.copysign(limit, value))
            for value, limit in zip(values, self._limits, strict=True)
        ]

    def observe(self) -> Observation:
        """The observation of the present state, however the body came there."""
        return _clipped(self._observe(self.simulator.read())[0])

    def _observe(self, reading: Reading) -> tuple[Observation, tuple[float, float]]:
        """The observation before it is clipped, and the sine and cosine of the goal's direction."""
        roll, pitch, yaw = reading.torso_angles
        center_x, center_y = reading.center
        angle = np.arctan2(TARGET[1] - center_y, TARGET[0] - center_x) - yaw
        direction = (float(np.sin(angle)), float(np.cos(angle)))

        rotation = self._rotation
        rotation[0, 0] = rotation[1, 1] = np.cos(-yaw)
        sine = np.sin(-yaw)
        rotation[0, 1] = -sine
        rotation[1, 0] = sine
        forward, sideways, upward = np.dot(rotation, reading.torso_velocity).tolist()

        height = reading.torso_position[2] - self._start_height
        values = [height, *direction, 0.3 * forward, 0.3 * sideways, 0.3 * upward, roll, pitch]
        for position, speed, offset, span in zip(
            reading.joint_positions, reading.joint_speeds, self._joint_offsets, self._joint_spans, strict=True
        ):
            values.append(2 * (position - offset) / span - 1.0)
            values.append(0.1 * speed)
        values += self._contacts
        return np.array(values, np.float32), direction

    def _reward_terms(
        self, reading: Reading, command: npt.NDArray[np.float32], unclipped: Observation
    ) -> tuple[float, float, float, float]:
        """Alive, progress, electricity and joint-limit terms of the reward."""
        height = float(unclipped[0]) + self._start_height
        alive = 1.0 if height > LOWEST_HEIGHT else -1.0

        potential = _potential(reading.center)
        progress = potential - self._potential
        self._potential = potential

        electricity = _electricity(command, unclipped[9:24:2])
        joint_limits = JOINT_LIMIT_COST * np.count_nonzero(np.abs(unclipped[8:24:2]) > NEAR_LIMIT)
        return alive, progress, electricity, joint_limits

    def _ending(self, reading: Reading, direction: tuple[float, float], alive: float) -> str | None:
        """Why the episode ends now; None if it goes on. All but "time" are terminal states."""
        stalled = self.scenario.must_progress and self._has_stalled(reading.torso_position[0])
        if alive < 0:
            return "fell"
        cosine = direction[0] * self._start_direction[0] + direction[1] * self._start_direction[1]
        if cosine < SMALLEST_COSINE:
            return "turned"
        if stalled:
            return "stalled"
        return "time" if self._steps >= EPISODE_STEPS else None

    def _has_stalled(self, x: float) -> bool:
        if x - self._best_x >= SMALLEST_ADVANCE:
            self._best_x = x
            self._stalled_steps = 0
        else:
            self._stalled_steps += 1
        return self._stalled_steps > PATIENCE

    def true_action_maps(self) -> ActionMaps | None:
        """For each transform (multipliers, biases) of the action map that is true now; None where unknown."""
        conditions = conditions_at(self.scenario.perturbations, self._training_steps, actuators=JOINTS)
        return conditions.true_action_maps(load(self.scenario.symmetry))

    def get_state(self) -> State:
        """Everything that decides what comes next, as arrays; exact to the bit in any process."""
        state = {f"simulator.{name}": value for name, value in self.simulator.get_state().items()}
        state["rng"] = generator_to_words(self.np_random)
        state["counters"] = np.array(
            [
                self._goal_index,
                self._goal,
                self._steps,
                self._stalled_steps,
                self._training_steps,
                self._in_episode,
            ],
            np.int64,
        )
        state["episode"] = np.array(
            [self._start_height, *self._start_direction, self._potential, self._best_x, *self._contacts]
        )
        return state

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state that an environment of the same scenario returned, mid-episode too."""
        self.set_task(state)
        self.simulator.set_state(below("simulator.", state))

    def set_task(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Of a state all but the body: goal, counters, random numbers, and the scenario's conditions."""
        counters = [int(value) for value in state["counters"]]
        self._goal_index, self._goal, self._steps, self._stalled_steps, self.training_steps, in_episode = (
            counters
        )
        self._in_episode = bool(in_episode)
        episode = [float(value) for value in state["episode"]]
        self._start_height, sine, cosine, self._potential, self._best_x, *self._contacts = episode
        self._start_direction = (sine, cosine)
        self.np_random = generator_from_words(state["rng"])
        self._apply_conditions()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture from a camera that follows the ant, with an arrow toward the goal."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            from ambidex.envs.ant.rendering import AntRenderer

            self._renderer = AntRenderer()
        picture: npt.NDArray[np.uint8] = self._renderer.draw(self.simulator.pose())
        return picture

    def close(self) -> None:
        self.simulator.close()
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def _potential(center: Sequence[float]) -> float:
    """Minus the distance to the goal, in the distance of one step at 1 m/s."""
    offset = np.array((TARGET[1] - center[1], TARGET[0] - center[0]))
    return -math.sqrt(offset.dot(offset)) / STEP_SECONDS


def _electricity(command: npt.NDArray[np.float32], speeds: npt.NDArray[np.float32]) -> float:
    """The cost of the motors' power and of their heat, each summed over the joints in single precision."""
    costs = np.empty((2, JOINTS), np.float32)
    np.multiply(command, speeds, out=costs[0])
    np.multiply(command, command, out=costs[1])
    power, heat = np.add.reduce(np.abs(costs, out=costs), axis=1).tolist()
    cost: float = ELECTRICITY_COST * (power / JOINTS) + STALL_TORQUE_COST * (heat / JOINTS)
    return cost


def _clipped(observation: Observation) -> Observation:
    np.minimum(observation, LARGEST_OBSERVATION, out=observation)
    np.maximum(observation, -LARGEST_OBSERVATION, out=observation)
    return observation
