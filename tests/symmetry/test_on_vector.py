from __future__ import annotations

import numpy as np
import pytest

from ambidex.symmetry import load
from ambidex.symmetry.on_vector import on_vector
from tests.symmetry.files.export.robots import HALF, MIRROR, ROOT, THIRDS


def test_keys_follow_each_other_in_the_order_asked_for():
    """MIRROR flips y of the plane vector 'policy' and of the spatial vector 'critic'."""
    vector = np.arange(1.0, 7)
    joined = on_vector(MIRROR, {"critic": 3, "battery": 1, "policy": 2}, ["battery", "absent"])
    assert joined["xz"].observation(vector).tolist() == [1, -2, 3, 4, 5, -6]
    assert joined["xz"].action(np.array([3.0])).tolist() == [-3]
    assert on_vector(MIRROR, {"policy": 2})["xz"].observation(vector[:2]).tolist() == [1, -2]


def test_a_description_of_one_vector_serves_each_key():
    joined = on_vector(THIRDS, {"policy": 3, "critic": 3})
    assert joined.is_closed
    turned = joined["r120"].observation(np.array([7.0, 1, 0, 8, 0, 2]))
    np.testing.assert_allclose(turned, [7, -HALF, ROOT, 8, -2 * ROOT, -1])


@pytest.mark.parametrize(
    ("group", "sizes", "reason"),
    [
        (MIRROR, {"policy": 2, "battery": 1}, "'battery' are not described"),
        (
            MIRROR,
            {"policy": 3},
            "acts on 2 elements of the observations 'policy', which have 3",
        ),
        (load("ant"), {"policy": 48}, "acts on 28 elements"),
    ],
)
def test_what_is_not_described_is_refused(group, sizes, reason):
    with pytest.raises(ValueError, match=reason):
        on_vector(group, sizes)
