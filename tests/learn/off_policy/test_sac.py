"""`SymmetricSAC` as an algorithm of Stable-Baselines3: equality, saving, refusals, fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from ambidex.learn import (
    ASL,
    MSL,
    PSL,
    Augmentation,
    CalibratedFit,
    PairwiseFit,
    SymmetricReplayBuffer,
    SymmetricSAC,
    SymmetricVecNormalize,
    TransitionFit,
)
from ambidex.learn.off_policy import replayed
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.off_policy.update import gradient_step
from ambidex.symmetry import load
from tests.learn.networks.groups import by_key
from tests.learn.off_policy.test_equivariant import small_world

SMALL: dict[str, Any] = {
    "buffer_size": 200,
    "learning_starts": 10,
    "batch_size": 16,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [16]},
}


def equal(one: Any, two: Any) -> bool:
    others = two.policy.state_dict()
    return all(torch.equal(tensor, others[name]) for name, tensor in one.policy.state_dict().items())


@pytest.mark.parametrize("symmetries", [None, "ant"])
def test_without_a_loss_it_is_stable_baselines3(symmetries: str | None, make_world: Any) -> None:
    group = None if symmetries is None else load(symmetries)
    ours = SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=group, **SMALL).learn(25)
    theirs = SAC("MlpPolicy", make_world(28, 8), **SMALL).learn(25)
    assert equal(ours, theirs)
    assert torch.equal(ours.log_ent_coef, theirs.log_ent_coef)  # type: ignore[arg-type]


class Shared(FlattenExtractor):
    """Features that learn."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space)
        self.layer = nn.Linear(self.features_dim, self.features_dim)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layer(super().forward(observations))


@pytest.mark.parametrize("ent_coef", ["auto_0.3", 0.2])
@pytest.mark.parametrize(
    "features", [{}, {"features_extractor_class": Shared, "share_features_extractor": True}]
)
def test_a_loss_without_weight_changes_nothing(ent_coef: Any, features: Any, make_world: Any) -> None:
    """The own update is SAC: temperature, critics, actor and targets, for several steps at once too."""
    arguments = SMALL | {
        "policy_kwargs": {"net_arch": [16], **features},
        "ent_coef": ent_coef,
        "train_freq": 2,
        "gradient_steps": 3,
        "target_update_interval": 2,
    }
    loss = MSL(policy_weight=0, value_weight=0)
    ours = SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=loss, **arguments)
    ours._preparation.watch = lambda *_: None  # type: ignore[union-attr, method-assign]  # it draws states
    ours.learn(20)
    theirs = SAC("MlpPolicy", make_world(28, 8), **arguments).learn(20)
    for name, tensor in theirs.policy.state_dict().items():
        torch.testing.assert_close(ours.policy.state_dict()[name], tensor, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("fit", [TransitionFit(), CalibratedFit(), PairwiseFit(), PairwiseFit("mx"), None])
def test_learns_with_every_fit(fit: Any, make_world: Any) -> None:
    model = SymmetricSAC(
        "MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=ASL(fit=fit), fit_interval=12, **SMALL
    ).learn(40)
    metrics = {name for name, *_ in model.symmetry_metrics()}
    assert {"value_distance", "neutral_rejection_ratio"} <= metrics
    assert ("map_m" in metrics) == (fit is not None)
    assert all(np.isfinite(value) for *_, value in model.symmetry_metrics())
    assert set(model.action_maps()) == set(load("ant").names)


def test_dict_observations_and_normalisation(world: Any) -> None:
    group = by_key()
    env = SymmetricVecNormalize(DummyVecEnv([lambda: small_world(world, group)] * 2), symmetries=group)
    model = SymmetricSAC(
        "MultiInputPolicy",
        env,
        symmetries=group,
        loss={"mirror": MSL()},
        replay_buffer_class=SymmetricReplayBuffer,
        **SMALL,
    ).learn(30)
    assert model._n_updates > 0 and isinstance(model.replay_buffer, SymmetricReplayBuffer)


def test_new_transitions_are_read_once_and_in_order(make_world: Any) -> None:
    """Around the end of the ring too, robot by robot, in units of the environment."""
    env = DummyVecEnv([lambda: make_world(4, 2)] * 2)
    env.action_space.high[:] = [2.0, 4.0]
    env.action_space.low[:] = [-2.0, 0.0]
    buffer = ReplayBuffer(10, env.observation_space, env.action_space, n_envs=2, device="cpu")
    marks: list[list[float]] = []
    place: int | None = None
    for step in range(17):
        observations = np.full((2, 4), float(step)) + np.array([[0.0], [100.0]])
        buffer.add(observations, observations + 0.5, np.full((2, 2), 0.5), np.zeros(2), np.zeros(2), [{}, {}])
        if step % 3 == 2:
            assert replayed.count_since(buffer, place) == 3
            places = replayed.places_since(buffer, place)
            found = replayed.transitions(buffer, places, ActionRange.of(env.action_space))
            marks.append(found.observations[:, 0].tolist())
            np.testing.assert_array_equal(found.next_observations, found.observations + 0.5)
            np.testing.assert_array_equal(found.actions, [[1.0, 3.0]] * 6)
            place = buffer.pos
    assert marks[0] == [0, 1, 2, 100, 101, 102] and marks[-1] == [12, 13, 14, 112, 113, 114]
    assert [row for mark in marks for row in mark[:3]] == list(range(15))
    everything = replayed.transitions(
        buffer, replayed.places_since(buffer, None), ActionRange.of(env.action_space)
    )
    assert everything.observations[:, 0].tolist() == [12, 13, 14, 15, 16, 112, 113, 114, 115, 116]


def test_the_transition_fit_finds_rust_from_the_replay() -> None:
    """The triangle whose limbs need 1, 2 and 3 times the torque, from random actions alone."""
    from ambidex.envs.triangle.robot import TriangleVecEnv

    model = SymmetricSAC(
        "MlpPolicy",
        TriangleVecEnv(8, scenario="triangle-rust", seed=0),
        symmetries=load("triangle"),
        loss=ASL(fit=TransitionFit()),
        **SMALL | {"buffer_size": 4000, "learning_starts": 2400},
    ).learn(2408)
    maps = model.action_maps()
    scale = np.exp(model._preparation.states[ASL].fit.log_scale)  # type: ignore[union-attr, attr-defined]
    np.testing.assert_allclose(scale / scale[0], [1, 2, 3], rtol=0.1)
    assert max(np.abs(found.multipliers).max() for found in maps.values()) > 2.5


def test_save_and_load(tmp_path: Path, make_world: Any) -> None:
    loss = ASL(fit=TransitionFit())
    model = SymmetricSAC(
        "MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=loss, fit_interval=12, **SMALL
    ).learn(20)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "replay")
    loaded = SymmetricSAC.load(tmp_path / "model", env=make_world(28, 8), device="cpu")
    loaded.load_replay_buffer(tmp_path / "replay")
    assert equal(model, loaded) and loaded.loss == loss and loaded.symmetries == model.symmetries
    for name, array in model.symmetry_state().items():
        np.testing.assert_array_equal(loaded.symmetry_state()[name], array)
    np.random.seed(1)  # noqa: NPY002
    sample = model.replay_buffer.sample(8)  # type: ignore[union-attr]
    for one in (model, loaded):
        torch.manual_seed(1)
        gradient_step(one, sample)
    assert equal(model, loaded)
    anew = SymmetricSAC.load(tmp_path / "model", env=make_world(28, 8), device="cpu", loss=MSL())
    assert isinstance(anew.loss, MSL) and not anew.symmetry_state()
    other = SymmetricSAC(
        "MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=loss, fit_interval=12, **SMALL
    )
    other.set_symmetry_state(model.symmetry_state())
    for name, array in model.symmetry_state().items():
        np.testing.assert_array_equal(other.symmetry_state()[name], array)


def test_callbacks_and_another_loss(make_world: Any) -> None:
    class Count(BaseCallback):
        seen = 0

        def _on_step(self) -> bool:
            self.seen += 1
            return True

    count = Count()
    model = SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=load("ant"), **SMALL)
    model.learn(12, callback=count)
    assert count.seen == 12 and not model._takes_own_update
    model.loss = MSL()
    model.learn(14)
    assert model._takes_own_update and model.kinds_of_loss == (MSL,)


def test_a_loss_that_is_not_finite_leaves_the_parameters(make_world: Any) -> None:
    from ambidex.learn import NonFiniteLoss

    model = SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=MSL(), **SMALL)
    model.learn(11)
    before = [parameter.clone() for parameter in model.critic.parameters()]
    model.replay_buffer.rewards[:] = np.nan  # type: ignore[union-attr]
    with pytest.raises(NonFiniteLoss, match="critics"):
        model.train(1, 16)
    assert all(torch.equal(*pair) for pair in zip(before, model.critic.parameters(), strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": PSL()}, "'xz': PSL: its ratio compares the policy with the one that made the roll-out"),
        ({"loss": {"r90": Augmentation()}}, "'r90': Augmentation: .*SymmetricReplayBuffer"),
        ({"loss": MSL(), "use_sde": True}, "use_sde=True"),
        ({"loss": ASL(), "symmetry_clip_range": 0.0}, "symmetry_clip_range"),
        ({"loss": ASL(), "fit_interval": 0}, "fit_interval"),
        ({"loss": MSL(), "symmetry_samples": 8}, "symmetry_samples"),
        ({"loss": MSL(), "symmetries": None}, "pass symmetries="),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str, make_world: Any) -> None:
    with pytest.raises(ValueError, match=message):
        SymmetricSAC("MlpPolicy", make_world(28, 8), **{"symmetries": load("ant"), **SMALL, **arguments})


def test_refuses_uneven_statistics(make_world: Any) -> None:
    env = VecNormalize(DummyVecEnv([lambda: make_world(28, 8)]))
    with pytest.raises(ValueError, match="SymmetricVecNormalize"):
        SymmetricSAC("MlpPolicy", env, symmetries=load("ant"), loss=MSL(), **SMALL)
    SymmetricSAC("MlpPolicy", env, symmetries=load("ant"), replay_buffer_class=SymmetricReplayBuffer, **SMALL)


def test_what_was_frozen_stays_so(make_world: Any) -> None:
    model = SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=MSL(), **SMALL)
    bias = model.critic.qf0[0].bias
    bias.requires_grad_(False)
    model.learn(15)
    assert not bias.requires_grad and model.critic.qf0[0].weight.requires_grad


def test_a_loaded_model_without_its_replay_reads_only_what_it_has_seen_since(
    tmp_path: Path, make_world: Any
) -> None:
    model = SymmetricSAC(
        "MlpPolicy",
        make_world(28, 8),
        symmetries=load("ant"),
        loss=ASL(fit=TransitionFit()),
        fit_interval=12,
        **SMALL,
    ).learn(60)
    model.save(tmp_path / "model")
    loaded = SymmetricSAC.load(tmp_path / "model", env=make_world(28, 8), device="cpu")
    loaded.learn(20)
    assert loaded.replay_buffer is not None and loaded._preparation is not None
    assert replayed.count_since(loaded.replay_buffer, 60) == 20
    assert len(replayed.places_since(loaded.replay_buffer, loaded._preparation._place)) <= 20


def test_a_fit_that_would_never_come_is_refused(make_world: Any) -> None:
    with pytest.raises(ValueError, match=r"fit_interval=200 .* buffer_size=200"):
        SymmetricSAC(
            "MlpPolicy",
            make_world(28, 8),
            symmetries=load("ant"),
            loss=ASL(fit=TransitionFit()),
            fit_interval=200,
            **SMALL,
        )


def test_the_keywords_of_the_replay_stay_the_callers(make_world: Any) -> None:
    keywords: dict[str, Any] = {"symmetries": load("ant")}
    SymmetricSAC(
        "MlpPolicy",
        make_world(28, 8),
        replay_buffer_class=SymmetricReplayBuffer,
        replay_buffer_kwargs=keywords,
        n_steps=3,
        **SMALL,
    )
    assert set(keywords) == {"symmetries"}


def test_what_was_measured_last_survives_a_restart(make_world: Any) -> None:
    """It is logged until the next fit, which may be many iterations away."""

    def make() -> SymmetricSAC:
        return SymmetricSAC("MlpPolicy", make_world(28, 8), symmetries=load("ant"), loss=MSL(), **SMALL)

    first, second = make().learn(20), make()
    second.set_symmetry_state(first.symmetry_state())
    measured = [metric for metric in first.symmetry_metrics() if metric[0] == "value_distance"]
    assert len(measured) == 7 and set(measured) <= set(second.symmetry_metrics())
