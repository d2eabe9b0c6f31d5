"""Tensors, and fields that repeat limb by limb, against geometry done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambidex.symmetry import Layout
from ambidex.symmetry.isometry import named

NAMES = ["xz", "yz", "xy", "y=x", "m60", "r90", "r120", "rx90", "inversion"]
ORDER = ["xx", "yy", "zz", "xy", "xz", "yz"]
LEGS = {"left": {"at": [0, 1]}, "right": {"at": [0, -1]}}


def layout(*observations, **sections):
    return Layout({"observations": list(observations), "actions": [{"nothing": "scalar"}], **sections})


def components(tensor, order):
    return np.array([tensor["xyz".index(first), "xyz".index(second)] for first, second in order])


@given(
    name=st.sampled_from(NAMES), order=st.permutations(ORDER), seed=st.integers(min_value=0, max_value=2**32)
)
def test_the_inertia_of_moved_points_is_the_moved_inertia(name, order, seed):
    part = layout({"inertia": {"tensor": order}}).symmetry("t", named(name)).observation_map
    points = np.random.default_rng(seed).normal(size=(5, 3))

    def inertia(places):
        return sum(np.eye(3) * (p @ p) - np.outer(p, p) for p in places)

    moved = inertia(points @ named(name).T)
    np.testing.assert_allclose(part(components(inertia(points), order)), components(moved, order), atol=1e-12)


def test_parts_of_a_tensor_may_do():
    planar = layout({"inertia": {"tensor": ["xx", "yy", "xy"]}})
    assert planar.symmetry("yz", named("yz")).observation_map.matrix.tolist() == np.diag([1, 1, -1]).tolist()
    assert planar.symmetry("r90", named("r90")).observation(np.array([2.0, 3.0, 5.0])).tolist() == [3, 2, -5]
    with pytest.raises(ValueError, match=r"mixes the components xx, yy, xy of 'inertia'"):
        planar.symmetry("rx90", named("rx90"))
    with pytest.raises(ValueError, match=r"tensor takes its components in order"):
        layout({"inertia": {"tensor": ["xx", "yx"]}})


def test_fields_repeat_limb_by_limb():
    group = layout(
        {"of": "all", "fields": [{"force": "vector"}, {"torque": {"pseudovector": ["x"]}}]}, limbs=LEGS
    )
    assert group.observation_names == (
        *("left.force.x", "left.force.y", "left.force.z", "left.torque.x"),
        *("right.force.x", "right.force.y", "right.force.z", "right.torque.x"),
    )
    mirrored = group.symmetry("xz", named("xz")).observation(np.arange(1.0, 9))
    assert mirrored.tolist() == [5, -6, 7, -8, 1, -2, 3, -4]


def test_fields_repeat_limb_by_limb_and_step_by_step():
    names = layout(
        {"of": ["right", "left"], "history": 2, "fields": [{"load": "scalar"}]}, limbs=LEGS
    ).observation_names
    assert names == ("right.load[t-1]", "left.load[t-1]", "right.load", "left.load")


def test_a_field_has_one_owner():
    with pytest.raises(ValueError, match=r"'left\.feet' has an owner already"):
        layout({"of": "all", "fields": [{"feet": "contact"}]}, limbs=LEGS)
