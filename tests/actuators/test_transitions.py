"""Views: an actuator's transitions, seen in the place of its orbit's reference."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex import Symmetry, SymmetryGroup, load
from ambidex.actuators.transitions import Transitions, orbit_views
from ambidex.symmetry.layout.layout import Layout


@pytest.mark.parametrize("robot", ["ant", "triangle", "ant-v5"])
def test_a_view_shows_the_speed_of_its_actuator_where_the_reference_has_its_own(robot: str) -> None:
    group = load(robot)
    assert group.layout is not None
    actuators = group.layout.actuators
    states = np.random.default_rng(0).normal(size=(5, group.observation_size))
    seen = set()
    for orbit in orbit_views(group):
        for view in orbit.views:
            index = actuators[view.member].velocity_index
            np.testing.assert_allclose(
                (states @ view.observations.T)[:, orbit.speed], view.sign * states[:, index], atol=1e-12
            )
            seen.add(view.member)
    assert seen == set(range(group.action_size))


def test_the_ant_has_two_orbits_with_two_views_of_each_actuator() -> None:
    hips, knees = orbit_views(load("ant"))
    np.testing.assert_array_equal(hips.members, [0, 2, 4, 6])
    np.testing.assert_array_equal(knees.members, [1, 3, 5, 7])
    for orbit in (hips, knees):
        assert sorted(view.member for view in orbit.views) == sorted([*orbit.members, *orbit.members])
        assert (orbit.positions, orbit.speeds, orbit.contact) == ((8, 10), (9, 11), 24)
        np.testing.assert_allclose(orbit.stops, [[-0.95, 0.95], [-0.95, 0.95]])
    # A reflection that keeps a hip in its place turns its torque round; a knee's it keeps.
    assert sorted({view.sign for view in hips.views if view.member == 0}) == [-1, 1]
    assert {view.sign for view in knees.views if view.member == 1} == {1}


def test_products_reach_what_no_single_transform_reaches() -> None:
    ant = load("ant")
    (hips, _) = orbit_views(ant.only(["r90"]))
    assert {view.member for view in hips.views} == {0, 2, 4, 6}
    assert len(hips.views) == 4
    whole = orbit_views(ant)[0].views
    assert all(any(view.is_same(other) for other in whole) for view in hips.views)


def test_a_row_holds_features_other_states_answers_and_the_change_of_speed() -> None:
    """One limb of the triangle, all by hand: angle 1.48 of at most 1.5 is at its limit."""
    (orbit,) = orbit_views(load("triangle"), mirrored=False)
    state = np.array([[1.48, 0.1, 0.2, 3.0, 4.0, 5.0, 0.6, 0.7, 0.8, 0.9]])
    following = state + np.array([[0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0]])
    action, mean = np.array([[2.0, 0.3, 0.4]]), np.array([[-1.0, 0, 0]])
    (view,) = [one for one in orbit.views if one.member == 0 and one.sign == 1]
    (row,) = orbit.rows(state, Transitions(state, action, following, mean), view)
    features = [1, 1.48, 3.0, 1.48**2, 1.48 * 3.0, 9.0, 0, 1]
    others = [0.1, 0.2, 4.0, 5.0, 0.6, 0.7, 0.8, 0.9, 0.3, 0.4]
    # Commands around -1 that deviate by 3: the mean of |c| and of c |c|, by summing over a fine grid.
    grid = np.linspace(-40, 40, 800_001)
    weight = np.exp(-0.5 * ((grid + 1) / 3) ** 2)
    size, signed_square = (
        np.sum(weight * one) / np.sum(weight) for one in (np.abs(grid), grid * np.abs(grid))
    )
    to_mean = [*np.multiply(features, -1), *np.multiply(features, size), 1, signed_square, -1]
    to_action = [*np.multiply(features, 2), *np.multiply(features, 2), 4, 4, 8]
    np.testing.assert_allclose(row, [*features, *others, *to_mean, *to_action, 0.5], atol=1e-8)
    assert len(row) == orbit.row_size


def test_contact_doubles_the_features() -> None:
    orbit = orbit_views(load("ant"))[0]
    states = np.zeros((2, 28))
    states[:, [8, 9, 10, 11]] = [0.5, 2.0, -0.99, 3.0]
    states[1, 24] = 1.0
    squares = [0.25, -0.495, 1.0, 1.5, 0.9801, -1.98, -2.97, 4.0, 6.0, 9.0]
    free = [1, 0.5, -0.99, 2.0, 3.0, *squares, 0, 1, 0, 0]
    features = orbit.features(states)
    np.testing.assert_allclose(features, [[*free, *[0] * 19], [*free, *free]], atol=1e-12)
    np.testing.assert_array_equal(orbit.touching(states), [False, True])


def test_a_joint_without_described_limits_is_never_at_one() -> None:
    layout = {
        "limbs": {
            "left": {"at": [0, 1], "joints": {"hip": "y"}},
            "right": {"at": [0, -1], "joints": {"hip": "y"}},
        },
        "observations": [{"angles": {"joint": "position"}}, {"speeds": {"joint": "velocity"}}],
        "actions": [{"torque": "joint"}],
    }
    described = Layout(layout)
    group = SymmetryGroup([described.symmetry("xz", np.diag([1.0, -1.0, 1.0]))], layout=described)
    (orbit,) = orbit_views(group)
    np.testing.assert_array_equal(
        orbit.features(np.array([[1e9, 0, 2, 0]])), [[1, 1e9, 2, 1e18, 2e9, 4, 0, 0]]
    )


def test_blocks_are_consecutive_and_complete() -> None:
    rows = np.arange(10.0)[:, None]
    parts = Transitions(rows, rows, rows, rows).blocks(3)
    np.testing.assert_array_equal(np.concatenate([part.observations for part in parts]), rows)
    assert [len(part) for part in parts] == [3, 3, 4]


def test_a_table_of_indices_is_refused() -> None:
    swap = Symmetry(
        "swap", obs_indices=[1, 0], obs_multipliers=[1, 1], act_indices=[1, 0], act_multipliers=[1, 1]
    )
    with pytest.raises(ValueError, match="describe the robot by names"):
        orbit_views(SymmetryGroup([swap]))


def test_a_robot_without_speeds_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"action 0 .* whose speed is not among the observations"):
        orbit_views(load("triangle-paper"))
