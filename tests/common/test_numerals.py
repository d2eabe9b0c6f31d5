"""Numbers as the paper prints them."""

from __future__ import annotations

import pytest

from ambidex.common.numerals import number, plural, score, small, steps, whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (892.4, "892"),
        (2183, "2,183"),
        (59.04, "59.0"),
        (1.234, "1.23"),
        (-0.01234, "−0.0123"),
        (0, "0"),
        (None, "–"),
    ],
)
def test_score(value: float | None, text: str) -> None:
    assert score(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(2_650_000, "2.65M"), (680_000, "0.68M"), (61_440, "61k"), (2048, "2,048"), (None, "–")],
)
def test_steps(value: float | None, text: str) -> None:
    assert steps(value) == text


def test_number() -> None:
    assert number(-1.5, 2) == "−1.50"
    assert number(-0.001, 2) == "0.00"
    assert number(float("nan"), 2) == "–"


def test_plural() -> None:
    assert (plural(1, "seed"), plural(12, "seed")) == ("1 seed", "12 seeds")


@pytest.mark.parametrize(
    ("text", "value"),
    [("5000", 5000), ("1e6", 1_000_000), ("1_000_000", 1_000_000), ("2.5e3", 2500), ("-3", -3)],
)
def test_whole_numbers_as_people_write_them(text, value):
    assert whole(text) == value


@pytest.mark.parametrize("text", ["1.5", "1e-3", "inf", "nan", "abc", ""])
def test_what_is_no_whole_number(text):
    assert whole(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-7, "less than 0.0005"), (0.0006, "0.001"), (0, "0.000"), (None, "–")],
)
def test_what_would_round_to_nothing_is_said(value, text):
    assert small(value, 3) == text
