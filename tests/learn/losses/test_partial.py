"""Weights per actuator: their names, what is refused, and their place in each loss by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ambidex.learn import MSL, PSL, Augmentation
from ambidex.learn.losses import gaussian
from ambidex.learn.losses.constants import Batch
from ambidex.learn.losses.loss import losses_by_transform
from ambidex.learn.losses.mirror import mirror_loss
from ambidex.learn.losses.partial import element_weights
from ambidex.symmetry import Layout, Symmetry, SymmetryGroup, load

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
MIRROR = Symmetry("m", obs_indices=[0], obs_multipliers=[-1], act_indices=[0], act_multipliers=[-1])


@pytest.fixture(scope="module")
def group() -> SymmetryGroup:
    """A robot with two legs and two arms."""
    layout = Layout(
        {
            "limbs": {
                "leg_left": {"at": [0, 1, 0], "joints": {"knee": "y"}},
                "leg_right": {"at": [0, -1, 0], "joints": {"knee": "y"}},
                "arm_left": {"at": [1, 1, 0], "joints": {"elbow": "y"}},
                "arm_right": {"at": [1, -1, 0], "joints": {"elbow": "y"}},
            },
            "observations": [{"angles": {"joint": "position"}}],
            "actions": [{"torque": "joint"}],
        }
    )
    return SymmetryGroup([layout.symmetry("m", np.diag([1.0, -1.0, 1.0]))], layout=layout)


def test_the_names_of_the_robot(group: SymmetryGroup) -> None:
    assert group.layout is not None
    assert group.layout.action_names == (
        "leg_left.knee", "leg_right.knee", "arm_left.elbow", "arm_right.elbow"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ({"knee*": 1.0, "arm*": 0.0}, [1, 1, 0, 0]),
        ({"elbow": 0.5}, [1, 1, 0.5, 0.5]),
        ({"*": 0.0, "knee": 1.0}, [1, 1, 0, 0]),
        ({"knee": 1.0, "*": 0.0}, [0, 0, 0, 0]),
        ({"arm_left.elbow": 0.2, "arm_right*": 0.2, "leg*": 2.0}, [2, 2, 0.2, 0.2]),
    ],
)
def test_patterns(group: SymmetryGroup, patterns: dict[str, float], expected: list[float]) -> None:
    assert element_weights(patterns, group.layout, "here").tolist() == expected


@pytest.mark.parametrize("kind", [MSL, PSL, Augmentation])
@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"wing*": 0.0}, "actuator_weights: no actuator matches 'wing\\*'; the actuators are leg_left.knee"),
        ({"leg_lft.knee": 0.0}, "no actuator matches 'leg_lft.knee'; did you mean 'leg_left.knee'"),
        (
            {"arm_left*": 0.0},
            "transform 'm' carries '(arm_left.elbow' \\(weight 0|arm_right.elbow' \\(weight 1\\))",
        ),
    ],
)
def test_what_does_not_fit_the_robot_is_refused(
    group: SymmetryGroup, kind: Any, patterns: dict[str, float], message: str
) -> None:
    losses = losses_by_transform(group, kind(actuator_weights=patterns))
    with pytest.raises(ValueError, match=message):
        kind.start(losses, group, None)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (0.5, "MSL: actuator_weights is a mapping from patterns of actuators' names to weights"),
        ({"arm*": -1.0}, "MSL: actuator_weights of actuator 'arm\\*' is a finite number, at least 0"),
        ({"arm*": "no"}, "MSL: actuator_weights of actuator 'arm\\*' is a number"),
    ],
)
def test_what_is_no_weight_is_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MSL(actuator_weights=weights)


def test_a_description_without_names_is_refused() -> None:
    group = SymmetryGroup([MIRROR])
    with pytest.raises(ValueError, match="needs the actuators' names, which the symmetries do not have"):
        PSL.start({"m": PSL(actuator_weights={"arm": 0.0})}, group, None)


def test_choices_are_no_actuators() -> None:
    with pytest.raises(ValueError, match="discrete choices, not actuators"):
        element_weights({"left": 0.0}, load("cartpole-v1").layout, "here")


def test_the_mirror_loss_by_hand() -> None:
    found = mirror_loss(
        torch.tensor([1.0, 2.0, 3.0, 9.0]), torch.tensor([1.0, 4.0, 0.0, 0.0]), torch.tensor([1, 0.5, 2, 0])
    )
    assert found.item() == pytest.approx((0 + 0.5 * 4 + 2 * 9) / 4)


def test_the_log_probability_by_hand() -> None:
    """Of two actuators, one standard deviation from their means, only the first counts."""
    log_std = torch.tensor([0.5, -3.0])
    actions = log_std.exp()
    counts = torch.tensor([1.0, 0.0])
    found = gaussian.log_prob(actions, torch.zeros(2), log_std, counts)
    assert found.item() == pytest.approx(-0.5 - 0.5 - HALF_LOG_TWO_PI)
    value, by_means, by_log_std = gaussian.log_prob_gradients(
        2 * actions, torch.zeros(2), log_std, 0.5 * counts
    )
    assert value.item() == pytest.approx(0.5 * (-2 - 0.5 - HALF_LOG_TWO_PI))
    assert by_means.tolist() == pytest.approx([0.5 * 2 / math.exp(0.5), 0])
    assert by_log_std.tolist() == pytest.approx([0.5 * 3, 0])


ARMS_FREE = {"arm*": 0.0}


def batch_of(group: SymmetryGroup) -> Batch:
    """Legs: a is one sigma from mu(s) at the left, at its mean at the right; g(a) is 2 sigma from mu(f(s)).

    The arms are so far off that they would decide everything if they counted.
    """
    return Batch(
        transforms=tuple(group),
        observations=torch.zeros(1, 2, 4),
        actions=torch.tensor([[1.0, 0.0, 50.0, -40.0]]),
        log_probs=torch.tensor([-4000.0]),
        log_std=torch.zeros(4),
        clip_range=0.2,
        image_share=1.0,
        outputs_of=lambda _: torch.tensor([[[0.0, 0.0, 1.0, 2.0], [0.0, -1.0, 3.0, 4.0]]]),
        transitions_of=lambda means: pytest.fail("not needed"),
    )


@pytest.mark.parametrize(("denominator", "expected"), [("sample", -0.5), ("image", -2.0)])
def test_the_denominator_of_augmentation_by_hand(
    group: SymmetryGroup, denominator: Any, expected: float
) -> None:
    """g exchanges left and right: g(a) = (0, 1, ...) at f(s), where the means are (0, -1, ...)."""
    losses = {"m": Augmentation(denominator=denominator, actuator_weights=ARMS_FREE)}
    constants: Any = Augmentation.start(losses, group, None).constants(batch_of(group))
    assert constants.targets[0, 0].tolist() == [0, 1, -40, 50]
    assert constants.old_log_probs.item() == pytest.approx(expected - 2 * HALF_LOG_TWO_PI)


def test_the_ceiling_of_psl_by_hand(group: SymmetryGroup) -> None:
    """g(a-bar) = (0, 0, ...): log pi_old(g(a-bar) | f(s)) = -1/2, the same as that of the sample."""
    losses = {"m": PSL(actuator_weights=ARMS_FREE)}
    constants: Any = PSL.start(losses, group, None).constants(batch_of(group))
    assert constants.old_log_probs.item() == pytest.approx(-0.5 - 2 * HALF_LOG_TWO_PI)
    assert constants.ceilings.item() == pytest.approx(-0.5 - 2 * HALF_LOG_TWO_PI)


def test_without_weights_nothing_changes(group: SymmetryGroup) -> None:
    constants: Any = Augmentation.start({"m": Augmentation()}, group, None).constants(batch_of(group))
    assert constants.elements is None
    assert constants.old_log_probs.item() == -4000
