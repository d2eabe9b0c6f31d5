"""Goals, options, state and conditions of the ant task, on a body that only records what it is told."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.monitor import Monitor

from ambidex.envs.ant.body import Pose, Reading
from ambidex.envs.ant.task import AntEnv
from ambidex.envs.perturbations import ActionMultipliers, FootMasses, SuddenChange, Tilt, Wear
from ambidex.envs.scenarios import Scenario


class RecordingBody:
    """A body that stands where it is told to and remembers what the task did to it."""

    joint_limits = [(-0.5, 0.5), (0.5, 1.5)] * 4

    def __init__(self):
        self.yaw = self.x = self.y = 0.0
        self.height = 0.75
        self.joints = [0.0] * 8
        self.speeds = [0.0] * 8
        self.gravity = self.masses = self.torques = None

    def reset(self, yaw, joint_positions):
        self.yaw, self.joints = yaw, list(joint_positions)
        self.x = self.y = 0.0
        self.height = 0.75

    def set_gravity(self, gravity):
        self.gravity = gravity

    def set_foot_masses(self, masses):
        self.masses = list(masses)

    def step(self, torques):
        self.torques = torques

    def read(self):
        angles = (0.0, 0.0, self.yaw)
        place = (self.x, self.y, self.height)
        return Reading(self.joints, self.speeds, place, angles, (1.0, 2.0, 3.0), (self.x, self.y))

    def feet_on_ground(self):
        return [1.0, 0.0, 0.0, 1.0]

    def pose(self):
        return Pose((self.x, self.y, self.height), (0, 0, 0, 1), (0,) * 3, (0,) * 3, self.joints, self.speeds)

    def place(self, pose):
        raise NotImplementedError

    def get_state(self):
        return {"where": np.array([self.yaw, self.x, self.y, self.height, *self.joints])}

    def set_state(self, state):
        self.yaw, self.x, self.y, self.height, *self.joints = state["where"].tolist()

    def close(self):
        pass


STILL = np.zeros(8, np.float32)


def make(*perturbations, evaluation=False, **fields):
    scenario = Scenario(
        name="test",
        env="ambidex/Ant-v0",
        symmetry="ant",
        description="a scenario of the tests",
        perturbations=perturbations,
        **fields,
    )
    return AntEnv(RecordingBody(), scenario=scenario, evaluation=evaluation)


def goals(env, episodes):
    return [env.reset()[1]["goal"] for _ in range(episodes)]


def test_training_skips_other_goals_and_evaluation_walks_its_own():
    fields = {"train_goals": (0, 1, 5), "evaluation_goals": (2, 3)}
    assert goals(make(**fields), 7) == [0, 1, 5, 0, 1, 5, 0]
    assert goals(make(**fields, evaluation=True), 5) == [2, 3, 2, 3, 2]


def test_a_seed_starts_the_goals_anew_and_a_chosen_goal_does_not_move_them():
    env = make()
    assert goals(env, 3) == [0, 1, 2]
    assert env.reset(options={"goal": 7})[1]["goal"] == 7
    assert goals(env, 1) == [3]
    assert env.reset(seed=4)[1]["goal"] == 0


def test_joint_positions_are_drawn_within_a_tenth_or_given():
    env = make()
    env.reset(seed=0)
    drawn = env.simulator.joints
    assert max(map(abs, drawn)) <= 0.1
    env.reset()
    assert env.simulator.joints != drawn
    env.reset(options={"joint_positions": np.linspace(0, 1, 8)})
    assert env.simulator.joints == np.linspace(0, 1, 8).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": 8}, "8 is not one of the goals"),
        ({"goals": 1}, r"\['goals'\]: there are 'goal' and 'joint_positions'"),
        ({"joint_positions": [0.0] * 7}, "expected 8 finite angles"),
        ({"joint_positions": [math.nan] * 8}, "expected 8 finite angles"),
    ],
)
def test_wrong_reset_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make().reset(options=options)


def test_the_observation_is_laid_out_as_documented():
    env = make()
    env.reset(options={"goal": 2, "joint_positions": [0.25, 1.0] * 4})
    body = env.simulator
    body.height, body.speeds = 0.85, [10.0 * joint for joint in range(8)]
    env.step(STILL)
    body.height = 0.95
    observation = env.step(STILL)[0]
    yaw = -math.pi / 2
    # The goal (world +x) seen from a body that is turned by -90 degrees lies to its left; so does +y ahead.
    expected = [0.2, math.sin(-yaw), math.cos(-yaw), -0.3 * 2, 0.3 * 1, 0.3 * 3, 0.0, 0.0]
    np.testing.assert_allclose(observation[:8], expected, atol=1e-6)
    np.testing.assert_allclose(observation[8:24:2], [0.5, 0.0] * 4, atol=1e-6)
    np.testing.assert_allclose(observation[9:24:2], [0, 1, 2, 3, 4, 5, 5, 5])
    assert observation[24:].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_foot_contacts_are_those_of_the_step_before():
    env = make()
    assert env.reset()[0][24:].tolist() == [0.0] * 4
    assert env.step(STILL)[0][24:].tolist() == [0.0] * 4
    assert env.step(STILL)[0][24:].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_the_reward_adds_its_terms():
    env = make()
    env.reset(options={"joint_positions": [0.0, 1.0] * 4})
    body = env.simulator
    body.x, body.speeds, body.joints[0] = 0.0165, [2.0] * 8, 0.499
    action = np.full(8, 0.5, np.float32)
    _, reward, _, _, info = env.step(action)
    terms = {name.removeprefix("reward_"): value for name, value in info.items() if name != "goal"}
    assert terms == pytest.approx(
        {
            "alive": 1.0,
            "progress": 1.0,
            "electricity": -2.0 * 0.5 * 0.2 - 0.1 * 0.25,
            "joint_limits": -0.1,
        },
        abs=1e-6,
    )
    assert reward == pytest.approx(sum(terms.values()))


def test_falling_ends_the_episode():
    env = make()
    env.reset()
    env.simulator.height = 0.26
    _, _, terminated, truncated, info = env.step(STILL)
    assert (terminated, truncated, info["ending"]) == (True, False, "fell")
    assert info["reward_alive"] == -1.0


@pytest.mark.parametrize(("degrees", "ends"), [(24.9, False), (-24.9, False), (25.1, True), (-25.1, True)])
@pytest.mark.parametrize("goal", [0, 4])
def test_turning_by_25_degrees_ends_the_episode(degrees, ends, goal):
    env = make()
    env.reset(options={"goal": goal})
    env.simulator.yaw += math.radians(degrees)
    _, _, terminated, _, info = env.step(STILL)
    assert terminated == ends
    assert info.get("ending") == ("turned" if ends else None)


def test_the_31st_step_without_progress_ends_the_episode_where_the_scenario_says_so():
    env = make(must_progress=True)
    env.reset()
    assert not env.step(STILL)[2]  # x = 0 beats the first best of -1
    for _ in range(20):
        assert not env.step(STILL)[2]
    env.simulator.x = 0.009  # not enough
    for _ in range(10):
        assert not env.step(STILL)[2]
    env.simulator.x = 0.011
    assert not env.step(STILL)[2]
    for _ in range(30):
        assert not env.step(STILL)[2]
    assert env.step(STILL)[4]["ending"] == "stalled"

    patient = make()
    patient.reset()
    assert not any(patient.step(STILL)[2] for _ in range(100))


def test_an_episode_is_truncated_after_1000_steps():
    env = make()
    env.reset()
    endings = [env.step(STILL)[2:4] for _ in range(1000)]
    assert endings[:-1] == [(False, False)] * 999
    assert endings[-1] == (False, True)


def test_commands_are_multiplied_and_clipped_on_their_way():
    env = make(ActionMultipliers(multipliers=(0.5, 2.0) * 4, range="multipliers", saturation=1.0))
    env.reset()
    _, _, _, _, info = env.step(np.array([1.0, 1.0, -1.0, -1.0, 0.2, 0.2, 0.0, 0.0], np.float32))
    assert env.simulator.torques == pytest.approx([125.0, 250.0, -125.0, -250.0, 25.0, 100.0, 0.0, 0.0])
    squares = np.square([0.5, 2.0, 0.5, 2.0, 0.1, 0.4, 0.0, 0.0])
    assert info["reward_electricity"] == pytest.approx(-0.1 * squares.mean())


def test_gravity_pulls_toward_the_tilts_goal_in_the_body_frame():
    env = make(Tilt(degrees=5.0, goal=1))
    for goal in range(8):
        env.reset(options={"goal": goal})
        x, y, z = env.simulator.gravity
        yaw = env.simulator.yaw
        forward, left = math.cos(-yaw) * x - math.sin(-yaw) * y, math.sin(-yaw) * x + math.cos(-yaw) * y
        assert math.degrees(math.atan2(left, forward)) == pytest.approx(45.0)  # goal 1, seen from the body
        assert (math.hypot(x, y), z) == pytest.approx((9.8 * 0.0871557427, -9.8 * 0.9961946981))


def test_wear_counts_training_steps_across_episodes_and_a_sudden_change_comes_mid_episode():
    env = make(
        Wear(actuators=(0,), schedule=((0, 1.0), (100, 0.5))),
        SuddenChange(step=60, change=FootMasses(masses=(None, 40.0, None, None))),
    )
    full = np.ones(8, np.float32)
    for step in range(120):
        if step % 50 == 0:
            env.reset()
        env.step(full)
        worn = 1.0 - 0.5 * min(step, 100) / 100
        assert env.simulator.torques == pytest.approx([250.0 * worn] + [250.0] * 7)
        assert env.simulator.masses == [None, 40.0 if step >= 60 else None, None, None]
    assert env.training_steps == 120


def test_an_evaluation_environment_is_told_how_worn_the_robot_is():
    env = make(Wear(actuators=(0,), schedule=((0, 1.0), (100, 0.5))), evaluation=True)
    env.reset()
    for training_steps, gain in [(0, 1.0), (100, 0.5), (50, 0.75)]:
        env.training_steps = training_steps
        for _ in range(3):
            env.step(np.ones(8, np.float32))
            assert env.simulator.torques[0] == pytest.approx(250.0 * gain)
    assert env.training_steps == 50


def test_a_motor_that_is_worn_from_the_start_keeps_its_action_range_and_loses_torque():
    multipliers = (1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0)
    env = make(ActionMultipliers(multipliers=multipliers), Wear(actuators=(3,), schedule=((0, 0.6),)))
    assert env.action_space.high == pytest.approx([1, 1, 1, 2, 1, 1, 1, 1])
    env.reset()
    env.step(env.action_space.high)
    assert env.simulator.torques == pytest.approx([250.0] * 3 + [150.0] + [250.0] * 4)


def test_a_later_change_does_not_change_the_action_space():
    env = make(SuddenChange(step=1, change=ActionMultipliers(multipliers=(0.5,) * 8)))
    assert env.action_space.high.tolist() == [1.0] * 8


def test_true_action_maps_are_those_of_the_moment():
    env = make(SuddenChange(step=1, change=ActionMultipliers(multipliers=(0.5,) + (1.0,) * 7)))
    env.reset()
    assert np.abs(env.true_action_maps()["xz"][0]).tolist() == [1.0] * 8
    env.step(STILL)
    assert np.abs(env.true_action_maps()["xz"][0]).tolist() == [2.0, 1, 1, 1, 1, 1, 0.5, 1]


def test_the_state_is_plain_arrays_and_carries_the_whole_task():
    perturbations = [Wear(actuators=(0,), schedule=((0, 1.0), (500, 0.5))), Tilt(degrees=5.0, goal=1)]
    first, second = make(*perturbations, must_progress=True), make(*perturbations, must_progress=True)
    first.reset(seed=5)
    first.reset()
    first.simulator.x = 0.5
    for _ in range(25):
        first.step(STILL)
    state = first.get_state()
    assert all(isinstance(value, np.ndarray) and value.dtype != object for value in state.values())
    second.set_state({name: value.copy() for name, value in state.items()})
    for _ in range(40):
        here, there = first.step(np.ones(8, np.float32)), second.step(np.ones(8, np.float32))
        assert np.array_equal(here[0], there[0])
        assert here[1:] == there[1:]
        assert first.simulator.torques == second.simulator.torques
    assert here[4]["ending"] == "stalled"
    assert np.array_equal(first.reset()[0], second.reset()[0])
    assert first.simulator.gravity == second.simulator.gravity


def test_a_step_needs_an_episode_and_a_proper_action():
    env = make()
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env.step(STILL)
    env.reset()
    with pytest.raises(ValueError, match=r"shape \(8,\), got \(7,\)"):
        env.step(np.zeros(7, np.float32))
    with pytest.raises(ValueError, match="not finite"):
        env.step(np.full(8, np.nan, np.float32))


def test_wrong_render_modes_are_refused():
    with pytest.raises(ValueError, match="render_mode 'ansi'"):
        AntEnv(RecordingBody(), render_mode="ansi")


def test_a_scenario_of_another_robot_is_refused():
    with pytest.raises(ValueError, match=r"'triangle' is one of ambidex/Triangle-v0, not of an ant"):
        AntEnv(RecordingBody(), scenario="triangle")


@pytest.mark.pybullet
@pytest.mark.parametrize("check", [check_env, sb3_check_env])
@pytest.mark.parametrize("scenario", ["A1.1", "A2.2", "A4.1", "A6.4"])
def test_checkers_find_nothing_to_warn_about(check, scenario):
    env = gymnasium.make("ambidex/Ant-v0", scenario=scenario, render_mode="rgb_array").unwrapped
    check(env)
    env.close()


@pytest.mark.pybullet
@pytest.mark.parametrize("check", [check_env, sb3_check_env])
def test_checkers_only_warn_about_the_wide_action_range_of_a3(check):
    env = gymnasium.make("ambidex/Ant-v0", scenario="A3.1").unwrapped
    with pytest.warns(UserWarning, match="symmetric and normalized") as caught:
        check(env, skip_render_check=True)
    assert len(caught) == 1
    env.close()


@pytest.mark.pybullet
def test_monitor_logs_the_goal_and_the_terms():
    keys = ("goal", "ending", "reward_progress")
    env = Monitor(gymnasium.make("ambidex/Ant-v0", scenario="A4.2"), info_keywords=keys)
    env.reset(seed=0)
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(STILL)
        done = terminated or truncated
    assert info["episode"]["goal"] == 1
    assert info["episode"]["ending"] == info["ending"] != "time"
    assert info["episode"]["l"] < 1000
    env.close()
