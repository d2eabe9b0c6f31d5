"""A loss and a fit that the package does not know enter it through the public seams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from ambidex.actuators.action_map import ActionMap
from ambidex.learn import ASL, SymmetricPPO
from ambidex.learn.losses.constants import Batch, Constants, Outputs
from ambidex.learn.losses.loss import Number, SymmetryLoss
from ambidex.symmetry import SymmetryGroup


@dataclass(frozen=True)
class Huddle(SymmetryLoss):
    """Pulls the means of the images toward a constant."""

    policy_weight: Number = 5.0
    value_weight: Number = 0.0
    place: float = 0.7

    @classmethod
    def constants(cls, losses: Mapping[str, Self], batch: Batch) -> HuddleConstants:
        return HuddleConstants(batch.weights(losses), batch.numbers(losses, "place"))


@dataclass(frozen=True)
class HuddleConstants(Constants):
    place: Tensor

    def terms(self, outputs: Outputs) -> Tensor:
        return self.weights * (outputs.symmetric_means - self.place[..., None]).square().sum(dim=-1)


class Halved:
    """A fit that halves every multiplier, and counts its updates."""

    def start(self, group: SymmetryGroup) -> Halved:
        self.group, self.updates = group, 0
        return self

    def update(self, means: Any, symmetric_means: Mapping[str, Any]) -> None:
        assert set(symmetric_means) == set(self.group.names)
        self.updates += 1

    def action_maps(self) -> dict[str, ActionMap]:
        given = {symmetry.name: ActionMap.given(symmetry) for symmetry in self.group}
        return {name: replace(one, multipliers=one.multipliers / 2) for name, one in given.items()}

    def metrics(self) -> list[tuple[str, str, str, float]]:
        return [("updates", "", "", float(self.updates))]

    def state(self) -> dict[str, Any]:
        return {"updates": np.array(self.updates)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.updates = int(state["updates"])


def model(triangle: SymmetryGroup, world: Callable[[], Any], loss: Any, **kwargs: Any) -> SymmetricPPO:
    return SymmetricPPO(
        "MlpPolicy",
        DummyVecEnv([world]),
        symmetries=triangle,
        loss=loss,
        n_steps=64,
        batch_size=32,
        learning_rate=3e-2,
        seed=0,
        device="cpu",
        **kwargs,
    )


def test_a_loss_of_ones_own_takes_the_update_by_autograd(
    triangle: SymmetryGroup, triangle_world: Callable[[], Any]
) -> None:
    learner = model(triangle, triangle_world, Huddle())
    learner.learn(640)
    states = torch.zeros(1, triangle.observation_size)  # type: ignore[arg-type]
    mean = learner.policy.get_distribution(states).distribution.mean  # type: ignore[union-attr]
    assert (mean - 0.7).abs().max() < 0.25
    with pytest.raises(ValueError, match="fast=True: Huddle has no gradients by hand; use fast=None"):
        model(triangle, triangle_world, Huddle(), fast=True)


def test_its_hyperparameters_are_checked_and_may_differ_by_transform(
    triangle: SymmetryGroup, triangle_world: Callable[[], Any]
) -> None:
    with pytest.raises(ValueError, match="Huddle: policy_weight is a finite number, at least 0"):
        Huddle(policy_weight=-1.0)
    places = {name: 0.1 * place for place, name in enumerate(triangle.names)}
    learner = model(triangle, triangle_world, Huddle(place=places))  # type: ignore[arg-type]
    learner.learn(64)
    with pytest.raises(ValueError, match="Huddle: place: no transform 'nowhere'"):
        model(triangle, triangle_world, Huddle(place={**places, "nowhere": 1.0}))  # type: ignore[arg-type]


def test_a_fit_of_ones_own_moves_the_maps_of_asl(
    triangle: SymmetryGroup, triangle_world: Callable[[], Any]
) -> None:
    learner = model(triangle, triangle_world, ASL(fit=Halved()))  # type: ignore[arg-type]
    learner.learn(128)
    name = triangle.names[0]
    given = ActionMap.given(triangle[name])
    np.testing.assert_allclose(learner.action_maps()[name].multipliers, given.multipliers / 2)
    assert ("updates", "", "", 2.0) in learner.symmetry_metrics()
    assert learner.symmetry_state()["fit/updates"] == 2
