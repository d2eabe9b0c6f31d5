"""What an environment remembers although its state is set, found by setting one state twice.

A command, a clock or the last action that lives outside the state stays what it was. Held against a table it
would blame the wrong entry, so it is told apart before anything is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

from ambidex.common.arrays import BoolArray
from ambidex.verification.bench import Branches
from ambidex.verification.element_names import Names, listed
from ambidex.verification.scores import PLACED_THRESHOLD, STEP_THRESHOLD, scores, spread_of

CLEAR = 0.5
"""What a step adds is judged where it differs from itself by less than this part of the threshold.

Otherwise a little noise would be taken for an imperfect robot.
"""

REMEDY = (
    "The environment remembers, or draws at random, what its state does not hold. To have it checked, give "
    "the environment get_state and set_symmetric_state that bring all of it back; see docs/check.md."
)


@dataclass(frozen=True)
class Memory:
    """What differs between two visits of the same states.

    :param placed: which observations, where the state is set
    :param stepped: which observations, after the same step
    :param reward: whether the rewards of that step
    :param ending: whether its endings
    """

    placed: BoolArray
    stepped: BoolArray
    reward: bool
    ending: bool

    @property
    def of_steps(self) -> BoolArray:
        """Which observations a step from the same state moves otherwise than before."""
        return self.stepped & ~self.placed

    def limits(self, names: Names) -> tuple[str, ...]:
        """What is therefore not judged."""
        found = []
        lost = list(compress(names.observations, self.placed & self.stepped))
        lost += [side for side in ("reward", "ending") if getattr(self, side)]
        if lost:
            found.append(f"Untested, for it differs where the same state is set again: {listed(lost)}.")
        moved = list(compress(names.observations, self.of_steps))
        if moved:
            found.append(
                f"Judged before a step only, for the same step does not repeat itself: {listed(moved)}. "
                "Actions that no other element speaks against are untested."
            )
        return (*found, REMEDY) if found else ()


def memory_of(first: Branches, second: Branches) -> Memory:
    """Compare two visits of the same states, each after other actions and another start."""
    spread = spread_of(*(part for visit in (first, second) for part in (visit.placed, visit.observations)))
    rewards = np.stack([first.rewards[:, 0], second.rewards[:, 0]])
    reward_spread = np.array([max(float(rewards.std()), 1e-6)])
    before = first.placed - second.placed
    placed = scores(before, spread) > PLACED_THRESHOLD
    # As a step is judged: by what it adds, unless that what was before is stale.
    added = first.observations[:, 0] - second.observations[:, 0] - np.where(placed, 0, before)
    endings = (first.endings[:, 0] - second.endings[:, 0])[:, None]
    return Memory(
        placed=placed,
        stepped=scores(added, spread) > STEP_THRESHOLD * CLEAR,
        reward=bool(scores((rewards[0] - rewards[1])[:, None], reward_spread)[0] > STEP_THRESHOLD),
        ending=bool(scores(endings, np.ones(1))[0] > STEP_THRESHOLD),
    )
