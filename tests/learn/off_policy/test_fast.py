"""Gradient steps by hand beside Stable-Baselines3's SAC and autograd, on the same samples and noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import MSL, SymmetricReplayBuffer, SymmetricSAC, TransitionFit
from ambidex.learn.update.iteration import NonFiniteLoss
from ambidex.symmetry import load

STEPS = 80  # 20 gradient steps
LEVEL = {"eps": 1e-3}  # of Adam, which divides the rounding of a gradient near 0 by itself otherwise


class OwnFeatures(FlattenExtractor):
    pass


def trained(kind: type[SAC], policy: str = "MlpPolicy", std_bias: float = 0.0, **kwargs: Any) -> SAC:
    """After some gradient steps.

    :param std_bias: of the logarithms of the standard deviations, at the start
    """
    own = {"net_arch": [18, 12], "optimizer_kwargs": LEVEL, **kwargs.pop("policy_kwargs", {})}
    env = TriangleVecEnv(4, scenario="triangle-rust", seed=0)
    settings: dict[str, Any] = {
        "seed": 0,
        "device": "cpu",
        "learning_starts": 100,
        "batch_size": 32,
        "learning_rate": 1e-3,
    }
    model = kind(policy, env, policy_kwargs=own, **settings | kwargs)
    if std_bias:
        with torch.no_grad():
            model.actor.log_std.bias += std_bias  # type: ignore[operator, union-attr]
    return model.learn(100 + STEPS)


def gaps(one: SAC, other: SAC) -> list[float]:
    """Of the parameters, the moments of the optimisers and the temperature."""
    pairs = list(zip(one.policy.parameters(), other.policy.parameters(), strict=True))
    for name in ("actor", "critic"):
        states = [getattr(model, name).optimizer.state_dict()["state"] for model in (one, other)]
        assert states[0].keys() == states[1].keys()
        for index in states[0]:
            pairs += [(states[0][index][key], states[1][index][key]) for key in states[0][index]]
    if one.log_ent_coef is not None and other.log_ent_coef is not None:
        pairs.append((one.log_ent_coef, other.log_ent_coef))
    return [
        float((a - b).abs().max().detach() / a.abs().max().clamp(min=1).detach())
        for a, b in pairs
        if a.numel()
    ]


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"policy_kwargs": {"activation_fn": nn.Tanh}},
        {"policy_kwargs": {"net_arch": [], "n_critics": 1}},
        {"policy_kwargs": {"n_critics": 3}, "ent_coef": 0.2},
        {"gradient_steps": 5, "train_freq": 5, "target_update_interval": 3, "n_steps": 3},
        {"n_steps": 2, "gamma": np.float64(0.97)},
        {"std_bias": 2.0},  # some above the highest deviation, which has no gradient there
        {"policy_kwargs": {"optimizer_kwargs": {**LEVEL, "betas": (0.5, 0.9), "weight_decay": 0.1}}},
    ],
)
def test_the_parameters_of_stable_baselines3(kwargs: dict[str, Any]) -> None:
    # Its noise is that of torch's own generator, so both draw the same.
    theirs, ours = trained(SAC, **kwargs), trained(SymmetricSAC, fast=True, **kwargs)
    assert theirs._n_updates == ours._n_updates > 10
    assert max(gaps(theirs, ours)) < 2e-5


def test_its_log() -> None:
    def logged(model: SAC) -> dict[str, float]:
        names = ("actor_loss", "critic_loss", "ent_coef", "ent_coef_loss", "n_updates")
        return {name: model.logger.name_to_value[f"train/{name}"] for name in names}

    assert logged(trained(SymmetricSAC, fast=True)) == pytest.approx(logged(trained(SAC)), abs=1e-4)


@pytest.mark.parametrize("actuators", [None, TransitionFit()])
@pytest.mark.parametrize(("activation", "steps"), [(nn.ReLU, 1), (nn.Tanh, 5)])
def test_tied_layers_as_by_autograd(
    actuators: TransitionFit | None, activation: type[nn.Module], steps: int
) -> None:
    common: dict[str, Any] = {
        "symmetries": load("triangle"),
        "actuators": actuators,
        "policy_kwargs": {"activation_fn": activation},
        "fit_interval": 50,
        "train_freq": steps,
        "gradient_steps": steps,
    }
    by_hand = trained(SymmetricSAC, "EquivariantMlpPolicy", **common)
    by_autograd = trained(SymmetricSAC, "EquivariantMlpPolicy", fast=False, **common)
    assert by_hand._takes_fast_path and not by_autograd._takes_fast_path  # type: ignore[attr-defined]
    assert max(gaps(by_hand, by_autograd)) < 2e-5


def test_symmetric_replay_as_by_stable_baselines3() -> None:
    replay = {"symmetries": load("triangle"), "replay_buffer_class": SymmetricReplayBuffer}
    by_hand, theirs = trained(SymmetricSAC, fast=True, **replay), trained(SymmetricSAC, **replay)
    assert not theirs._takes_own_update  # type: ignore[attr-defined]
    assert max(gaps(by_hand, theirs)) < 2e-5


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"loss": MSL(), "symmetries": load("triangle")}, "symmetry losses have no gradients by hand"),
        ({"use_sde": True}, "state-dependent exploration"),
        ({"policy_kwargs": {"activation_fn": nn.ELU}}, "followed by ELU, not by ReLU or Tanh"),
        (
            {"policy_kwargs": {"optimizer_class": torch.optim.SGD, "optimizer_kwargs": None}},
            "the optimiser is SGD",
        ),
        ({"policy_kwargs": {"features_extractor_class": OwnFeatures}}, "a feature extractor of its own"),
    ],
)
def test_what_cannot_be_done_by_hand(kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"fast=True: .*{reason}.*; use fast=None"):
        trained(SymmetricSAC, fast=True, **kwargs)


def test_a_loss_that_is_not_finite_is_refused() -> None:
    model = trained(SymmetricSAC, fast=True)
    assert model.replay_buffer is not None
    model.replay_buffer.rewards[:] = float("nan")
    before = [parameter.clone() for parameter in model.critic.parameters()]
    with pytest.raises(NonFiniteLoss, match="critics' loss is not finite"):
        model.train(1, 32)
    assert all(map(torch.equal, before, model.critic.parameters()))


def test_an_actors_loss_that_is_not_finite_is_refused() -> None:
    model = trained(SymmetricSAC, fast=True)
    assert model.log_ent_coef is not None
    with torch.no_grad():
        model.log_ent_coef.fill_(float("inf"))
    model.replay_buffer.dones[:] = 1  # type: ignore[union-attr]
    before = [parameter.clone() for parameter in model.actor.parameters()]
    with pytest.raises(NonFiniteLoss):
        model.train(1, 32)
    assert all(map(torch.equal, before, model.actor.parameters()))


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_what_was_saved_goes_on_to_the_bit(policy: str, tmp_path: Path) -> None:
    model = trained(SymmetricSAC, policy, fast=True, symmetries=load("triangle"))
    model.save(tmp_path / "model")
    loaded = SymmetricSAC.load(tmp_path / "model", model.get_env())
    assert loaded.fast is True
    loaded.replay_buffer = model.replay_buffer
    for one in (model, loaded):
        one.set_logger(Logger(None, []))
        set_random_seed(1)
        one.train(3, 32)
        one.train(2, 32)
    assert max(gaps(model, loaded)) == 0.0


class Numbers(gymnasium.Env[Any, Any]):
    """Observations of two axes and any type of number."""

    def __init__(self, dtype: type) -> None:
        self.observation_space = gymnasium.spaces.Box(-9, 9, (3, 2), dtype)  # type: ignore[arg-type]
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._observe(), float(action.sum()), False, bool(self.np_random.random() < 0.1), {}

    def _observe(self) -> Any:
        numbers = self.np_random.integers(-9, 9, size=(3, 2), endpoint=True)
        return numbers.astype(self.observation_space.dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("normalized", [False, True])
def test_observations_of_other_types(dtype: type, normalized: bool) -> None:
    def after(kind: type[SAC], **kwargs: Any) -> SAC:
        env: Any = DummyVecEnv([lambda: Numbers(dtype)])
        env = VecNormalize(env) if normalized else env
        own = {"net_arch": [12], "optimizer_kwargs": LEVEL}
        return kind("MlpPolicy", env, seed=0, learning_starts=20, policy_kwargs=own, **kwargs).learn(40)

    assert max(gaps(after(SAC), after(SymmetricSAC, fast=True))) < 2e-5


def test_an_optimiser_of_some_parameters_is_left_to_autograd() -> None:
    model = trained(SymmetricSAC, fast=True)
    heads = [*model.actor.mu.parameters(), *model.actor.log_std.parameters()]  # type: ignore[operator, union-attr]
    model.actor.optimizer = torch.optim.Adam(heads)
    before = [parameter.clone() for parameter in model.actor.parameters()]
    model.train(2, 32)
    moved = [not torch.equal(*pair) for pair in zip(before, model.actor.parameters(), strict=True)]
    assert moved == [False] * 4 + [True] * 4
