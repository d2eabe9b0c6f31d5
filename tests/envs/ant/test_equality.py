"""The ant on PyBullet against pybullet-envs-gymnasium's AntBulletEnv-v0, to the bit."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

pytest.importorskip("pybullet", reason="needs PyBullet, which has wheels for Python 3.11 only")

from pybullet_envs_gymnasium.gym_locomotion_envs import AntBulletEnv as StockEnv
from pybullet_envs_gymnasium.robot_locomotors import Ant as StockRobot

from ambidex.envs.ant.bullet import AntBulletEnv

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TERMS = ("reward_alive", "reward_progress", "reward_electricity", "reward_joint_limits")
FEET = ("front_left_foot", "front_right_foot", "left_back_foot", "right_back_foot")


class PaperRobot(StockRobot):
    """The stock robot with the paper's changes, written the obvious way."""

    yaw = 0.0
    start_angles = (0.0,) * 8
    limits = (1.0,) * 8

    def robot_specific_reset(self, bullet_client):
        super().robot_specific_reset(bullet_client)
        for joint, angle in zip(self.ordered_joints, self.start_angles, strict=True):
            joint.reset_current_position(angle, 0)
        self.robot_body.reset_pose([0, 0, 0.75], bullet_client.getQuaternionFromEuler([0, 0, self.yaw]))

    def apply_action(self, a):
        for limit, element, joint in zip(self.limits, a, self.ordered_joints, strict=True):
            joint.set_motor_torque(self.power * joint.power_coef * float(np.clip(element, -limit, limit)))


class PaperEnv(StockEnv):
    def __init__(self, *, masses=(None,) * 4, tilt=None, multipliers=(1.0,) * 8, limits=(1.0,) * 8):
        super().__init__()
        self.robot = PaperRobot()
        self.robot.limits = np.float32(limits)
        self.masses, self.tilt, self.multipliers = masses, tilt, np.float32(multipliers)
        self.seed(0)
        super().reset()  # the first reset of the stock environment does not yet count the floor as a part
        for foot, mass in zip(FEET, masses, strict=True):
            if mass is not None:
                part = self.robot.parts[foot]
                self._p.changeDynamics(part.bodies[0], part.bodyPartIndex, mass=mass)

    def start(self, goal, angles):
        self.robot.yaw = math.radians(-45.0 * goal)
        self.robot.start_angles = angles
        observation, _ = self.reset()
        if self.tilt is not None:
            degrees, toward = self.tilt
            direction = math.radians(45.0 * (toward - goal))
            pull = 9.8 * math.sin(math.radians(degrees))
            down = -9.8 * math.cos(math.radians(degrees))
            self._p.setGravity(pull * math.cos(direction), pull * math.sin(direction), down)
        self.start_angle = self.robot.walk_target_theta - self.robot.body_rpy[2]
        return observation

    def step(self, a):
        return super().step(a * self.multipliers)

    def turned(self):
        """By how many degrees the goal has turned since the start."""
        angle = self.robot.walk_target_theta - self.robot.body_rpy[2] - self.start_angle
        return abs(math.degrees(math.remainder(angle, math.tau)))


def actions(generator, steps, limits):
    """Gaits of random size, pace and roughness: some stand, some stumble, some fall."""
    size, pace, roughness = (
        generator.uniform(0.05, 1.2),
        generator.uniform(0.05, 0.5),
        generator.uniform(0, 1),
    )
    phases = generator.uniform(0, math.tau, 8)
    waves = np.sin(phases + pace * np.arange(steps)[:, None])
    noise = generator.normal(size=(steps, 8))
    return np.clip(size * (waves + roughness * noise), -limits, limits).astype(np.float32)


def compare(ours, stock, *, goals, steps, seed):
    """Step both with the same actions until ``steps`` are compared; our endings against their definition."""
    generator = np.random.default_rng(seed)
    compared, endings = 0, []
    while compared < steps:
        goal = goals[len(endings) % len(goals)]
        angles = generator.uniform(-0.1, 0.1, 8)
        observation, _ = ours.reset(options={"goal": goal, "joint_positions": angles})
        assert np.array_equal(observation, stock.start(goal, angles))
        best, stalled = -1.0, 0
        for action in actions(generator, 1000, ours.action_space.high):
            observation, reward, terminated, truncated, info = ours.step(action)
            expected, expected_reward, fell, _, _ = stock.step(action)
            compared += 1
            assert np.array_equal(observation, expected)
            assert reward == expected_reward
            assert [info[term] for term in TERMS] == stock.rewards[:4]

            x = stock.robot.body_real_xyz[0]
            best, stalled = (x, 0) if x >= best + 0.01 else (best, stalled + 1)
            ending = "stalled" if ours.scenario.must_progress and stalled == 31 else None
            ending = "turned" if stock.turned() > 25 else ending
            ending = "fell" if fell else ending
            assert info.get("ending", "time") == (ending or "time")
            assert terminated == (ending is not None)
            if terminated or truncated:
                endings.append(ending or "time")
                break
    return endings


@contextlib.contextmanager
def both(scenario, **changes):
    ours, stock = AntBulletEnv(scenario), PaperEnv(**changes)
    yield ours, stock
    ours.close()
    stock.close()


def test_equals_the_unchanged_stock_environment_to_the_bit():
    ours, stock = AntBulletEnv(), StockEnv()
    stock.reset()
    generator = np.random.default_rng(0)
    compared = 0
    for seed in range(1000):
        observation, _ = stock.reset(seed=seed)
        angles = [joint.get_position() for joint in stock.robot.ordered_joints]
        assert np.array_equal(observation, ours.reset(options={"goal": 0, "joint_positions": angles})[0])
        for action in actions(generator, 300, 1.0):
            observation, reward, fell, _, _ = stock.step(action)
            our_observation, our_reward, terminated, _, info = ours.step(action)
            compared += 1
            assert np.array_equal(observation, our_observation)
            assert our_reward == reward
            assert [info[term] for term in TERMS] == stock.rewards[:4]
            assert not fell or terminated
            if fell:
                break
        if compared >= 3000:
            break
    ours.close()
    stock.close()


def test_draws_the_joint_angles_that_the_stock_environment_draws():
    ours, stock = AntBulletEnv(), StockEnv()
    stock.reset()
    assert np.array_equal(ours.reset(seed=7, options={"goal": 0})[0], stock.reset(seed=7)[0])
    ours.close()
    stock.close()


def test_goals_equal_the_stock_robot_turned_at_the_start():
    with both("A1.1") as (ours, stock):
        endings = compare(ours, stock, goals=range(8), steps=3000, seed=1)
    assert {"fell", "turned"} <= set(endings)


@pytest.mark.parametrize(
    ("scenario", "masses"), [("A4.1", (40.0, 20.0, None, None)), ("A4.4", (40.0, None, 20.0, None))]
)
def test_foot_masses_equal_the_stock_robot_with_heavier_feet(scenario, masses):
    with both(scenario, masses=masses) as (ours, stock):
        endings = compare(ours, stock, goals=range(8), steps=800, seed=2)
    assert "stalled" in endings


@pytest.mark.parametrize(("scenario", "tilt"), [("A6.1", (5, 0)), ("A6.4", (5, 1))])
def test_tilt_equals_the_stock_robot_under_turned_gravity(scenario, tilt):
    with both(scenario, tilt=tilt) as (ours, stock):
        compare(ours, stock, goals=range(8), steps=800, seed=3)


A2 = (0.65, 0.75, 0.85, 0.95, 1.05, 1.15, 1.25, 1.35)
A3 = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7)


@pytest.mark.parametrize(
    ("scenario", "multipliers", "limits", "box"),
    [
        ("A2.1", A2, np.ones(8), 1 / np.array(A2)),
        ("A2.2", A2, A2, np.ones(8)),
        ("A2.2-authors", A2, np.ones(8), np.ones(8)),
        ("A3.1", A3, np.ones(8), 1 / np.array(A3)),
        ("A3.1-reversed", A3[::-1], np.ones(8), 1 / np.array(A3[::-1])),
    ],
)
def test_multipliers_equal_the_stock_robot_with_multiplied_actions(scenario, multipliers, limits, box):
    with both(scenario, multipliers=multipliers, limits=limits) as (ours, stock):
        np.testing.assert_allclose(ours.action_space.high, box, rtol=1e-6)
        compare(ours, stock, goals=range(8), steps=500, seed=4)
