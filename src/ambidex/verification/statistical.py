"""A description against an environment whose state cannot be set: only distributions can be compared.

Episodes of random actions are drawn. If the robot, its starts and the actions are symmetric, the transitions
(s, a, s' - s) and their images (f(s), g(a), f(s' - s)) have one distribution. Compared are the means and the
second moments, which carry what each action does to each observation. An episode is one sample, since its
steps depend on each other; half of the episodes are transformed and held against the other half.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.symmetry import Symmetry, SymmetryGroup
from ambidex.verification.bench import Advance, flat
from ambidex.verification.element_names import Names
from ambidex.verification.results import Cause, ElementResult, TransformResult, Verdict
from ambidex.verification.scores import observation_parts

EPISODES = 400
EPISODE_STEPS = 25
SURE = 6.0  # standard errors; among some thousand moments chance gives 4
LIMITS = (
    "The environment's state cannot be set, so only distributions of random episodes were compared.",
    "It cannot tell a wrong table from an imperfect robot, nor from starts that are not symmetric.",
    "It does not see an exchange of elements that are distributed alike and that no action tells apart, "
    "nor rewards and endings of single steps.",
    "Holds means: nothing was found with this many episodes.",
)


def verify_statistically(
    group: SymmetryGroup,
    env: gymnasium.Env[Any, Any],
    names: Names,
    *,
    seed: int,
    advance: Advance = lambda steps: None,
    episodes: int = EPISODES,
) -> tuple[TransformResult, ...]:
    """Compare the moments of episodes with those of transformed ones, transform by transform."""
    transitions = _episodes(env, group.action_size, seed, advance, episodes)
    return tuple(_check(symmetry, transitions, names) for symmetry in group)


def _episodes(
    env: gymnasium.Env[Any, Any], action_size: int, seed: int, advance: Advance, count: int
) -> list[FloatArray]:
    """For each episode its rows (s, a, s' - s)."""
    env.action_space.seed(seed)
    found = []
    observation, _ = env.reset(seed=seed)
    for _ in range(count):
        rows = []
        for _ in range(EPISODE_STEPS):
            action = env.action_space.sample()
            following, _, terminated, truncated, _ = env.step(action)
            advance(1)
            before = flat(observation)
            rows.append(
                np.concatenate([before, _numbers(action, env, action_size), flat(following) - before])
            )
            observation = following
            if terminated or truncated:
                break
        found.append(np.array(rows))
        observation, _ = env.reset()
    return found


def _numbers(action: Any, env: gymnasium.Env[Any, Any], size: int) -> FloatArray:
    """The action as a vector; a choice as 1 among zeros, as logits would say it."""
    sizes = getattr(env.action_space, "nvec", getattr(env.action_space, "n", None))
    if sizes is None:
        return flat(action)
    chosen = np.zeros(size)
    starts = np.concatenate([[0], np.cumsum(np.atleast_1d(sizes))[:-1]])
    chosen[starts + flat(action).astype(np.int64)] = 1.0
    return chosen


def _check(symmetry: Symmetry, transitions: list[FloatArray], names: Names) -> TransformResult:
    parts = observation_parts(symmetry)
    size = parts[-1].elements.stop
    whole = np.zeros((2 * size + symmetry.action_map.size,) * 2)
    for part in parts:
        whole[part.elements, part.elements] = part.map.matrix
    whole[size:-size, size:-size] = symmetry.action_map.matrix
    whole[-size:, -size:] = whole[:size, :size]

    halves = [
        np.stack([_moments(e) for e in part])
        for part in (transitions[::2], [e @ whole.T for e in transitions[1::2]])
    ]
    errors = np.sqrt(sum(half.var(axis=0) / len(half) for half in halves))
    differences = np.abs(halves[0].mean(axis=0) - halves[1].mean(axis=0))
    deviations = np.divide(differences, errors, out=np.zeros_like(errors), where=errors > 1e-12)

    varies = np.concatenate(transitions).std(axis=0) > 1e-12
    observed = np.maximum(deviations[:size].max(axis=1), deviations[-size:].max(axis=1))
    acted = deviations[size:-size].max(axis=1)
    sides = [(part.side, number) for part in parts for number in range(part.map.size)]
    sides += [("action", number) for number in range(len(acted))]
    elements = tuple(
        ElementResult(side, number, name, _verdict(deviation, is_tested), score=float(deviation))
        for (side, number), name, deviation, is_tested in zip(
            sides,
            (*names.observations, *names.actions),
            (*observed, *acted),
            varies[: size + len(acted)],
            strict=True,
        )
    )
    suspects = [result for result in elements if result.verdict == "broken"]
    if not suspects:
        return TransformResult(symmetry.name, None, "holds", (), elements)
    worst = max(suspects, key=lambda result: result.score or 0.0)
    more = f" (and of {len(suspects) - 1} more elements)" if len(suspects) > 1 else ""
    message = (
        f"The distribution of {worst.name}{more} changes under the "
        f"transform, by {worst.score:.0f} standard errors: a wrong table, an imperfect robot or starts that "
        "are not symmetric."
    )
    cause = Cause(worst.side, message, elements=(worst.element,))
    return TransformResult(symmetry.name, None, "broken", (cause,), elements)


def _verdict(deviation: float, varies: bool) -> Verdict:
    if not varies:
        return "untested"
    return "broken" if deviation > SURE else "holds"


def _moments(rows: FloatArray) -> FloatArray:
    """The mean of each column and, beside it, of the products with every column."""
    return np.column_stack([rows.mean(axis=0), rows.T @ rows / len(rows)])
