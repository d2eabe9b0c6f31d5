"""Short roll-outs, gathered for the fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.actuators.action_map import ActionMap
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import ASL, PairwiseFit, SymmetricA2C, TransitionFit
from ambidex.learn.update.forward import snapshot_means
from ambidex.learn.update.rollout_data import stack_images
from ambidex.symmetry import SymmetryGroup, load

World = Callable[[], Any]
SMALL: dict[str, Any] = {"n_steps": 8, "seed": 1, "device": "cpu", "policy_kwargs": {"net_arch": [8]}}


@dataclass(frozen=True)
class Seen:
    """A fit that only remembers what it was shown."""

    means: list[Any] = field(default_factory=list)

    def start(self, group: SymmetryGroup) -> Seen:
        return self

    def update(self, means: Any, symmetric_means: Mapping[str, Any]) -> None:
        self.means.append(means.copy())

    def action_maps(self) -> dict[str, ActionMap]:
        return {}

    def metrics(self) -> list[Any]:
        return []

    def state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        pass


def test_the_fit_sees_the_first_roll_out_and_then_enough_of_them(
    triangle: SymmetryGroup, triangle_world: World
) -> None:
    """All of them as the policy answers when they are enough."""
    seen = Seen()
    env = DummyVecEnv([triangle_world] * 2)
    model = SymmetricA2C(
        "MlpPolicy", env, symmetries=triangle, loss=ASL(fit=seen), fit_states=40, learning_rate=0.01, **SMALL
    )
    _, callback = model._setup_learn(10**6)
    expected, states = [], []
    for number in range(7):
        model.collect_rollouts(env, callback, model.rollout_buffer, 8)
        states.append(model.rollout_buffer.observations.swapaxes(0, 1).reshape(16, -1).copy())
        if number in (0, 3, 6):
            stacked = stack_images(torch.from_numpy(np.concatenate(states)), ())
            expected.append(snapshot_means(model.policy, stacked)[:, 0].numpy())
            states = []
        model.train()
    assert [len(means) for means in seen.means] == [16, 48, 48]
    for found, wanted in zip(seen.means, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_what_was_gathered_survives_a_restart(triangle: SymmetryGroup, triangle_world: World) -> None:
    def model() -> SymmetricA2C:
        loss = ASL(0.5, fit=PairwiseFit())
        return SymmetricA2C(
            "MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, fit_states=30, **SMALL
        )

    first, second = model(), model()
    first.learn(8 * 3)  # two roll-outs wait
    state = first.symmetry_state()
    assert state["pool/observations"].shape == (16, 4)
    second.set_symmetry_state(state)
    pools = [one._preparation._pool for one in (first, second)]  # type: ignore[union-attr]
    batch = _batch(first)
    learned = [[pool.add(batch) for _ in range(2)][-1] for pool in pools]  # type: ignore[union-attr]
    for name in ("observations", "actions", "log_probs"):
        parts = [getattr(one, name) for one in learned]
        assert len(parts[0]) == 32
        torch.testing.assert_close(*parts, rtol=0, atol=0)


def _batch(model: SymmetricA2C) -> Any:
    """The roll-out that a model has, as its losses see it."""
    caught: list[Any] = []
    preparation = model._preparation
    assert preparation is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation._pool, "add", caught.append)
        preparation.prepare(model.policy, model.rollout_buffer, 0.2, None)
    return caught[0]


@pytest.mark.parametrize("wrong", [-1, 2.5, "many"])
def test_states_that_are_no_number_are_refused(triangle_world: World, wrong: Any) -> None:
    with pytest.raises(ValueError, match="fit_states is a number of states"):
        SymmetricA2C("MlpPolicy", triangle_world(), fit_states=wrong, **SMALL)


def test_another_number_of_states_takes_the_place_of_the_saved_one(
    triangle: SymmetryGroup, triangle_world: World, tmp_path: Path
) -> None:
    model = SymmetricA2C("MlpPolicy", triangle_world(), symmetries=triangle, loss=ASL(0.5), **SMALL)
    model.save(tmp_path / "model")
    loaded = SymmetricA2C.load(tmp_path / "model", env=triangle_world(), fit_states=0)
    assert loaded._preparation is not None and loaded._preparation._pool is None


@pytest.mark.parametrize("wrong", [{"n_steps": 1}, {"use_sde": True}])
def test_what_gives_no_transitions_to_learn_from_is_refused(wrong: dict[str, Any]) -> None:
    env = TriangleVecEnv(2, seed=0)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SymmetricA2C(
            "MlpPolicy", env, symmetries=load("triangle"), actuators=TransitionFit(), **SMALL | wrong
        )
