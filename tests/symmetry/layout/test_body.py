from __future__ import annotations

import pytest

from ambidex.symmetry.layout.body import Body


@pytest.mark.parametrize("moves", [{0: 1, 2: 2}, {"0": 1, "2": 2}, {1: "0", 2: "2"}])
def test_choices_that_are_numbers_are_moved_by_number(moves):
    assert Body().motion("m", None, moves, ("0", "1", "2")).choices == {"0": "1", "1": "0", "2": "2"}


def test_a_negative_number_is_a_choice_and_no_sign():
    for moves in ({1: -1, 0: 0}, {-1: 1, 0: 0}):
        assert Body().motion("m", None, moves, ("-1", "0", "1")).choices == {"1": "-1", "-1": "1", "0": "0"}


@pytest.mark.parametrize("word", ["*.ankle", "*.knees"])
def test_a_pattern_that_no_joint_matches_is_told_the_joints(word):
    body = Body({"left": {"joints": ["hip", "knee"]}, "right": {"joints": ["hip", "knee"]}})
    with pytest.raises(ValueError) as caught:
        body.select("observations", [word], "joints")
    joints = "left.hip, left.knee, right.hip, right.knee"
    assert str(caught.value) == f"observations: no joint is called {word!r}; there are {joints}"
