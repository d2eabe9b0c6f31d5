"""How symmetric a policy is, by its own answers to logged observations: no loss of its training is used.

For each transform, per joint, 0 where it is symmetric:

- *canonical*: in self-symmetric states (the mean of a visited observation and its images) a symmetric
  policy's action is its own image; the mean distance between the two.
- *equivariance*: over visited states, the mean distance between the action in the image of a state and the
  image of the action.
- *gait*: the symmetry index of how far the joint moves in the log, beside its counterpart.
- *timing*: where the log is periodic, the mean distance of the joint's motion from its image, at the one
  delay that fits all joints best (half a period for a walk).

Distances are in spreads: of the actions, or of the motions, that a transform carries into each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.diagnosis.policy_files import gait
from ambidex.diagnosis.policy_files.reading import Rows, answers, read_policy
from ambidex.diagnosis.policy_files.visited import Visited, read_visited
from ambidex.symmetry import Symmetry, SymmetryGroup, load
from ambidex.symmetry.show.account import in_words

STATES = 2048  # of a longer log, so many states evenly spread are asked for with their images
SMALLEST_SPREAD = 0.01  # of the largest: what hardly moves has no unit of its own

MEASURES = ("canonical", "equivariance", "gait", "timing")

Act = Callable[[Rows], FloatArray]


@dataclass(frozen=True)
class TransformEvaluation:
    """A policy under one transform; each measure has one number per action.

    :param timing: None where the motion does not repeat itself
    :param delay: by how many rows the motion follows its image
    """

    transform: str
    words: str
    canonical: tuple[float, ...]
    equivariance: tuple[float, ...]
    gait: tuple[float, ...]
    timing: tuple[float, ...] | None
    delay: int | None


@dataclass(frozen=True)
class Worst:
    """The measure that is furthest from 0."""

    value: float
    measure: str
    transform: str
    joint: str


@dataclass(frozen=True)
class PolicyEvaluation:
    """:param states: how many logged states were asked for with their images
    :param logged: how many there are in the log
    :param joints: the names of the actions
    :param motion_of: whether the gait is that of the joints' positions or, where the description does not say
        where they are observed, that of the commands
    :param period: of the gait in rows, None where it does not repeat itself
    """

    policy: str
    symmetry: str
    states: int
    logged: int
    joints: tuple[str, ...]
    motion_of: str
    period: int | None
    transforms: tuple[TransformEvaluation, ...]

    @property
    def worst(self) -> Worst:
        return max(
            (
                Worst(abs(value), measure, one.transform, joint)
                for one in self.transforms
                for measure in MEASURES
                for value, joint in zip(getattr(one, measure) or (), self.joints, strict=False)
            ),
            key=lambda worst: worst.value,
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "worst": asdict(self.worst)}


def evaluate_policy_file(
    path: Path,
    *,
    symmetry: str,
    observations: Path,
    groups: Sequence[str] = (),
    algorithm: str = "PPO",
    trust: bool = False,
) -> PolicyEvaluation:
    """Measure a policy that was trained anywhere.

    :param path: an .onnx file, TorchScript, or a .zip of Stable-Baselines3
    :param symmetry: a description's file or catalog name
    :param observations: a log of observations, as the policy takes them; see `read_visited`
    :param groups: of a description or a log with several, those that the policy's vector is made of
    :param algorithm: of a .zip, the class that saved it
    :param trust: see `read_policy`
    """
    described = load(symmetry)
    policy = read_policy(path, algorithm=algorithm, trust=trust)
    visited = read_visited(observations, described, groups=groups, keys=policy.keys)
    names = described.layout.action_names if described.layout else None

    def act(rows: Rows) -> FloatArray:
        return answers(policy, path, rows, visited.sizes, described.action_size)

    return evaluate(act, visited, policy=path.name, symmetry=Path(symmetry).name, names=names)


def evaluate(
    act: Act, visited: Visited, *, policy: str, symmetry: str, names: Sequence[str] | None = None
) -> PolicyEvaluation:
    """Measure what answers to observations.

    :param act: (rows, actions) the deterministic actions for rows of observations
    :param policy: what to call it
    :param symmetry: what to call the description
    :param names: of the actions
    """
    group = visited.group
    for transform in group:
        if transform.order is None:
            raise ValueError(
                f"transform {transform.name!r} never returns to the identity; lint the description"
            )
    commands = act(visited.rows)
    asked = np.linspace(0, len(commands) - 1, min(len(commands), STATES)).astype(np.int64)
    unit = spread(commands, group)
    episode = visited.longest_episode()
    motion = _positions(visited.rows, visited) if visited.positions is not None else commands
    period = gait.period_of(motion[episode])
    measured = []
    for transform in group:
        rows, actions = visited.rows[asked], commands[asked]
        taken = act(_image(transform, rows))
        canonical = act(self_symmetric(transform, rows))
        image = (
            _positions(_image(transform, visited.rows), visited)
            if visited.positions is not None
            else transform.action(commands)
        )
        timing, delay = None, None
        if period is not None:
            delay = gait.delay_of(motion[episode], image[episode], period)
            distance = gait.out_of_step(motion[episode], image[episode], delay)
            variances = motion[episode].var(axis=0), image[episode].var(axis=0)
            timing = tuple((distance / _floored(np.sqrt(np.mean(variances, axis=0)))).tolist())
        measured.append(
            TransformEvaluation(
                transform.name,
                in_words(transform),
                tuple((np.abs(canonical - transform.action(canonical)).mean(axis=0) / unit).tolist()),
                tuple((np.abs(taken - transform.action(actions)).mean(axis=0) / unit).tolist()),
                tuple(gait.symmetry_index(motion, image).tolist()),
                timing,
                delay,
            )
        )
    return PolicyEvaluation(
        policy=policy,
        symmetry=symmetry,
        states=len(asked),
        logged=len(commands),
        joints=tuple(names or (f"action {index}" for index in range(group.action_size))),
        motion_of="commands" if visited.positions is None else "positions",
        period=period,
        transforms=tuple(measured),
    )


def spread(commands: FloatArray, group: SymmetryGroup) -> FloatArray:
    """(actions,) the unit of each action: the root of the mean variance of all that are carried to it, so
    that a leg that is kept still is measured in what the other one does."""
    variances = [commands.var(axis=0), *(transform.action(commands).var(axis=0) for transform in group)]
    root = np.sqrt(np.mean(variances, axis=0))
    if root.max() < 1e-9:
        raise ValueError("the policy gives the same action in every logged state; log states that differ")
    return _floored(root)


def self_symmetric(transform: Symmetry, rows: Rows) -> Rows:
    """The means of observations and all their images under the transform's powers."""
    total, image = rows.astype(np.float64), rows
    for _ in range(1, transform.order or 1):
        image = _image(transform, image)
        total = total + image
    return (total / (transform.order or 1)).astype(np.float32)


def _image(transform: Symmetry, rows: Rows) -> Rows:
    image: Rows = transform.observation(rows)
    return image


def _positions(rows: Rows, visited: Visited) -> FloatArray:
    return rows[:, visited.positions].astype(np.float64)


def _floored(spreads: FloatArray) -> FloatArray:
    return np.maximum(spreads, max(SMALLEST_SPREAD * spreads.max(), 1e-12))
