from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import ambidex.symmetry
from ambidex.envs.perturbations import (
    ActionMultipliers,
    Conditions,
    FootMasses,
    Perturbation,
    SuddenChange,
    Tilt,
    Wear,
    conditions_at,
    next_change,
    parse,
)

A3 = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7)


def ant(perturbations, step=0):
    return conditions_at(perturbations, step, actuators=8)


def test_an_ideal_robot_has_unit_gains_and_ranges():
    conditions = ant([])
    assert conditions.gains.tolist() == conditions.ranges.tolist() == [1.0] * 8
    assert conditions.action_limits.tolist() == conditions.command_limits.tolist() == [1.0] * 8
    assert conditions.foot_masses == [None] * 4
    assert conditions.tilt is None


def test_multipliers_with_an_unchanged_range_widen_the_action():
    conditions = ant([ActionMultipliers(multipliers=A3)])
    np.testing.assert_allclose(conditions.action_limits * A3, 1.0)
    assert conditions.command_limits.tolist() == [1.0] * 8


def test_multipliers_as_range_keep_the_action_and_make_motors_unequal():
    conditions = ant([ActionMultipliers(multipliers=A3, range="multipliers")])
    assert conditions.action_limits.tolist() == [1.0] * 8
    assert tuple(conditions.command_limits) == A3


def test_saturation_limits_the_strong_motors_only():
    conditions = ant([ActionMultipliers(multipliers=A3, range="multipliers", saturation=1.0)])
    assert conditions.action_limits.tolist() == [1.0] * 8
    assert conditions.command_limits.tolist() == [0.3, 0.5, 0.7, 0.9, 1.0, 1.0, 1.0, 1.0]


def test_perturbations_compose():
    conditions = ant(
        [
            ActionMultipliers(multipliers=A3),
            ActionMultipliers(multipliers=(2.0,) * 8),
            FootMasses(masses=(40.0, None, 20.0, None)),
            Tilt(degrees=5.0, goal=1),
        ]
    )
    np.testing.assert_allclose(conditions.gains, 2 * np.array(A3))
    assert conditions.foot_masses == [40.0, None, 20.0, None]
    assert conditions.tilt == (5.0, 1)


def test_wear_follows_straight_lines_between_its_points():
    wear = Wear(actuators=(2, 5), schedule=((100, 1.0), (200, 0.6), (300, 0.5)))
    for step, gain in [(0, 1.0), (100, 1.0), (150, 0.8), (200, 0.6), (250, 0.55), (300, 0.5), (10**6, 0.5)]:
        gains = ant([wear], step).gains
        np.testing.assert_allclose(gains[[2, 5]], gain)
        assert np.delete(gains, [2, 5]).tolist() == [1.0] * 6


def test_wear_multiplies_what_other_perturbations_left():
    gains = ant([ActionMultipliers(multipliers=A3), Wear(actuators=(0,), schedule=((0, 0.5),))]).gains
    np.testing.assert_allclose(gains, [0.15, *A3[1:]])


def test_a_sudden_change_holds_from_its_step_on():
    change = SuddenChange(step=1000, change=FootMasses(masses=(40.0, None, None, None)))
    assert ant([change], 999).foot_masses == [None] * 4
    assert ant([change], 1000).foot_masses == [40.0, None, None, None]


perturbations = st.one_of(
    st.builds(Tilt, degrees=st.floats(1, 10), goal=st.integers(0, 7)),
    st.builds(
        lambda steps, gains: Wear(actuators=(1,), schedule=tuple(zip(sorted(steps), gains, strict=False))),
        st.sets(st.integers(0, 60), min_size=1, max_size=4),
        st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4),
    ),
)
with_changes = st.one_of(
    perturbations, st.builds(SuddenChange, step=st.integers(1, 60), change=perturbations)
)


@given(st.lists(with_changes, max_size=3), st.integers(0, 70))
def test_nothing_changes_before_the_next_change(perturbations, step):
    change = next_change(perturbations, step)
    assert change > step
    before = ant(perturbations, step)
    for later in range(step + 1, int(min(change, 80))):
        after = ant(perturbations, later)
        assert after.gains.tolist() == before.gains.tolist()
        assert (after.tilt, after.foot_masses) == (before.tilt, before.foot_masses)


def test_a_constant_perturbation_never_changes():
    assert next_change([Tilt(degrees=5.0, goal=0), ActionMultipliers(multipliers=A3)], 0) == math.inf


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "rubbish"}, "no perturbation of kind 'rubbish'; there are action_multipliers"),
        ({"kind": "tilt", "degrees": 5, "goal": 8}, "goal"),
        ({"kind": "tilt", "degrees": 5, "goal": 0, "colour": "red"}, "colour"),
        ({"kind": "action_multipliers", "multipliers": [1, 0]}, "multiplier 1 is 0.0"),
        ({"kind": "foot_masses", "masses": [1, None, -2, None]}, "mass of foot 2"),
        ({"kind": "wear", "actuators": [0], "schedule": [[5, 1.0], [5, 0.5]]}, "not ascending"),
        ({"kind": "wear", "actuators": [0], "schedule": [[5, 0.0]]}, "not above 0"),
        ({"kind": "sudden_change", "step": 5, "change": {"kind": "no"}}, "no perturbation of kind 'no'"),
    ],
)
def test_wrong_fields_are_named(fields, message):
    with pytest.raises((ValueError, ValidationError), match=message):
        parse(fields)


def test_actuators_that_do_not_exist_are_named():
    with pytest.raises(ValueError, match="no actuator 8"):
        ant([Wear(actuators=(8,), schedule=((0, 0.5),))])
    with pytest.raises(ValueError, match="2 multipliers, but the robot has 8"):
        ant([ActionMultipliers(multipliers=(1.0, 2.0))])


def test_a_user_adds_a_kind_by_subclassing():
    from typing import Literal

    class Sticky(Perturbation):
        kind: Literal["sticky"] = "sticky"
        gain: float

        def apply(self, conditions: Conditions, step: int) -> None:
            conditions.gains = conditions.gains * self.gain

    try:
        change = parse({"kind": "sudden_change", "step": 3, "change": {"kind": "sticky", "gain": 0.5}})
        assert ant([change], 3).gains.tolist() == [0.5] * 8
        assert change.model_dump()["change"] == {"kind": "sticky", "gain": 0.5}
    finally:
        del Perturbation.kinds["sticky"]


def test_true_maps_make_symmetric_commands_out_of_symmetric_actions():
    group = ambidex.symmetry.load("ant")
    gains = np.array(A3)
    maps = ant([ActionMultipliers(multipliers=A3)]).true_action_maps(group)
    action = np.random.default_rng(0).normal(size=8)
    assert set(maps) == set(group.names)
    for symmetry in group:
        multipliers, biases = maps[symmetry.name]
        symmetric_action = multipliers * action[symmetry.action_map.indices] + biases
        np.testing.assert_allclose(gains * symmetric_action, symmetry.action(gains * action))


def test_true_maps_are_the_papers_for_a2_and_a3():
    """The ratios that the paper prints for m of 0 to 2, 0 to 4, ..., 5 to 7; the transforms give signs."""
    group = ambidex.symmetry.load("ant")
    pairs = [(0, 2), (0, 4), (0, 6), (1, 3), (1, 5), (1, 7), (2, 4), (2, 6), (3, 5), (3, 7), (4, 6), (5, 7)]
    printed = {
        (0.65, 0.1): [0.76, 0.62, 0.52, 0.79, 0.65, 0.56, 0.81, 0.68, 0.83, 0.70, 0.84, 0.85],
        (0.30, 0.2): [0.43, 0.27, 0.20, 0.56, 0.38, 0.29, 0.64, 0.47, 0.69, 0.53, 0.73, 0.76],
    }
    for (first, increment), expected in printed.items():
        gains = tuple(first + increment * joint for joint in range(8))
        maps = ant([ActionMultipliers(multipliers=gains)]).true_action_maps(group)
        found = {}
        for symmetry in group:
            for target, source in enumerate(symmetry.action_map.indices):
                found[int(source), target] = abs(maps[symmetry.name][0][target])
        assert [found[pair] for pair in pairs] == pytest.approx(expected, abs=0.0051)


@pytest.mark.parametrize(
    "perturbation",
    [
        ActionMultipliers(multipliers=A3, range="multipliers"),
        ActionMultipliers(multipliers=A3, range="multipliers", saturation=1.0),
        FootMasses(masses=(40.0, None, None, None)),
        Tilt(degrees=5.0, goal=0),
    ],
)
def test_no_map_is_true_for_unequal_motors_bodies_and_grounds(perturbation):
    assert ant([perturbation]).true_action_maps(ambidex.symmetry.load("ant")) is None


def test_true_maps_follow_wear():
    wear = Wear(actuators=(0,), schedule=((0, 1.0), (100, 0.5)))
    group = ambidex.symmetry.load("ant")
    multipliers, _ = ant([wear], 100).true_action_maps(group)["xz"]
    ideal = group["xz"].action_map.multipliers
    np.testing.assert_allclose(multipliers / ideal, [2, 1, 1, 1, 1, 1, 0.5, 1])
