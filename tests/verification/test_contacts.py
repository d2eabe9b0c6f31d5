"""The force of a contact counts where there is contact."""

from __future__ import annotations

import numpy as np

from ambidex.symmetry import SymmetryGroup, load
from ambidex.verification import verify
from ambidex.verification.scores import likeness, scores
from tests.verification.mutations import flipped, with_observation


def test_zeros_on_both_sides_say_nothing() -> None:
    first, second = np.zeros((40, 3)), np.zeros((40, 3))
    first[:5], second[:5] = 1.0, [-1.0, 1.0, -1.0]
    first[3:, 2] = second[3:, 2] = 0  # the third touches three times only
    spread = np.ones(3)
    assert likeness(first, second, spread).tolist() == [1, 0, 3 / 40]
    assert scores(first - second, spread).tolist() == [5 / 40, 0, 3 / 40]


def test_where_nothing_is_ever_zero_all_samples_count() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 30, 4))
    spread = np.array([1.0, 2.0, np.nan, 0.5])
    np.testing.assert_array_equal(likeness(first, second, spread), scores(first - second, spread))


def test_forces_on_an_ants_feet_are_judged() -> None:
    group = load("ant-v5")
    found = verify(group, "Ant-v5", states=48, horizons=(1,))
    assert found.verdict == "holds"
    forces = [one for one in found["xz"].elements if ".foot_" in one.name]
    assert len(forces) == 24  # four feet, three forces and three torques
    assert {one.verdict for one in forces} == {"holds"}
    foot = forces[0]
    wrong = with_observation(group["xz"], flipped(group["xz"].observation_map, foot.element))
    result = verify(SymmetryGroup([wrong]), "Ant-v5", states=48, horizons=(1,))["xz"]
    assert result.of("observation", foot.element).verdict == "broken"
    assert [cause.fix for cause in result.causes] == [
        f"flip the multiplier of observation {foot.element} in xz"
    ]
