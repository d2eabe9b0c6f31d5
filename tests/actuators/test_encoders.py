"""What a joint that reads a wrong angle shows, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex import identify
from ambidex.actuators.impulses import impulses
from ambidex.actuators.transitions import Transitions
from tests.actuators.two_legs import moved, two_legs

THREE_DEGREES = float(np.radians(3))
WEAK_KNEE = (1.0, 0.5, 1.0, 1.0)


def test_without_weight_and_ground_a_wrong_reading_is_in_no_log() -> None:
    """Its controller reads the same angle, so all that is logged is what a sound joint would have shown."""
    sound, off = moved(WEAK_KNEE, 200), moved(WEAK_KNEE, 200, reads=THREE_DEGREES)
    for name in sound:
        np.testing.assert_allclose(off[name], sound[name], atol=1e-12)


def told_by_weight(arrays: dict[str, np.ndarray], hip: int) -> float:
    """The offset by the phase of the weight, sin(reading - offset), by least squares on one hip."""
    layout = two_legs().layout
    assert layout is not None
    reading = arrays["observations"][:, hip]
    pulled = impulses(layout, Transitions(**arrays))[:, [hip, hip + 1]]
    terms = np.column_stack([np.sin(reading), np.cos(reading), pulled])
    change = arrays["next_observations"][:, 4 + hip] - arrays["observations"][:, 4 + hip]
    by_sine, by_cosine = np.linalg.lstsq(terms, change, rcond=None)[0][:2]
    return float(np.arctan2(by_cosine, -by_sine))


@pytest.mark.parametrize("reads", [THREE_DEGREES, -THREE_DEGREES, 0.0])
def test_the_weight_of_a_limb_tells_it_where_no_other_force_does(reads: float) -> None:
    arrays = moved((1.0, 1.0, 1.0, 1.0), reads=reads, weight=8.0, push=0.0, noise=1.0)
    assert told_by_weight(arrays, 0) == pytest.approx(reads, abs=np.radians(0.5))
    assert told_by_weight(arrays, 2) == pytest.approx(0, abs=np.radians(0.5))


def test_a_steady_pull_from_outside_looks_the_same_to_a_joint_that_hardly_moves() -> None:
    """So an offset is not estimated: a payload of 0.4 newton metres is 3 degrees of 8."""
    held = {"push": 0.0, "noise": 0.02, "weight": 8.0}
    wrong = moved((1.0, 1.0, 1.0, 1.0), 300, reads=THREE_DEGREES, **held)
    pulled = moved((1.0, 1.0, 1.0, 1.0), 300, pull=8.0 * np.sin(THREE_DEGREES), **held)
    apart = np.abs(wrong["observations"] - pulled["observations"])
    assert apart.max() < 0.02 * np.abs(pulled["observations"]).max()


def test_scales_are_the_same_under_a_wrong_reading() -> None:
    found = identify(two_legs(), **moved(WEAK_KNEE, reads=THREE_DEGREES, weight=8.0))
    np.testing.assert_allclose(found.scale[2:] / found.scale[:2], [1.0, 0.5], rtol=0.04)
