from __future__ import annotations

import pytest

from ambidex.symmetry.layout.body import Body
from ambidex.symmetry.layout.fields import read_fields

BODY = Body({"left": {"joints": ["hip"]}, "right": {"joints": ["hip"]}})


@pytest.mark.parametrize("value", ["no", "yes", 0, None])
def test_whether_a_value_is_unsigned_is_true_or_false(value):
    with pytest.raises(ValueError, match=rf"field 'heat': unsigned is true or false, got {value!r}"):
        read_fields("observations", [{"heat": {"joint": None, "unsigned": value}}], BODY)


def names(*fields) -> list[str]:
    return [name for block in read_fields("observations", list(fields), BODY) for name in block.element_names]


def test_the_one_contact_of_a_limb_is_called_contact_in_whatever_fields_it_stands():
    assert names({"feet": "contact"}) == ["left.contact", "right.contact"]
    parts = [{"a": {"contact": None, "of": "left"}}, {"b": {"contact": None, "of": "right"}}]
    assert names(*parts) == ["left.contact", "right.contact"]


def test_several_contacts_of_a_limb_are_called_after_their_fields():
    assert names({"feet": "contact"}, {"shins": {"contact": None, "of": ["right", "left"]}}) == [
        *("left.feet", "right.feet"),
        *("right.shins", "left.shins"),
    ]
    with pytest.raises(ValueError, match=r"'left.feet' is given twice; give one of them another name"):
        names({"feet": "contact"}, {"feet": "contact"})


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"p": {"joint": None, "newest": "first"}}, r"field 'p': newest goes with history"),
        ({"of": "all", "newest": "first", "fields": [{"n": "scalar"}]}, r"newest goes with history"),
        ({"fields": [{"n": "scalar"}]}, r"say how the fields repeat"),
    ],
)
def test_how_fields_repeat_is_said_in_full(field, message):
    with pytest.raises(ValueError, match=message):
        names(field)
