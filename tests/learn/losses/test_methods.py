"""Losses as values: what they accept and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambidex.learn import ASL, MSL, PSL, PairwiseFit
from ambidex.learn.losses.adaptive import common_fit
from ambidex.learn.losses.loss import losses_by_transform
from ambidex.symmetry import SymmetryGroup


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        (MSL, {"policy_weight": -1.0}, "MSL: policy_weight is a finite number, at least 0; got -1.0"),
        (PSL, {"value_weight": float("nan")}, "PSL: value_weight is a finite number"),
        (ASL, {"max_shift": "0.3"}, "ASL: max_shift is a number or a mapping"),
        (ASL, {"dead_zone": {"xz": 0.1, "r90": -0.1}}, "ASL: dead_zone of transform 'r90' is a finite"),
        (ASL, {"value_gate": 0.5}, "ASL: value_gate is a finite number, at least 1"),
        (ASL, {"value_gate": {"xz": None, "yz": 0.9}}, "value_gate of transform 'yz'"),
        (ASL, {"max_shift": None}, "ASL: max_shift is a number"),
        (ASL, {"history": 0}, "ASL: history is a number of batches"),
        (ASL, {"history": 2.5}, "ASL: history is a number of batches"),
        (ASL, {"fit": "mx"}, "ASL: fit is a CalibratedFit"),
        (ASL, {"fit": PairwiseFit}, "ASL: fit is the class PairwiseFit; write PairwiseFit"),
        (MSL, {"policy_weight": True}, "MSL: policy_weight is a number"),
    ],
)
def test_wrong_values(method: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method(**arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    assert MSL(policy_weight=np.float32(0.5)).policy_weight == 0.5
    assert ASL(dead_zone={"xz": np.int64(0)}).dead_zone == {"xz": 0}


def test_numbers_by_transform(ant: SymmetryGroup) -> None:
    zones = dict.fromkeys(ant.names, 0.0) | {"xz": 0.1, "yz": 0.2}
    losses = losses_by_transform(ant, ASL(dead_zone=zones, value_gate=dict.fromkeys(ant.names)))
    assert tuple(losses) == ant.names
    assert [loss.number("dead_zone", name) for name, loss in losses.items()][:3] == [0.1, 0.2, 0.0]
    assert losses["r90"].number("value_gate", "r90") is None
    assert losses["r90"].number("max_shift", "r90") == 0.3


def test_a_mapping_without_a_transform_that_needs_it(ant: SymmetryGroup) -> None:
    loss = MSL(policy_weight={"xz": 1.0})
    with pytest.raises(ValueError, match="MSL: policy_weight has no number for transform 'yz'"):
        losses_by_transform(ant, loss)
    assert losses_by_transform(ant, {"xz": loss}) == {"xz": loss}


def test_unknown_transforms_are_refused_with_a_suggestion(ant: SymmetryGroup) -> None:
    with pytest.raises(ValueError, match="loss: no transform 'r9'; did you mean 'r90'"):
        losses_by_transform(ant, {"r9": MSL()})
    with pytest.raises(ValueError, match="ASL: dead_zone: no transform 'rot 45'; the transforms are xz, yz"):
        losses_by_transform(ant, ASL(dead_zone=dict.fromkeys([*ant.names, "rot 45"], 0.1)))


def test_a_loss_for_some_transforms_in_the_groups_order(ant: SymmetryGroup) -> None:
    losses = losses_by_transform(ant, {"r90": MSL(), "xz": PSL(), "yz": None})
    assert losses == {"xz": PSL(), "r90": MSL()}
    assert list(losses) == ["xz", "r90"]


def test_something_else_is_no_loss(ant: SymmetryGroup) -> None:
    with pytest.raises(
        ValueError, match="loss of transform 'xz' is MSL, PSL, ASL, Augmentation or None; got"
    ):
        losses_by_transform(ant, "asl")  # type: ignore[arg-type]


def test_one_fit_for_all() -> None:
    fit = PairwiseFit(form="mx")
    shared = {"a": ASL(fit=fit), "b": ASL(fit=None), "c": ASL(policy_weight=1.0, fit=PairwiseFit(form="mx"))}
    assert common_fit(shared) == (fit, ("a", "c"))
    assert common_fit({"b": ASL(fit=None)}) == (None, ())
    with pytest.raises(ValueError, match="transforms 'a' and 'e' have different fits"):
        common_fit(shared | {"e": ASL()})
