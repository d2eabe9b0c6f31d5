from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given

from ambidex.symmetry import IndexMap, MatrixMap, Symmetry
from tests.symmetry.strategies import symmetries
from tests.symmetry.tables import ant


def test_the_ant_mirrors_its_first_hip_to_its_last():
    xz = ant()["xz"]
    action = np.arange(8.0)
    assert xz.action(action).tolist() == [-6, 7, -4, 5, -2, 3, 0, 1]
    assert xz.action(xz.action(action)).tolist() == action.tolist()


@given(symmetries("a"), symmetries("b"))
def test_composition_applies_the_second_first(a, b):
    rng = np.random.default_rng(0)
    observation, action = rng.normal(size=(3, 5)), rng.normal(size=(3, 4))
    np.testing.assert_array_equal((a @ b).observation(observation), a.observation(b.observation(observation)))
    np.testing.assert_array_equal((a @ b).action(action), a.action(b.action(action)))


@given(symmetries("a"))
def test_inverse_undoes(a):
    assert (a @ a.inverse()).is_identity
    assert a.inverse().order == a.order


def test_equality_ignores_the_name():
    group = ant()
    assert group["xz"].renamed("mirror") == group["xz"]
    assert group["xz"] != group["yz"]
    assert group["r90"].inverse() == group["r270"]
    assert group["r90"].inverse().name == "r90^-1"


def test_kinds_follow_from_the_factors():
    group = ant()
    assert (group["xz"] @ group["yz"]).kind == "rotation"
    assert (group["xz"] @ group["r90"]).kind == "reflection"
    unknown = Symmetry.from_maps("u", group["xz"].observation_map, group["xz"].action_map)
    assert (unknown @ group["xz"]).kind is None


def test_an_isometry_tells_the_kind_and_composes():
    flip, stay = IndexMap([0], [-1]), IndexMap([0], [1])
    mirror = Symmetry.from_maps("xz", flip, flip, isometry=np.diag([1, -1, 1]))
    turn = Symmetry.from_maps("r180", stay, flip, isometry=np.diag([-1, -1, 1]))
    assert (mirror.kind, turn.kind) == ("reflection", "rotation")
    np.testing.assert_array_equal((mirror @ turn).isometry, np.diag([-1, 1, 1]))
    with pytest.raises(ValueError, match="'xz' is declared a rotation, but its isometry is a reflection"):
        Symmetry.from_maps("xz", flip, flip, kind="rotation", isometry=np.diag([1, -1, 1]))
    with pytest.raises(ValueError, match="orthogonal"):
        Symmetry.from_maps("xz", flip, flip, isometry=np.diag([1, 2, 1]))


def test_errors_name_transform_and_side():
    with pytest.raises(ValueError, match="transform 'm', action 1: index 0 is used by elements 0 and 1"):
        Symmetry("m", obs_indices=[0], obs_multipliers=[1], act_indices=[0, 0], act_multipliers=[1, 1])
    with pytest.raises(ValueError, match="transform 'xz', observation: expected vectors of 28"):
        ant()["xz"].observation(np.zeros(27))


def test_repr_is_readable():
    mirror = Symmetry(
        "m",
        obs_indices=[1, 0],
        obs_multipliers=[1, -1],
        act_indices=[0],
        act_multipliers=[0.5],
        kind="reflection",
    )
    assert repr(mirror) == (
        "<Symmetry 'm' (reflection): order infinite, observation IndexMap([+1, -0]), "
        "action IndexMap([0.5*0])>"
    )


def test_copies_and_pickles():
    turn = Symmetry.from_maps("t", MatrixMap([[0.6, -0.8], [0.8, 0.6]]), IndexMap([0], [-1]))
    for duplicate in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn))):
        assert duplicate == turn
