"""Several things in one breath, and what was probably meant."""

from __future__ import annotations

import pytest

from ambidex.common.words import listed, suggestion


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listed(words: list[str], text: str) -> None:
    assert listed(words) == text


def test_suggestion() -> None:
    assert suggestion("hipp", ["knee", "hip"]) == "; did you mean 'hip'?"
    assert suggestion("wing", ["knee", "hip"]) == ""
    assert suggestion("hxyz", ["hipster"], likeness=0.1) == "; did you mean 'hipster'?"
