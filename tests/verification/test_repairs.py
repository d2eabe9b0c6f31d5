"""Every single wrong entry of the ant's observation tables is found offline, from one recording."""

from __future__ import annotations

from contextlib import nullcontext

import gymnasium
import numpy as np
import pytest

from ambidex.symmetry import ChoiceMap, IndexMap, load
from ambidex.verification.bench import IDENTITY, Bench
from ambidex.verification.repairs import better_readings, better_table, single_changes
from ambidex.verification.scores import PLACED_THRESHOLD, Part, scores, spread_of
from ambidex.verification.simulators.protocol import simulator_of
from tests.verification.mutations import all_mutations, changed_elements, flipped, swapped

GROUP = load("ant")


@pytest.fixture(scope="module", params=["ambidex/Ant-v0", "ambidex/AntMujoco-v0"])
def recording(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    env = gymnasium.make(request.param)
    simulator = simulator_of(env)
    assert simulator is not None
    with getattr(simulator, "exact", nullcontext)():
        bench = Bench(env, simulator, states=64, steps=1, seed=1)
    return {"": bench.place(IDENTITY)} | {symmetry.name: bench.place(symmetry.isometry) for symmetry in GROUP}


@pytest.mark.parametrize("name", GROUP.names)
def test_every_wrong_observation_entry_is_seen_and_repaired(
    recording: dict[str, np.ndarray], name: str
) -> None:
    states, images = recording[""], recording[name]
    spread = spread_of(*recording.values())
    true = GROUP[name].observation_map
    assert isinstance(true, IndexMap)
    assert scores(true(states) - images, spread).max() < PLACED_THRESHOLD / 2
    for wrong in all_mutations(true):
        found = scores(wrong(states) - images, spread)
        assert set(np.flatnonzero(found > 2 * PLACED_THRESHOLD)) == changed_elements(true, wrong)
        part = Part("observation", slice(0, true.size), wrong)
        assert better_readings(part, states, images, spread).part.map == true


def test_a_better_reading_that_is_taken_is_dropped_and_the_others_stay() -> None:
    """Elements 2 and 3 both are what the image has of element 0; the sign of element 1 is wrong besides."""
    states = np.random.default_rng(0).normal(size=(50, 4))
    images = states[:, [0, 1, 0, 0]] * [1, -1, 1, 1]
    part = Part("observation", slice(0, 4), IndexMap([0, 1, 3, 2], [1, 1, 1, 1]))
    found = better_readings(part, states, images, np.ones(4))
    assert found.part.map == IndexMap([0, 1, 3, 2], [1, -1, 1, 1])
    assert found.is_taken.tolist() == [False, False, True, True]


def test_of_two_elements_that_want_the_same_the_better_fit_has_it() -> None:
    states = np.random.default_rng(0).normal(size=(50, 3))
    images = states[:, [1, 0, 1]]
    images[:, 2] += 0.1 * states[:, 2]
    part = Part("observation", slice(0, 3), IndexMap([0, 1, 2], [1, 1, 1]))
    found = better_readings(part, states, images, np.ones(3))
    assert found.part.map == IndexMap([1, 0, 2], [1, 1, 1])
    assert found.is_taken.tolist() == [False, False, True]


def test_single_changes_are_all_flips_and_swaps() -> None:
    given = IndexMap([0, 1, 2], [1, -1, 1])
    changes = list(single_changes(given))
    expected = [flipped(given, i) for i in range(3)]
    expected += [swapped(given, i, j) for i, j in ((0, 1), (0, 2), (1, 2))]
    expected += [IndexMap([1, 0, 2], [-1, 1, 1]), IndexMap([0, 2, 1], [1, 1, -1])]  # whole entries
    assert {change.key for change in changes} == {change.key for change in expected}
    assert len(changes) == len(expected)


def test_choices_of_one_decision_are_not_torn_apart() -> None:
    changes = list(single_changes(ChoiceMap([0, 1, 2, 3], [2, 2])))
    assert [change.indices.tolist() for change in changes] == [[1, 0, 2, 3], [0, 1, 3, 2]]  # type: ignore[attr-defined]


def test_several_wrong_entries_are_repaired_one_after_the_other() -> None:
    truth = IndexMap([2, 0, 1, 3], [1, -1, 1, -1])
    wrong = swapped(flipped(flipped(truth, 0), 3), 1, 2)

    def distance(table: IndexMap) -> float:
        return float(np.abs(table.matrix - truth.matrix).sum())

    assert better_table(wrong, distance, distance, tolerable=0.0) == truth


def test_an_improvement_that_is_not_substantial_changes_nothing() -> None:
    given = IndexMap([0, 1, 2], [1, 1, 1])

    def hardly_better(table: IndexMap) -> float:
        return 1.0 if table == given else 0.8

    assert better_table(given, hardly_better, hardly_better, tolerable=0.0) is given
