"""Which element carries a state into the fundamental domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambidex.learn.relabel.domain import Domain
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup, load
from tests.learn.networks.groups import GROUPS

BORDER = 1e-6


def keys_of(group: SymmetryGroup) -> list[str] | None:
    size = group.observation_size
    return sorted(size) if isinstance(size, dict) else None


def mirror() -> SymmetryGroup:
    """(x, y) to (x, -y): the functional has no part that the mirror leaves, so it reads y alone."""
    return SymmetryGroup([Symmetry.from_maps("mirror", IndexMap([0, 1], [1, -1]), IndexMap([0], [-1]))])


@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_images_of_a_state_have_one_canonical_image(name: str, seed: int) -> None:
    group = GROUPS[name]()
    domain = Domain(group, None, 0.1, keys_of(group))
    matrices = domain.representation.observation
    state = np.random.default_rng(seed).normal(size=matrices.shape[-1])
    images = matrices @ state
    sizes = group.observation_size
    if isinstance(sizes, dict):
        ends = np.cumsum([sizes[key] for key in sorted(sizes)])[:-1]
        parts = dict(zip(sorted(sizes), np.split(images, ends, axis=1), strict=True))
        chosen = domain.choose(parts)
        scores = domain.scores(parts)
    else:
        chosen = domain.choose(images)
        scores = domain.scores(images)
    highest = np.sort(scores[0])[::-1]
    if highest[0] - highest[1] < BORDER:
        return
    canonical = [matrices[element] @ image for element, image in zip(chosen, images, strict=True)]
    np.testing.assert_allclose(canonical, np.broadcast_to(canonical[0], images.shape), atol=1e-9)
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)


def test_goals_of_the_ant_are_turned_into_one_eighth_of_the_circle() -> None:
    domain = Domain(load("ant"), "goal", 0.1, None)
    angles = np.radians(np.arange(0.5, 360, 1.0))
    states = np.random.default_rng(0).normal(size=(len(angles), 28))
    states[:, 1], states[:, 2] = np.sin(angles), np.cos(angles)
    turned = np.einsum("nij,nj->ni", domain.representation.observation[domain.choose(states)], states)
    canonical = np.degrees(np.arctan2(turned[:, 1], turned[:, 2])) % 360
    assert np.bincount((canonical // 45).astype(int)).max() == 360
    assert np.ptp(canonical) == pytest.approx(44)


def test_an_element_stays_until_another_is_better_by_the_margin() -> None:
    # A quarter turn group reads l = (cos a, sin a) rotated; the scores of a goal at angle t from l are
    # cos t, cos(t + 90), ...: at t the present one has cos t, the best cos(90 - t) = sin t beyond 45 degrees.
    # It stays while cos t >= 0.9 sin t, which is until tan t = 1 / 0.9, t = 48.01 degrees.
    quarter = Symmetry.from_maps("quarter", IndexMap([1, 0], [-1, 1]), IndexMap([0], [1]))
    domain = Domain(SymmetryGroup.from_generators([quarter]), None, 0.1, None)
    scores = domain.scores(np.eye(2))[:, 0]
    axis = np.arctan2(scores[1], scores[0])

    def goal(degrees: float) -> np.ndarray:
        return np.array([[np.cos(axis + np.radians(degrees)), np.sin(axis + np.radians(degrees))]])

    present = domain.choose(goal(0))
    assert present == [0]
    assert domain.choose(goal(44.9)) == [0]
    assert domain.choose(goal(45.1)) != [0]
    for degrees in (45.1, 47.9, -47.9):
        assert domain.follow(present, goal(degrees)) == [0]
    for degrees in (48.1, -48.1, 120.0):
        assert domain.follow(present, goal(degrees)) == domain.choose(goal(degrees)) != [0]
    after = domain.follow(present, goal(48.1))
    assert domain.follow(after, goal(42.1)) == after
    assert domain.follow(after, goal(41.9)) == [0]


def test_a_state_on_a_border_is_left_as_it_is() -> None:
    domain = Domain(mirror(), None, 0.0, None)
    assert domain.choose(np.array([[3.0, 0.0]])) == [0]
    assert domain.follow(np.array([1]), np.array([[3.0, 0.0]])) == [1]


@pytest.mark.parametrize(
    ("group", "by", "margin", "message"),
    [
        (
            "ant",
            "gaol",
            0.1,
            "no field of the observation is called 'gaol'; there are height, goal, velocity",
        ),
        ("ant", "height", 0.1, "'height' is the same under xz, yz, .*choose by a field"),
        ("by key", "goal", 0.1, "called 'goal'; there are legs, body"),
        ("by key", [0], 0.1, "by a key or by the name of a field"),
        ("ant", [1, 28], 0.1, "indices go from 0 to 27"),
        ("ant", [], 0.1, "a list of indices"),
        ("five legs", "goal", 0.1, "no description by name, so give a list of indices"),
        ("ant", "goal", 1.0, "margin is a part of the highest score"),
    ],
)
def test_what_cannot_choose_is_refused(group: str, by: object, margin: float, message: str) -> None:
    made = GROUPS[group]()
    with pytest.raises(ValueError, match=message):
        Domain(made, by, margin, keys_of(made))  # type: ignore[arg-type]


def test_a_set_that_is_not_closed_is_refused_with_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"r90 @ r90.*not in the group, which must be closed"):
        Domain(load("ant").only(["r90", "xz"]), "goal", 0.1, None)


def test_a_key_of_a_dict_and_indices_choose_too() -> None:
    by_key = Domain(GROUPS["by key"](), "legs", 0.1, ["body", "legs"])
    states = {"body": np.array([[5.0, 7.0, 9.0]] * 2), "legs": np.array([[1.0, 2.0], [2.0, 1.0]])}
    first, second = by_key.choose(states)
    assert {first, second} == {0, 1}
    ant = load("ant")
    np.testing.assert_array_equal(
        Domain(ant, [1, 2], 0.1, None).scores(np.eye(28)), Domain(ant, "goal", 0.1, None).scores(np.eye(28))
    )
