from __future__ import annotations

import textwrap

import pytest

from ambidex.common.yaml import from_yaml


def test_limbs_that_are_alike_share_what_they_have_in_common():
    text = """
        left: &leg {at: [0, 1], joints: {hip: x}}
        right: {<<: *leg, at: [0, -1]}
        third: {at: [1, 0], <<: *leg}
        """
    hip = {"hip": "x"}
    assert from_yaml(textwrap.dedent(text)) == {
        "left": {"at": [0, 1], "joints": hip},
        "right": {"at": [0, -1], "joints": hip},
        "third": {"at": [1, 0], "joints": hip},
    }


def test_what_is_merged_may_itself_be_merged():
    text = "{first: &first {a: 1, b: 1}, both: {inner: &second {<<: *first, b: 2}, <<: *second, c: 3}}"
    assert from_yaml(text)["both"] == {"inner": {"a": 1, "b": 2}, "a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", r"line 2: the key 'a' is given twice"),
        ("a: &one {b: 1}\nc: {<<: *one, b: 2, b: 3}", r"line 2: the key 'b' is given twice"),
        ("a: &one {b: 1}\nc: {<<: *one, <<: *one}", r"line 2: the key '<<' is given twice"),
        ("a:\n- v: {[x, y]: vector}", r"line 2: \['x', 'y'\] cannot be a key"),
        ("{{a: 1}: 2}", r"line 1: \{'a': 1\} cannot be a key"),
    ],
)
def test_keys_that_cannot_be_meant_are_refused_with_their_line(text, message):
    with pytest.raises(ValueError, match=message):
        from_yaml(text)
