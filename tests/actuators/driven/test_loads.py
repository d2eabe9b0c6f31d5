"""A limb that carries something is told from one whose motors are weak."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex import identify
from ambidex.actuators.driven.limbs import limb_views
from ambidex.actuators.driven.strengths import limb_moments, projected, strengths_given
from ambidex.actuators.transitions import Transitions
from ambidex.diagnosis.diagnosis import actuators_of
from tests.actuators.two_legs import INERTIA, moved, two_legs

SOUND = (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("load", [0.1, 0.3])
def test_a_small_load_makes_no_motor_look_weak(load: float) -> None:
    found = identify(two_legs(), **moved(SOUND, load=load))
    assert not any(one.is_off for one in actuators_of(found))


@pytest.mark.parametrize("load", [0.7, 1.5, 3.0])
def test_a_load_on_a_shank_is_not_called_a_weak_motor(load: float) -> None:
    found = identify(two_legs(), **moved(SOUND, load=load))
    assert not found.identifiable.any()
    np.testing.assert_array_equal(found.scale, 1)
    left, right = found.reasons[:2], found.reasons[2:]
    assert all("it carries a load, has more inertia or friction" in reason for reason in left)
    assert all("a counterpart of its limb answers torques less" in reason for reason in right)


@pytest.mark.parametrize("strength", [(0.8, 0.8, 1.0, 1.0), (0.6, 0.9, 1.0, 1.0), (1.0, 1.0, 0.7, 0.5)])
def test_two_weak_motors_of_one_limb_are_not_called_a_load(strength: tuple[float, ...]) -> None:
    found = identify(two_legs(), **moved(strength))  # type: ignore[arg-type]
    assert found.identifiable.all()
    true = np.array(strength[:2]) / np.array(strength[2:])
    np.testing.assert_allclose(found.scale[2:] / found.scale[:2], true, rtol=0.05)


def test_a_weak_motor_on_a_loaded_limb_is_left_open() -> None:
    found = identify(two_legs(), **moved((0.7, 1.0, 1.0, 1.0), load=0.5))
    assert not found.identifiable.any()


def test_the_strength_by_one_joints_answer() -> None:
    """With the true A every joint alone tells the true ratios."""
    strength = np.array([0.6, 0.9, 1.0, 1.2])
    (limb,) = limb_views(two_legs())
    arrays = Transitions(**moved(tuple(strength), push=0.0, noise=0.5))
    squares, products, _, _ = projected(limb, limb_moments(limb, arrays).sum(axis=0))
    response = np.zeros((2, limb.feature_count, 2))
    response[:, 0] = np.linalg.inv(INERTIA)
    for joint in (0, 1):
        found = strengths_given(limb, squares, products, response, np.eye(2)[joint])
        np.testing.assert_allclose(found[:2] / found[2:], strength[:2] / strength[2:], rtol=0.03)
