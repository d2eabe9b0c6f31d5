"""An environment of one's own on MuJoCo: no MujocoEnv, and it remembers its command and last action."""

from __future__ import annotations

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from ambidex import MujocoSimulator
from ambidex.common.yaml import read_yaml
from ambidex.symmetry import SymmetryGroup
from ambidex.symmetry.files.descriptions import ParsedDescription
from ambidex.symmetry.isometry import named
from ambidex.verification import verify
from ambidex.verification.results import Verification

LEG = """<body name="{0}" pos="0 {1} 0"><joint name="{0}_hip" axis="1 0 0" damping="1"/>
    <geom type="capsule" fromto="0 0 0 0 {1} -.3" size=".05"/></body>"""
MODEL = f"""<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
    <body name="hull" pos="0 0 .45"><freejoint/><geom type="box" size=".3 .15 .1"/>
    {LEG.format("left", 0.2)}{LEG.format("right", -0.2)}</body></worldbody>
    <actuator><motor joint="left_hip" gear="20"/><motor joint="right_hip" gear="20"/></actuator></mujoco>"""
DESCRIPTION = """
limbs:
  left: {at: [0, 1], joints: {hip: x}}
  right: {at: [0, -1], joints: {hip: x}}
observations:
  - orientation: {quaternion: wxyz}
  - positions: {joint: position}
  - velocity: vector
  - spin: pseudovector
  - speeds: {joint: velocity}
  - command: {vector: [x, y]}
  - command_turn: {pseudovector: [z]}
  - last_action: {joint: torque}
actions:
  - torque: {joint: torque}
transforms: [xz]
"""


class Walker(gymnasium.Env[Any, Any]):
    """Its reward follows the command, so that a mirror image needs the image of the command."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (19,))
    action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def __init__(self) -> None:
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.data = mujoco.MjData(self.model)
        self.command, self.last_action = np.zeros(3), np.zeros(2, np.float32)

    def observe(self) -> Any:
        parts = (self.data.qpos[3:], self.data.qvel, self.command, self.last_action)
        return np.concatenate(parts).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[-2:] = self.np_random.normal(0, 0.2, 2)
        self.data.qvel[:6] = self.np_random.normal(0, 0.3, 6)
        self.command = self.np_random.uniform(-1, 1, 3)
        self.last_action = np.zeros(2, np.float32)
        return self.observe(), {}

    def step(self, action: Any) -> Any:
        self.data.ctrl[:] = 0.7 * action + 0.3 * self.last_action
        mujoco.mj_step(self.model, self.data, 4)
        self.last_action = np.asarray(action, np.float32)
        reward = float(self.command[:2] @ self.data.qvel[:2] + self.command[2] * self.data.qvel[5])
        return self.observe(), reward, False, False, {}


class TellingWalker(Walker):
    def symmetric_simulator(self) -> MujocoSimulator:
        remembered = {"command": ["x", "y", "turn"], "last_action": "action"}
        return MujocoSimulator(self, self.observe, remembers=remembered)


def group(description: str = DESCRIPTION) -> SymmetryGroup:
    return ParsedDescription.from_content("walker", read_yaml("walker", description)).group()


def untested(found: Verification) -> set[str]:
    return {one.name for one in found["xz"].elements if one.verdict == "untested"}


def test_command_and_last_action_come_back_with_the_state() -> None:
    found = verify(group(), TellingWalker(), states=24, horizons=(1, 3))
    assert (found.verdict, found.mode, found.limits) == ("holds", "geometry", ())
    assert untested(found) == set()
    assert max(one.score for one in found["xz"].elements if one.score is not None) < 1e-3


def test_a_command_that_turns_the_wrong_way_is_found() -> None:
    wrong = DESCRIPTION.replace("command_turn: {pseudovector: [z]}", "command_turn: scalar")
    found = verify(group(wrong), TellingWalker(), states=24, horizons=(1,))
    assert [one.name for one in found["xz"].elements if one.verdict == "broken"] == ["command_turn"]


def test_without_an_observation_function_a_moment_is_stepped() -> None:
    env = Walker()
    found = verify(group(), env, states=24, horizons=(1,))
    assert found.mode == "geometry"
    assert {one.verdict for one in found["xz"].elements if one.name.startswith(("spin", "left"))} <= {
        "holds",
        "untested",
    }
    assert {"command.x", "command.y", "command_turn.z"} <= untested(found)  # nobody says how they move
    assert env.model.opt.timestep == 0.005


def test_a_moment_shows_the_state_itself() -> None:
    env = Walker()
    env.reset(seed=1)
    env.step(np.array([0.5, -1.0]))
    simulator = MujocoSimulator(env)
    seen = simulator.set_symmetric_state(simulator.get_state(), np.eye(3))
    np.testing.assert_allclose(seen[:17], env.observe()[:17], atol=1e-6)
    assert env.data.time == pytest.approx(0.02, abs=1e-12)


def test_images_of_what_is_remembered() -> None:
    env = TellingWalker()
    env.reset(seed=1)
    env.command, env.last_action = np.array([1.0, 2.0, 3.0]), np.array([0.25, -0.5], np.float32)
    simulator = env.symmetric_simulator()
    state = simulator.get_state()
    simulator.set_symmetric_state(state, named("xz"))
    assert env.command.tolist() == [1, -2, -3]
    assert env.last_action.tolist() == [0.5, -0.25]  # hips about x turn the other way
    assert env.last_action.dtype == np.float32
    simulator.set_symmetric_state(state, np.eye(3))
    assert env.command.tolist() == [1, 2, 3]


def test_wrong_words_are_refused() -> None:
    with pytest.raises(
        ValueError, match="remembers 'command': nothing moves like 'tunr'; did you mean 'turn'"
    ):
        MujocoSimulator(Walker(), remembers={"command": ["x", "y", "tunr"]})
    simulator = MujocoSimulator(Walker(), remembers={"command": ["x", "turn"]})
    with pytest.raises(ValueError, match="3 numbers, but 2 components named"):
        simulator.set_symmetric_state(simulator.get_state(), named("xz"))


def test_activations_change_places() -> None:
    spec = mujoco.MjSpec.from_string(MODEL)
    for actuator in spec.actuators:
        actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        actuator.dynprm[0] = 0.1
    env = Walker()
    env.model = spec.compile()
    env.data = mujoco.MjData(env.model)
    simulator = MujocoSimulator(env, env.observe)
    env.data.act[:] = [0.25, -0.5]
    simulator.set_symmetric_state(simulator.get_state(), named("xz"))
    assert env.data.act.tolist() == [0.5, -0.25]
