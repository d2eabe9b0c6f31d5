"""Gradient steps by hand beside Stable-Baselines3's SAC and autograd, on the same samples and noise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import MSL, SymmetricReplayBuffer, SymmetricSAC, TransitionFit
from ambidex.learn.off_policy import sac as module
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
        {"policy_kwargs": {"n_critics": 3}, "ent_coef": 0.2, "target_update_interval": 3},
        {"gradient_steps": 5, "train_freq": 5, "n_steps": 3},
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
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_tied_layers_as_by_autograd(actuators: TransitionFit | None, activation: type[nn.Module]) -> None:
    common: dict[str, Any] = {
        "symmetries": load("triangle"),
        "actuators": actuators,
        "policy_kwargs": {"activation_fn": activation},
        "fit_interval": 50,
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


def test_what_was_saved_goes_on_by_hand(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(SymmetricSAC, fast=True).save(tmp_path / "model")
    model = SymmetricSAC.load(tmp_path / "model", TriangleVecEnv(4, scenario="triangle-rust", seed=0))
    made = []
    own = module.GradientSteps
    monkeypatch.setattr(module, "GradientSteps", lambda *args: made.append(args) or own(*args))
    model.learn(100 + 8)
    assert model.fast is True and made
