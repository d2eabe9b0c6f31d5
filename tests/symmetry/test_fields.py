from __future__ import annotations

import pytest

from ambidex.symmetry.body import Body
from ambidex.symmetry.fields import read_fields

BODY = Body({"left": {"joints": ["hip"]}, "right": {"joints": ["hip"]}})


@pytest.mark.parametrize("value", ["no", "yes", 0, None])
def test_whether_a_value_is_unsigned_is_true_or_false(value):
    with pytest.raises(ValueError, match=rf"field 'heat': unsigned is true or false, got {value!r}"):
        read_fields("observations", [{"heat": {"joint": None, "unsigned": value}}], BODY)
