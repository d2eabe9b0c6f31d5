"""The fast update against the generic one, and without symmetries against Stable-Baselines3 itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from ambidex.learn import ASL, MSL, PSL, NonFiniteLoss, PairwiseFit, SymmetricPPO
from ambidex.learn.update import autograd as generic
from ambidex.learn.update.fast import mlp as fast_mlp
from ambidex.learn.update.fast import update as fast
from ambidex.symmetry import SymmetryGroup

MIXED = {
    "xz": MSL(policy_weight=0.7),
    "yz": PSL(policy_weight=0.3),
    "y=x": ASL(policy_weight=0.3, dead_zone=0.9, value_gate=1.05),
    "y=-x": ASL(policy_weight=0.2, dead_zone=0.0, value_gate=None, max_shift=0.8),
    "r90": MSL(policy_weight=0.6, original=True),
    "r180": PSL(policy_weight=0.2, value_weight=0.1),
}
LOSSES: dict[str, Any] = {
    "MSL": MSL(policy_weight=0.5),
    "MSL original": MSL(policy_weight=0.5, original=True),
    "PSL": PSL(policy_weight=0.4),
    "ASL": ASL(policy_weight=0.4, dead_zone=0.8, value_gate=1.05),
    "ASL without fit": ASL(policy_weight=0.4, dead_zone=0.0, value_gate=None, fit=None),
    "mixed": MIXED,
    "none": None,
}
SMALL = {"net_arch": {"pi": [24, 16], "vf": [20]}, "activation_fn": nn.ReLU, "log_std_init": -0.4}
Ready = Callable[..., SymmetricPPO]


@pytest.fixture
def ready(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> Ready:
    """A model with a finished roll-out of 8 x 32 states: 16 epochs of 4 minibatches are 64 updates."""

    def make(loss: Any = None, envs: int = 2, double: bool = False, **kwargs: Any) -> SymmetricPPO:
        given: dict[str, Any] = {
            "n_steps": 256 // envs,
            "batch_size": 64,
            "n_epochs": 16,
            "learning_rate": 3e-3,
            "policy_kwargs": SMALL,
            **kwargs,
        }
        model = SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([lambda: make_world(28, 8)] * envs),
            symmetries=ant if loss is not None else None,
            loss=loss,
            seed=3,
            device="cpu",
            fast=True,
            **given,
        )
        if double:
            model.policy.double()
        _, callback = model._setup_learn(10_000)
        assert model.env is not None
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        return model

    return make


def update(model: SymmetricPPO, how: Callable[..., Any]) -> Any:
    """One iteration's update; both kinds start from the same numbers of the global generator."""
    assert model._preparation is not None
    clip_range_vf = None if model.clip_range_vf is None else model.clip_range_vf(1.0)  # type: ignore[operator]
    iteration = model._preparation.prepare(model.policy, model.rollout_buffer, 0.2, clip_range_vf)
    np.random.seed(11)  # noqa: NPY002, Stable-Baselines3 draws from the global generator
    return how(model, iteration)


def furthest(one: nn.Module, other: nn.Module) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def assert_same_update(model: SymmetricPPO, tolerance: float) -> None:
    reference = copy.deepcopy(model)
    before = copy.deepcopy(model.policy)
    quick, slow = update(model, fast.update), update(reference, generic.update)
    assert furthest(model.policy, before) > 1e-3
    assert furthest(model.policy, reference.policy) < tolerance
    assert quick.epochs == slow.epochs and quick.stopped_early == slow.stopped_early
    for name in vars(slow):
        np.testing.assert_allclose(
            getattr(quick, name), getattr(slow, name), rtol=100 * tolerance, atol=1e-7, err_msg=name
        )


def assert_same_optimizer(model: PPO, reference: PPO, tolerance: float) -> None:
    quick, slow = (one.policy.optimizer.state_dict() for one in (model, reference))
    assert quick["param_groups"] == slow["param_groups"]
    assert quick["state"].keys() == slow["state"].keys()
    for index, expected in slow["state"].items():
        assert quick["state"][index].keys() == expected.keys()
        for name, tensor in expected.items():
            found = quick["state"][index][name]
            assert found.shape == tensor.shape and found.dtype == tensor.dtype
            torch.testing.assert_close(found, tensor, rtol=1e3 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("loss", LOSSES)
def test_double_update_equals_the_generic_one(ready: Ready, loss: str) -> None:
    assert_same_update(ready(LOSSES[loss], double=True), 1e-12)


@pytest.mark.parametrize("loss", ["ASL", "PSL", "MSL", "mixed"])
def test_single_update_equals_the_generic_one(ready: Ready, loss: str) -> None:
    assert_same_update(ready(LOSSES[loss], learning_rate=3e-4), 1e-6)


@pytest.mark.parametrize(
    ("activation", "hidden"),
    [(nn.Tanh, [12]), (nn.Tanh, [12, 9]), (nn.ReLU, [12]), (nn.ReLU, [12, 9, 7]), (nn.Tanh, [12, 9, 7])],
)
def test_any_depth_and_activation(ready: Ready, activation: type[nn.Module], hidden: list[int]) -> None:
    networks = {"net_arch": hidden, "activation_fn": activation}
    assert_same_update(ready(MIXED, double=True, n_epochs=4, policy_kwargs=networks), 1e-12)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"envs": 1},
        {"envs": 4},
        {"batch_size": 60, "envs": 4},
        {"batch_size": 51, "n_steps": 256, "envs": 1},  # the last minibatch is a single state
        {"ent_coef": 0.02, "vf_coef": 0.9},
        {"normalize_advantage": False},
        {"clip_range_vf": 0.05},
        {"max_grad_norm": 0.05},
        {"target_kl": 0.01},
        {"policy_kwargs": {"net_arch": {"pi": [], "vf": [8]}}},
        {"policy_kwargs": {**SMALL, "optimizer_kwargs": {"weight_decay": 0.01, "betas": (0.8, 0.99)}}},
    ],
)
@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
def test_options_of_ppo(ready: Ready, kwargs: dict[str, Any]) -> None:
    assert_same_update(ready(MIXED, double=True, **{"n_epochs": 4, **kwargs}), 1e-12)


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("loss", ["ASL", "mixed"])
def test_sampled_images(ready: Ready, loss: str, samples: int) -> None:
    assert_same_update(ready(LOSSES[loss], double=True, n_epochs=4, symmetry_samples=samples), 1e-12)


@pytest.mark.parametrize("share", [0.0, 2.0], ids=["never", "always"])
@pytest.mark.parametrize("loss", ["ASL", "PSL", "mixed", "shut"])
def test_leaving_rows_out_changes_nothing(
    ready: Ready, monkeypatch: pytest.MonkeyPatch, loss: str, share: float
) -> None:
    """Whether or not rows without a gradient are left out; all images of "shut" are."""
    chosen = []

    def worth_choosing(flags: torch.Tensor) -> torch.Tensor | None:
        rows = flags.nonzero().flatten() if share else None
        chosen.append(len(flags) if rows is None else len(rows))
        return rows

    monkeypatch.setattr(fast, "worth_choosing", worth_choosing)
    losses = LOSSES | {"shut": ASL(dead_zone=1e3)}
    assert_same_update(ready(losses[loss], double=True, n_epochs=4), 1e-12)
    rows = 64 * (1 + (6 if loss == "mixed" else 7))
    if loss == "shut" and share:
        assert set(chosen) == {64}
    else:
        assert (min(chosen) < 0.9 * rows) == bool(share)


def test_target_kl_stops_both_at_the_same_minibatch(ready: Ready) -> None:
    """At a learning rate so low that a limit 7 percent off stops at another one."""
    model = ready(MIXED, double=True, target_kl=5e-3, learning_rate=3e-4)
    before = copy.deepcopy(model.policy)
    reference = copy.deepcopy(model)
    quick, slow = update(model, fast.update), update(reference, generic.update)
    assert quick.stopped_early and slow.stopped_early
    assert quick.epochs == slow.epochs < 16
    steps = [one.policy.optimizer.state_dict()["state"][0]["step"] for one in (model, reference)]
    assert steps[0] == steps[1] > 0
    assert steps[0] % 4 != 0  # within an epoch, so that the minibatch is told from its epoch
    assert furthest(model.policy, reference.policy) < 1e-12 < furthest(model.policy, before)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"clip_range_vf": 0.1, "ent_coef": 0.01},
        {"batch_size": 60},
        {"normalize_advantage": False, "target_kl": 0.02},
        {"learning_rate": lambda left: 3e-4 * (0.5 + left), "clip_range": lambda left: 0.2 * (0.5 + left)},
    ],
)
@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
def test_without_symmetries_the_oracle_is_stable_baselines(
    make_world: Callable[[int, int], Any], kwargs: dict[str, Any]
) -> None:
    trained, logs = [], []
    for algorithm, own in ((SymmetricPPO, {"fast": True}), (PPO, {})):
        env = DummyVecEnv([lambda: make_world(28, 8)] * 2)
        given = {"learning_rate": 3e-4, **kwargs, **own}
        model = algorithm("MlpPolicy", env, n_steps=128, n_epochs=4, seed=5, device="cpu",
                          policy_kwargs=SMALL, **given)  # fmt: skip
        model.learn(2 * 256)
        trained.append(model)
        logs.append({k: v for k, v in model.logger.name_to_value.items() if k.startswith("train/")})
    quick, plain = trained
    assert furthest(quick.policy, plain.policy) < 2e-6
    assert_same_optimizer(quick, plain, 1e-6)
    assert logs[0].keys() == logs[1].keys() and "train/approx_kl" in logs[0]
    assert logs[0] == pytest.approx(logs[1], rel=1e-3, abs=1e-5)


def test_the_optimizer_moves_between_both_updates_and_through_a_file(ready: Ready, tmp_path: Any) -> None:
    model = ready(LOSSES["ASL"], double=True, n_epochs=4)
    reference = copy.deepcopy(model)
    for how in (fast.update, generic.update, fast.update):
        update(model, how)
        update(reference, generic.update)
    assert furthest(model.policy, reference.policy) < 1e-12
    assert_same_optimizer(model, reference, 1e-12)
    model.policy.float()
    model.save(tmp_path / "model.zip")
    loaded = SymmetricPPO.load(tmp_path / "model.zip", env=model.env, device="cpu")
    assert furthest(loaded.policy, model.policy) == 0
    step = loaded.policy.optimizer.state_dict()["state"][0]["step"]
    assert step == model.policy.optimizer.state_dict()["state"][0]["step"] == 3 * 4 * 4


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda given: given.observations[7, 3].fill_(np.inf), "transform 'y=x' .*policy"),
        (
            lambda iteration: iteration.losses[ASL].symmetric_means[:, 6].fill_(np.nan),
            "transform 'r270' .*policy",
        ),
        (lambda given: given.returns[5].fill_(np.nan), "own value loss"),
    ],
)
def test_a_loss_that_is_not_finite_is_named_before_the_step(
    ready: Ready, spoil: Callable[[Any], Any], message: str
) -> None:
    model = ready(ASL(fit=None, value_gate=None, dead_zone=0.0), n_epochs=1)
    assert model._preparation is not None
    iteration = model._preparation.prepare(model.policy, model.rollout_buffer, 0.2, None)
    spoil(iteration)
    with pytest.raises(NonFiniteLoss, match=message):
        fast.update(model, iteration)
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.policy.parameters())


@pytest.mark.parametrize("share", [0.0, 2.0], ids=["never", "always"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda iteration: iteration.observations[7, 3].fill_(np.nan),
            "transform 'y=x' .*(policy|value) term",
        ),
        (lambda given: given.losses[ASL].lower[9, 6].fill_(np.nan), "transform 'r270' .*policy term"),
    ],
    ids=["V of an image", "target of an image"],
)
def test_what_is_not_finite_behind_a_closed_gate_is_named_too(
    ready: Ready, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Any], Any], message: str, share: float
) -> None:
    """V(f(s)) that is NaN shuts its own gate; the image is refused all the same, left out or not."""
    monkeypatch.setattr(fast_mlp, "WORTH_IT", share)
    model = ready(ASL(fit=None, value_gate=1.5, dead_zone=0.0), n_epochs=1)
    assert model._preparation is not None
    iteration = model._preparation.prepare(model.policy, model.rollout_buffer, 0.2, None)
    assert iteration.gates is not None
    iteration.gates.dead_zone[:, 6] = 0
    spoil(iteration)
    for how in (fast.update, generic.update):
        with pytest.raises(NonFiniteLoss, match=message):
            how(model, iteration)
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.policy.parameters())


def test_a_loss_of_plain_ppo_that_is_not_finite_is_named_too(ready: Ready) -> None:
    model = ready(n_epochs=1)
    model.rollout_buffer.advantages[3] = np.nan
    before = copy.deepcopy(model.policy)
    with pytest.raises(NonFiniteLoss, match="own policy loss"):
        update(model, fast.update)
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.policy.parameters())
    assert furthest(model.policy, before) < 0.1


def test_a_gradient_that_overflows_is_refused(ready: Ready) -> None:
    model = ready(n_epochs=1, vf_coef=1e30)
    before = copy.deepcopy(model.policy)
    with pytest.raises(NonFiniteLoss, match="gradient"):
        update(model, fast.update)
    assert furthest(model.policy, before) == 0


def test_what_the_fast_path_cannot_do_is_said_in_words(ready: Ready) -> None:
    assert fast.supports(ready()) is None
    for change, words in {
        "optimizer_class": (torch.optim.SGD, "SGD"),
        "optimizer_kwargs": ({"amsgrad": True}, "amsgrad"),
        "activation_fn": (nn.ELU, "ELU"),
    }.items():
        value, word = words
        with pytest.raises(ValueError, match=word):
            ready(policy_kwargs={change: value})


def test_a_fit_and_its_gates_are_those_of_the_generic_update(ready: Ready) -> None:
    """Over several iterations the fitted maps follow the same policy."""
    loss = ASL(policy_weight=0.4, dead_zone=0.5, fit=PairwiseFit(form="mx+b"))
    model = ready(loss, double=True, n_epochs=3)
    reference = copy.deepcopy(model)
    for _ in range(3):
        update(model, fast.update)
        update(reference, generic.update)
    for name, fitted in model.action_maps().items():
        expected = reference.action_maps()[name]
        np.testing.assert_allclose(fitted.multipliers, expected.multipliers, rtol=0, atol=1e-9)
        np.testing.assert_allclose(fitted.biases, expected.biases, rtol=0, atol=1e-9)
