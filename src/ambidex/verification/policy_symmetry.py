"""How symmetric a policy is, measured on the robot's geometry: no table of a description is used.

For each isometry that the robot's body has, three measures, each of them 0 for a symmetric policy:

- *canonical*: in self-symmetric observations (the mean of an observation and its images) a symmetric policy's
  action is its own image; the mean distance between them.
- *equivariance*: over visited states, the mean distance between the action in the image of a state and the
  image of the action.
- *gait*: for each joint the symmetry index of its excursion X (standard deviation of its angle in an episode)
  against that of the joint that it changes places with, 2 (X - X') / (X + X').

Distances are in units of each action's spread over the visited states. The gait of a robot that walks to
several goals compares only where the goals are symmetric too, as the ant's eight are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.isometry import name_of, named
from ambidex.symmetry.maps import IndexMap
from ambidex.verification.bench import IDENTITY, flat
from ambidex.verification.simulators.protocol import ISOMETRIES, JointedSimulator, simulator_of

Act = Callable[[Any], Any]

STRIDE = 5  # steps from one visited state to the next
MOST_STATES = 200


@dataclass(frozen=True)
class PolicySymmetry:
    """A policy under one transform; each measure has one number per action.

    :param transform: its name in the description, or that of the isometry where none was given
    :param isometry: how it moves the body
    """

    transform: str
    isometry: str | None
    canonical: tuple[float, ...]
    equivariance: tuple[float, ...]
    gait: tuple[float, ...]


def policy_symmetry(
    act: Act,
    env: gymnasium.Env[Any, Any],
    *,
    episodes: int = 8,
    transforms: Mapping[str, FloatArray | None] | None = None,
) -> list[PolicySymmetry]:
    """Measure a policy on an environment whose geometry is known.

    :param act: the deterministic action for an observation
    :param env: as the policy sees it, without wrappers that change observations
    :param episodes: played to visit states and to see the gait
    :param transforms: the isometries of a description by the names of its transforms, None of a transform
        that does not say it; by default all usual isometries are tried
    :return: one entry for each of them that the robot has; none where its geometry is not known, or where
        no episode is long enough to visit a state
    """
    simulator = simulator_of(env)
    if not isinstance(simulator, JointedSimulator):
        return []
    states, excursions = _play(act, env, simulator, episodes)
    if not states:
        return []
    observations = [simulator.set_symmetric_state(state, IDENTITY) for state in states]
    actions = np.array([flat(act(observation)) for observation in observations])
    spread = np.maximum(actions.std(axis=0), 1e-9)

    measured = []
    for name, isometry in _isometries(transforms).items():
        try:
            joints = simulator.relabelling(isometry)
            images = [simulator.set_symmetric_state(state, isometry) for state in states]
        except ValueError:
            continue  # the robot does not have it
        if joints.is_identity:
            continue
        wanted = joints(actions)
        taken = np.array([flat(act(image)) for image in images])
        canonical = _canonical(act, simulator, states, isometry, joints)
        measured.append(
            PolicySymmetry(
                name,
                name_of(isometry),
                tuple((canonical / spread).tolist()),
                tuple((np.abs(taken - wanted).mean(axis=0) / spread).tolist()),
                tuple(_symmetry_index(excursions, joints).tolist()),
            )
        )
    return measured


def _isometries(transforms: Mapping[str, FloatArray | None] | None) -> dict[str, FloatArray]:
    if transforms is None:
        return {name: named(name) for name in ISOMETRIES}
    found = {}
    for name, isometry in transforms.items():
        if isometry is not None:
            found[name] = isometry
        elif name in ISOMETRIES:
            found[name] = named(name)
    return found


def _play(
    act: Act, env: gymnasium.Env[Any, Any], simulator: JointedSimulator, episodes: int
) -> tuple[list[Any], FloatArray]:
    """Some states on the way, and the mean excursion of each joint."""
    states: list[Any] = []
    excursions = []
    for _ in range(episodes):
        observation, _ = env.reset()
        positions, is_over = [], False
        while not is_over:
            observation, _, terminated, truncated, _ = env.step(act(observation))
            positions.append(simulator.joint_positions())
            is_over = terminated or truncated
            if len(positions) % STRIDE == 0 and not is_over:
                states.append(simulator.get_state())
        excursions.append(np.std(positions, axis=0))
    kept = np.linspace(0, len(states) - 1, min(len(states), MOST_STATES)).astype(np.int64)
    return [states[index] for index in kept], np.mean(excursions, axis=0)


def _canonical(
    act: Act, simulator: JointedSimulator, states: list[Any], isometry: FloatArray, joints: IndexMap
) -> FloatArray:
    """The mean distance of an action from its image, in the means of observations and all their images."""
    powers = [IDENTITY]
    while not np.allclose(following := isometry @ powers[-1], IDENTITY):
        powers.append(following)
    distances = []
    for state in states:
        orbit = [simulator.set_symmetric_state(state, power) for power in powers]
        action = flat(act(np.mean(orbit, axis=0).astype(orbit[0].dtype)))
        distances.append(np.abs(action - joints(action)))
    means: FloatArray = np.array(distances).mean(axis=0)
    return means


def _symmetry_index(excursions: FloatArray, joints: IndexMap) -> FloatArray:
    partners = excursions[joints.indices]
    index: FloatArray = 2 * (excursions - partners) / np.maximum(excursions + partners, 1e-9)
    return index
