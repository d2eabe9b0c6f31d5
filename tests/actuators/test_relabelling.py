"""Views that are mirror images of each other: what is not added up follows from what is."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex import load
from ambidex.actuators.identification import identification
from ambidex.actuators.reciprocity import CrossAnswers
from ambidex.actuators.relabelling import columns_that_become
from ambidex.actuators.response import BLOCKS, coefficients, moments, robust_moments
from ambidex.actuators.transitions import Transitions, orbit_views
from tests.actuators.test_identification import logged


def ants(steps: int) -> Transitions:
    """Numbers that are about as large as those of ants, with contacts and joints at their limits."""
    rng = np.random.default_rng(2)
    group = load("ant")
    states = rng.normal(size=(steps, group.observation_size))
    states[:, 24:] = rng.random((steps, 4)) < 0.5
    states[:, 8:24:2] = np.clip(states[:, 8:24:2], -1, 1)
    actions = rng.uniform(-1, 1, size=(steps, 8))
    following = states + rng.normal(scale=0.1, size=states.shape)
    strength = np.array([1, 2, 1, 1, 0.5, 1, 1, 1])
    following[:, 9:24:2] += actions * strength * (1 + 0.2 * states[:, 8:24:2])
    return Transitions(states, actions, following, np.zeros_like(actions))


def test_a_second_view_is_the_first_one_relabelled() -> None:
    seen = ants(500)
    for whole, thrifty in zip(
        orbit_views(load("ant"), mirrored=False), orbit_views(load("ant")), strict=True
    ):
        assert len(thrifty.distinct) == 4
        (relabelling,) = thrifty.relabellings
        sums = moments(whole, seen)
        np.testing.assert_allclose(
            sums[:, relabelling.views], relabelling(sums), rtol=1e-9, atol=1e-9 * np.abs(sums).max()
        )


@pytest.mark.parametrize("robot", ["ant", "triangle"])
def test_nothing_changes_but_the_size_of_the_problem(robot: str) -> None:
    """Only the tiny ridge of columns that change places with their mirror image is another one."""
    seen = ants(4000) if robot == "ant" else Transitions(*map(np.float64, logged("triangle-rust")))
    group = load(robot)
    cross = CrossAnswers(group)
    found = []
    for mirrored in (False, True):
        orbits = orbit_views(group, mirrored=mirrored)
        sums = [robust_moments(orbit, seen) for orbit in orbits]
        found.append(
            identification(
                group,
                orbits,
                sums,
                cross,
                cross.moments(seen),
                transitions=len(seen),
                offsets=False,
                confidence=0.95,
            )
        )
        widths = [orbit.row_size for orbit in orbits]
    assert all(width < 0.75 * orbit.every_column for width, orbit in zip(widths, orbits, strict=True))
    whole, thrifty = found
    assert whole.identifiable.all()
    assert np.ptp(np.log(whole.scale)) > 0.5
    np.testing.assert_allclose(np.log(thrifty.scale), np.log(whole.scale), atol=1e-5)
    np.testing.assert_allclose(thrifty.log_scale_error, whole.log_scale_error, rtol=1e-3)


def test_columns_that_are_left_out_have_no_part_in_what_is_expected() -> None:
    whole, thrifty = (orbit_views(load("ant"), mirrored=mirrored)[0] for mirrored in (False, True))
    plan = coefficients(whole, moments(whole, ants(4000)).sum(axis=0))
    left_out = np.setdiff1d(np.arange(whole.every_column - 1), thrifty.columns)
    assert len(left_out) > 80
    assert np.abs(plan[:, left_out]).max() < 1e-9 < np.abs(plan).max()


def test_a_group_that_is_not_closed_keeps_all_its_views() -> None:
    """The mirror image of a view is not among them, so that no view can stand for another."""
    ant = load("ant")
    for orbit in orbit_views(ant.only(["r90", "xz"])):
        if not orbit.relabellings:
            assert len(orbit.distinct) == len(orbit.views)
            np.testing.assert_array_equal(orbit.columns, np.arange(orbit.every_column))
    for orbit in orbit_views(ant.only(["r90"])):
        assert not orbit.relabellings


def test_columns_are_told_by_their_numbers() -> None:
    before = np.random.default_rng(0).normal(size=(9, 4))
    before[:, 2] = 0
    found = columns_that_become(
        before, np.stack([-before[:, 1], before[:, 0], 0 * before[:, 0], -before[:, 3]], 1)
    )
    assert found is not None
    np.testing.assert_array_equal(found[0], [1, 0, 2, 3])
    np.testing.assert_array_equal(found[1], [-1, 1, 1, -1])
    assert columns_that_become(before, before + 1) is None
    assert columns_that_become(before, before[:, [0, 0, 2, 3]]) is None


def test_sums_of_members_count_every_view() -> None:
    seen = ants(64)
    whole, thrifty = (orbit_views(load("ant"), mirrored=mirrored)[1] for mirrored in (False, True))
    expected = whole.of_members(moments(whole, seen))
    assert expected.shape[:2] == (BLOCKS, 4)
    columns = thrifty.columns
    found = thrifty.of_members(moments(thrifty, seen))
    np.testing.assert_allclose(found, expected[..., columns, :][..., columns], rtol=1e-9, atol=1e-9)
