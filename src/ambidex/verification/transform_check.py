"""The check of one transform: its observation table by geometry, its action table by what follows a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ambidex.common.arrays import BoolArray, FloatArray
from ambidex.symmetry import IndexMap, LinearMap, Symmetry
from ambidex.symmetry.isometry import name_of
from ambidex.symmetry.linting.repair import Repair
from ambidex.verification.bench import Bench, Branches
from ambidex.verification.element_names import Names, listed
from ambidex.verification.memory import Memory
from ambidex.verification.repairs import better_readings, better_table
from ambidex.verification.results import Cause, ElementResult, TransformResult, Verdict, worst_of
from ambidex.verification.scores import (
    DRIFT_THRESHOLD,
    PLACED_THRESHOLD,
    STEP_THRESHOLD,
    Part,
    apply,
    differs,
    likeness,
    median_and_worst,
    observation_parts,
    scores,
)

SCREENING_STATES = 12
INEXACT = 0.5


class TransformCheck:
    """One transform on a bench.

    :param symmetry: the transform under test
    :param isometry: how it moves the body
    :param bench: the states and actions, and the simulator that goes to the states' images
    :param base: what came of the actions in the states themselves
    :param spread: of each observation
    :param memory: what must not be judged, for it differs where the same state is set again
    """

    def __init__(
        self,
        symmetry: Symmetry,
        isometry: FloatArray,
        bench: Bench,
        base: Branches,
        spread: FloatArray,
        memory: Memory,
    ) -> None:
        self.symmetry = symmetry
        self.isometry = isometry
        self.bench = bench
        self.base = base
        self.memory = memory
        self.placed_spread = np.where(memory.placed, np.nan, spread)
        self.step_spread = np.where(memory.stepped, np.nan, spread)
        # An observation of the past (a contact of the last step, say) may be lost when a state is set.
        self.is_lost = memory.placed | (np.isclose(base.placed.std(axis=0), 0) & (spread > 0))
        self.given = observation_parts(symmetry)

    def run(self, horizons: Sequence[int], names: Names) -> TransformResult:
        image = self.bench.branch(self.isometry, self.symmetry.action)
        placed = likeness(apply(self.given, self.base.placed), image.placed, self.placed_spread)
        parts, is_taken = _better(self.given, self.base.placed, image.placed, self.placed_spread)

        action_map, final = self._better_actions(parts, image)
        lost_spread = np.where(self.is_lost, self.step_spread, np.nan)
        parts, is_taken_after = _better(
            parts, self.base.observations[:, 0], final.observations[:, 0], lost_spread
        )
        is_taken |= is_taken_after
        step_residuals = self._added_by_step(parts, final)
        step = scores(step_residuals, self.step_spread)
        is_imperfect = differs(step_residuals, self.step_spread)
        is_drifting = np.zeros_like(is_imperfect)
        drift = self._drift(parts, final, max(horizons))
        if not is_imperfect.any():
            is_drifting = drift > DRIFT_THRESHOLD
        still_placed = likeness(apply(parts, self.base.placed), final.placed, self.placed_spread)
        unexplained = still_placed > np.concatenate([_largest_inexactness(part) for part in parts])
        is_inexact = (still_placed > PLACED_THRESHOLD) & ~unexplained

        repairs = self._repairs(parts, action_map, names)
        causes = [_cause_of(repair) for repair in repairs]
        if (is_alien := unexplained & ~is_taken).any():
            causes.append(_unexplained(np.flatnonzero(is_alien), names))
        if is_taken.any():
            causes.append(_taken(np.flatnonzero(is_taken), names))
        unexplained |= is_taken
        is_inexact &= ~is_taken
        if is_inexact.any():
            causes.append(_inexact(np.flatnonzero(is_inexact), still_placed, names))
        if (is_uneven := is_imperfect & ~is_inexact & ~unexplained).any():
            causes.append(_imperfect(is_uneven, step, names))
        if (is_pushed := is_drifting & ~is_inexact & ~unexplained).any():
            causes.append(_drifting(is_pushed, drift, max(horizons), names))
        wrong = {(repair.side, element) for repair in repairs for element in repair.changed}
        elements = self._elements(
            image,
            placed,
            is_imperfect | is_drifting | is_inexact,
            unexplained,
            self._is_undecided(parts, final),
            wrong,
            horizons,
            names,
        )
        outcome = self._outcome(image, final, horizons)
        if not causes and any(result.verdict == "imperfect" for result in outcome):
            outcome = [
                replace(result, verdict="broken") if result.verdict == "imperfect" else result
                for result in outcome
            ]
            causes.append(_asymmetric_task(outcome))
        verdict: Verdict = worst_of([result.verdict for result in (*elements, *outcome)])
        return TransformResult(
            self.symmetry.name, name_of(self.isometry), verdict, tuple(causes), (*elements, *outcome)
        )

    def _better_actions(self, parts: list[Part], image: Branches) -> tuple[LinearMap, Branches]:
        """The action table that explains the steps, and the branches that it gives."""
        given, spread = self.symmetry.action_map, np.where(self.is_lost, np.nan, self.step_spread)
        if not differs(self._added_by_step(parts, image), spread).any():
            return given, image

        def measure(table: LinearMap, states: int | None = None) -> float:
            came = self.bench.branch(self.isometry, table, states=states, steps=1)
            return float(np.nansum(scores(self._added_by_step(parts, came), spread)))

        def screen(table: LinearMap) -> float:
            return measure(table, SCREENING_STATES)

        # A sum of scores is tolerable where no element alone can be above the threshold.
        table = better_table(given, screen, measure, tolerable=STEP_THRESHOLD)
        return table, image if table == given else self.bench.branch(self.isometry, table)

    def _added_by_step(self, parts: list[Part], image: Branches) -> FloatArray:
        """The residuals after one step, without those from before it, which are not the step's."""
        count = len(image.placed)
        before = apply(parts, self.base.placed[:count]) - image.placed
        before[:, self.memory.placed] = 0
        return apply(parts, self.base.observations[:count, 0]) - image.observations[:, 0] - before

    def _is_undecided(self, parts: list[Part], image: Branches) -> BoolArray:
        """Which elements vary in so few states that they would seem right with the other sign too."""
        expected = np.where(
            self.is_lost, apply(parts, self.base.observations[:, 0]), apply(parts, self.base.placed)
        )
        came = np.where(self.is_lost, image.observations[:, 0], image.placed)
        spread = np.where(self.is_lost, self.step_spread, self.placed_spread)
        either = [likeness(sign * expected, came, spread) for sign in (1.0, -1.0)]
        return np.asarray(np.maximum(*either) <= PLACED_THRESHOLD)

    def _drift(self, parts: list[Part], image: Branches, horizon: int) -> FloatArray:
        """The median residual after so many steps, over the spread."""
        last = horizon - 1
        residuals = apply(parts, self.base.observations[:, last]) - image.observations[:, last]
        return median_and_worst(residuals, self.step_spread)[0]

    def _repairs(self, parts: list[Part], action_map: LinearMap, names: Names) -> list[Repair]:
        pairs = [(given.side, given.map, part.map) for given, part in zip(self.given, parts, strict=True)]
        pairs.append(("action", self.symmetry.action_map, action_map))
        repairs = [
            Repair(self.symmetry.name, side, given, better, names.naming(side, self.symmetry.isometry))
            for side, given, better in pairs
        ]
        return [repair for repair in repairs if repair.changed]

    def _elements(
        self,
        image: Branches,
        placed: FloatArray,
        is_imperfect: Any,
        unexplained: Any,
        is_undecided: BoolArray,
        wrong: set[tuple[str, int]],
        horizons: Sequence[int],
        names: Names,
    ) -> list[ElementResult]:
        residuals = apply(self.given, self.base.observations) - image.observations
        medians, worsts = _over_horizons(residuals, self.step_spread, horizons)
        step = scores(residuals[:, 0], self.step_spread)
        is_untested = np.isnan(self.placed_spread) & np.isnan(self.step_spread)
        found = []
        for part in self.given:
            for number, element in enumerate(range(part.elements.start, part.elements.stop)):
                verdict: Verdict = "holds"
                if (part.side, number) in wrong or unexplained[element]:
                    verdict = "broken"
                elif is_untested[element]:
                    verdict = "untested"
                elif is_imperfect[element]:
                    verdict = "imperfect"
                elif is_undecided[element]:
                    verdict = "untested"
                found.append(
                    ElementResult(
                        part.side,
                        number,
                        names.observations[element],
                        verdict,
                        float(placed[element]),
                        float(step[element]),
                        tuple(medians[:, element].tolist()),
                        tuple(worsts[:, element].tolist()),
                    )
                )
        seen: Verdict = "untested" if self.memory.of_steps.any() else "holds"
        for number, name in enumerate(names.actions):
            found.append(
                ElementResult("action", number, name, "broken" if ("action", number) in wrong else seen)
            )
        return found

    def _outcome(self, image: Branches, final: Branches, horizons: Sequence[int]) -> list[ElementResult]:
        """Rewards and endings; endings are compared as numbers, 0 or 1."""
        found = []
        for side in ("reward", "ending"):
            expected, came, repaired = (getattr(b, f"{side}s") for b in (self.base, image, final))
            spread = np.array([max(float(np.nanstd(expected)), 1e-6)]) if side == "reward" else np.ones(1)
            medians, worsts = _over_horizons((expected - came)[..., None], spread, horizons)
            steps = slice(0, 1) if side == "reward" else slice(None)
            score = float(scores((expected - repaired)[:, steps].reshape(-1, 1), spread)[0])
            verdict: Verdict = "imperfect" if score > STEP_THRESHOLD else "holds"
            found.append(
                ElementResult(
                    side,
                    0,
                    side,
                    "untested" if getattr(self.memory, side) else verdict,
                    None,
                    score,
                    tuple(medians[:, 0].tolist()),
                    tuple(worsts[:, 0].tolist()),
                )
            )
        return found


def _better(
    parts: Sequence[Part], before: FloatArray, after: FloatArray, spread: FloatArray
) -> tuple[list[Part], BoolArray]:
    found = [better_readings(part, before, after, spread) for part in parts]
    return [one.part for one in found], np.concatenate([one.is_taken for one in found])


def _over_horizons(
    residuals: FloatArray, spread: FloatArray, horizons: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    pairs = [median_and_worst(residuals[:, horizon - 1], spread) for horizon in horizons]
    return np.array([median for median, _ in pairs]), np.array([worst for _, worst in pairs])


def _cause_of(repair: Repair) -> Cause:
    finding = repair.finding("The simulator shows it.")
    return Cause(repair.side, finding.message, finding.fix, tuple(repair.changed))


def _largest_inexactness(part: Part) -> FloatArray:
    """Above this an observation's table is wrong, not only inexact; of an index table, all other entries
    have been tried."""
    return np.full(part.map.size, INEXACT if isinstance(part.map, IndexMap) else PLACED_THRESHOLD)


def _inexact(elements: Any, placed: FloatArray, names: Names) -> Cause:
    named = listed([names.observations[i] for i in elements])
    message = (
        f"Before any step {named} differ{'' if len(elements) > 1 else 's'} by up to "
        f"{np.max(placed[elements]):.2f} of the spread from what the table says, and no other element comes "
        "nearer: the table is the best there is, but inexact (as Euler angles of a tilted body are)."
    )
    return Cause("robot", message, elements=tuple(map(int, elements)))


def _unexplained(elements: Any, names: Names) -> Cause:
    named = listed([names.observations[i] for i in elements])
    message = f"Before any step {named} differ from what the table says, and no other element explains them."
    return Cause("observation", message, elements=tuple(map(int, elements)))


def _taken(elements: Any, names: Names) -> Cause:
    named = listed([names.observations[i] for i in elements])
    message = (
        f"Another element comes far nearer to {named} than what the table says, but another entry reads it, "
        "and each is read once: no table is right here. Does the environment observe one thing twice?"
    )
    return Cause("observation", message, elements=tuple(map(int, elements)))


def _drifting(is_drifting: Any, drift: FloatArray, steps: int, names: Names) -> Cause:
    order = _strongest_first(is_drifting, drift)
    named = listed([names.observations[i] for i in order])
    message = (
        f"The tables are not to blame: one step shows nothing, but after {steps} steps {named} "
        f"differ{'' if len(order) > 1 else 's'} by up to {np.nanmax(drift):.2f} of the spread in most "
        "states. The robot, or the ground under it, is not symmetric."
    )
    return Cause("robot", message, elements=tuple(order))


def _strongest_first(chosen: Any, values: FloatArray) -> list[int]:
    return [int(i) for i in np.argsort(-np.nan_to_num(values)) if chosen[i]]


def _imperfect(is_imperfect: Any, step: FloatArray, names: Names) -> Cause:
    order = _strongest_first(is_imperfect, step)
    named = listed([names.observations[i] for i in order])
    message = (
        f"The tables are not to blame: after one step {named} differ{'' if len(order) > 1 else 's'} by up "
        f"to {np.nanmax(step):.2f} of the spread, and no other sign or index improves on that substantially. "
        "The robot itself is not symmetric."
    )
    return Cause("robot", message, elements=tuple(order))


def _asymmetric_task(outcome: Sequence[ElementResult]) -> Cause:
    what = listed([f"{result.side}s" for result in outcome if result.verdict == "broken"])
    return Cause("task", f"The robot moves as described, but {what} differ: the task is not symmetric.")
