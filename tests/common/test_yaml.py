from __future__ import annotations

import textwrap
import time

import pytest

from ambidex.common.yaml import from_yaml, read_yaml


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


def nested_aliases(levels: int, start: str = "&a0 [1, 1]", repeat: str = "[*a{0}, *a{0}]") -> str:
    """Each level repeats the one before twice: 2 to the power of the levels values."""
    lines = [f"a0: {start}"]
    lines += [f"a{level + 1}: &a{level + 1} {repeat.format(level)}" for level in range(levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 200_000, "line 1: nested more than 64 levels deep"),
        ("[" * 500 + "]" * 500, "line 1: nested more than 64 levels deep"),
        ("- " * 200_000, "line 1: nested more than 64 levels deep"),
        ("{a: " * 200_000, "line 1: nested more than 64 levels deep"),
        ("? " * 500 + "a", "line 1: nested more than 64 levels deep"),
        (nested_aliases(60), "line 17: more than 500,000 values, those that aliases repeat included"),
        (nested_aliases(60, "&a0 {k: 1}", "{{<<: *a{0}, x: *a{0}}}"), "more than 500,000 values"),
        (nested_aliases(60, "&a0 {k: 1}", "{{<<: [*a{0}, *a{0}]}}"), "more than 500,000 values"),
        ("a: &a [1, *a]", r"line 1: \*a stands inside of what it names"),
        ("a: &a {<<: *a}", r"line 1: \*a stands inside of what it names"),
        ("[" + "1, " * 600_000 + "]", "line 1: more than 500,000 values"),
        ("a\n" * 2_500_000, "5,000,000 characters of YAML, of which at most 4,000,000 are read"),
        ("a: 1" + ":1" * 1_000_000, "line 1: a value of more than 10,000 characters"),
    ],
)
def test_what_would_take_forever_is_refused_in_one_sentence_at_once(text, message):
    start = time.process_time()
    with pytest.raises(ValueError, match=f"^robot.yaml: .*{message}") as caught:
        read_yaml("robot.yaml", text)
    assert time.process_time() - start < 5
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_what_lies_within_the_limits_is_read():
    assert from_yaml("[" * 63 + "]" * 63)
    assert len(from_yaml("[" + "1, " * 100_000 + "]")) == 100_000
    assert from_yaml(nested_aliases(2))["a2"] == [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]


def test_what_is_not_yaml_is_said_in_one_sentence():
    with pytest.raises(ValueError, match=r"^robot.yaml is not YAML: .*line 2, column") as caught:
        read_yaml("robot.yaml", "a: [1\nb: 2")
    assert "\n" not in str(caught.value)


def test_an_alias_without_an_anchor_is_not_yaml():
    with pytest.raises(ValueError, match="undefined alias"):
        read_yaml("robot.yaml", "a: *nothing")
