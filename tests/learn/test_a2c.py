"""`SymmetricA2C`: its parent to the bit without symmetries, an obvious loop with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from ambidex.learn import ASL, MSL, PSL, Augmentation, NonFiniteLoss, PairwiseFit, SymmetricA2C
from ambidex.learn.losses.adaptive import AdaptiveConstants
from ambidex.learn.update.forward import snapshot_means
from ambidex.learn.update.minibatch import Minibatch
from ambidex.learn.update.symmetry_terms import symmetry_policy_terms
from ambidex.symmetry import SymmetryGroup
from tests.learn import obvious

World = Callable[[], Any]
SMALL: dict[str, Any] = {"n_steps": 8, "seed": 1, "device": "cpu", "policy_kwargs": {"net_arch": [8]}}
EPSILON = 0.3
LOSSES: dict[str, Any] = {
    "MSL": MSL(0.7, 0.3),
    "PSL": PSL(0.4, 0.3),
    "Augmentation": Augmentation(0.9, 0.3),
    "ASL": ASL(0.8, 0.3, 0.6, {"a": 0.8, "b": 0.4, "c": 0.0, "d": 0.0, "e": 0.0}, 1.2, fit=None),
}
LOSSES["mixed"] = {"a": LOSSES["ASL"], "b": LOSSES["MSL"], "d": LOSSES["PSL"], "e": LOSSES["Augmentation"]}


def rolled_out(model: Any) -> Any:
    """With a finished roll-out, and parameters of which rounding says little."""
    _, callback = model._setup_learn(10**6)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    model.policy.double()
    return model


@pytest.fixture
def build(triangle: SymmetryGroup, triangle_world: World) -> Callable[..., SymmetricA2C]:
    def make(loss: Any, **kwargs: Any) -> SymmetricA2C:
        policy_kwargs = {"net_arch": [7], "log_std_init": -0.3, "ortho_init": False}
        options = SMALL | {"n_steps": 12, "policy_kwargs": policy_kwargs, "ent_coef": 0.01} | kwargs
        return rolled_out(
            SymmetricA2C(
                "MlpPolicy",
                DummyVecEnv([triangle_world] * 2),
                symmetries=triangle,
                loss=loss,
                symmetry_clip_range=EPSILON,
                fast=False,
                **options,
            )
        )

    return make


def obvious_loss(model: SymmetricA2C, old: Any) -> Tensor:
    """A2C's loss and that of the symmetries, a sample and a transform at a time."""
    policy, buffer = model.policy, model.rollout_buffer
    names = ("observations", "actions", "advantages", "returns")
    states, actions, advantages, returns = (obvious.flat(buffer, name) for name in names)
    advantages, returns = advantages.flatten(), returns.flatten()
    if model.normalize_advantage:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    total = torch.zeros((), dtype=torch.float64)
    for t, state in enumerate(states):
        said = obvious.normal(policy, state)
        total = total - advantages[t] * said.log_prob(actions[t]).sum()
        total = total + model.vf_coef * (obvious.value(policy, state) - returns[t]) ** 2
        total = total - model.ent_coef * said.entropy().sum()
        sample = {"state": state, "action": actions[t], "advantage": advantages[t]}
        for transform in model.symmetries or []:
            loss = model.loss.get(transform.name) if isinstance(model.loss, dict) else model.loss
            if loss is None:
                continue
            term = obvious.policy_term(loss, transform, policy, old, sample, EPSILON)
            error = obvious.value(policy, transform.observation(state)) - returns[t]
            gate = obvious.gate(loss, transform, policy, state, states)
            total = total + gate * (term + loss.value_weight * error**2)
    return total / len(states)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_an_update_is_that_of_a_loop(build: Callable[..., SymmetricA2C], name: str, normalize: bool) -> None:
    model = build(LOSSES[name], normalize_advantage=normalize)
    reference = copy.deepcopy(model)
    reference.policy.optimizer = torch.optim.RMSprop(
        reference.policy.parameters(), lr=7e-4, alpha=0.99, eps=1e-5
    )
    model.train()
    loss = obvious_loss(reference, copy.deepcopy(reference.policy))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(reference.policy.parameters(), 0.5)
    reference.policy.optimizer.step()
    theirs = dict(reference.policy.named_parameters())
    for own, parameter in model.policy.named_parameters():
        torch.testing.assert_close(parameter, theirs[own], rtol=1e-5, atol=1e-7, msg=own)
    if name in ("ASL", "mixed"):  # the gates are not all open, nor all shut
        ratios = {entry[1]: entry[3] for entry in model.symmetry_metrics() if "ratio" in entry[0]}
        assert any(0 < ratio < 1 for ratio in ratios.values())


def test_the_clip_range_is_that_of_asl_and_not_of_psl(build: Callable[..., SymmetricA2C]) -> None:
    """As the derivation says: PSL's gradient at the old policy does not depend on it, ASL's pull does."""

    def after(loss: Any, epsilon: float) -> Tensor:
        model = build(loss)
        model.symmetry_clip_range = epsilon
        model.train()
        return torch.nn.utils.parameters_to_vector(model.policy.parameters())

    proximal, adaptive = PSL(1.0), ASL(1.0, value_gate=None, fit=None)
    torch.testing.assert_close(after(proximal, 0.05), after(proximal, 0.5), rtol=0, atol=0)
    assert (after(adaptive, 0.05) - after(adaptive, 0.5)).abs().max() > 1e-4


def test_asls_pull_is_an_action_at_the_target_with_advantage_w(build: Callable[..., SymmetricA2C]) -> None:
    """The gradient by mu(f(s)) that the documentation states."""
    model = build(ASL(0.5, 0.0, 0.7, 0.0, None, fit=None))
    iteration = model._prepare(EPSILON)
    rows = torch.arange(iteration.size)
    constants = iteration.losses[ASL]
    assert isinstance(constants, AdaptiveConstants)
    means = constants.symmetric_means
    outputs = snapshot_means(model.policy, iteration.observations).requires_grad_()
    log_std = model.policy.log_std.detach()
    terms = symmetry_policy_terms(iteration, Minibatch(rows, None), outputs, log_std, iteration.advantages)
    (slope,) = torch.autograd.grad(terms.sum(), outputs)
    shift = 0.7 * log_std.exp() * (2 * torch.log1p(torch.tensor(EPSILON)) / 3).sqrt()
    target = iteration.transformed(outputs[:, 0].detach()).clamp(means - shift, means + shift)
    torch.testing.assert_close(slope[:, 1:], -0.5 * (target - means) / (2 * log_std).exp())
    assert ((target - means).abs() >= shift - 1e-9).any()


class TestWithoutSymmetries:
    @pytest.mark.parametrize("variant", [{}, {"use_rms_prop": False, "normalize_advantage": True}])
    def test_bit_for_bit_the_parent(
        self, triangle: SymmetryGroup, triangle_world: World, variant: dict[str, Any]
    ) -> None:
        parent = A2C("MlpPolicy", DummyVecEnv([triangle_world] * 2), **SMALL | variant).learn(160)
        for symmetries in (None, triangle):
            env = DummyVecEnv([triangle_world] * 2)
            model = SymmetricA2C("MlpPolicy", env, symmetries=symmetries, **SMALL | variant).learn(160)
            for name, entries in parent.policy.state_dict().items():
                torch.testing.assert_close(entries, model.policy.state_dict()[name], rtol=0, atol=0)

    def test_a_loss_of_weight_0_takes_our_update_which_is_theirs(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        parent = A2C("MlpPolicy", DummyVecEnv([triangle_world] * 2), ent_coef=0.01, **SMALL).learn(160)
        model = SymmetricA2C(
            "MlpPolicy",
            DummyVecEnv([triangle_world] * 2),
            symmetries=triangle,
            loss=MSL(0.0, 0.0),
            fast=False,
            ent_coef=0.01,
            **SMALL,
        ).learn(160)
        assert model._takes_own_update
        for name, entries in parent.policy.state_dict().items():
            torch.testing.assert_close(entries, model.policy.state_dict()[name], rtol=1e-5, atol=1e-6)
        assert set(parent.logger.name_to_value) <= set(model.logger.name_to_value)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_a_saved_model_continues_as_if_it_had_not_been(
    triangle: SymmetryGroup, triangle_world: World, tmp_path: Any, policy: str
) -> None:
    loss = {} if policy != "MlpPolicy" else {"loss": ASL(0.5, fit=PairwiseFit())}
    model = SymmetricA2C(policy, triangle_world(), symmetries=triangle, **loss, **SMALL).learn(80)
    model.save(tmp_path / "model.zip")
    loaded = SymmetricA2C.load(tmp_path / "model.zip", env=triangle_world(), device="cpu")
    model.set_env(DummyVecEnv([triangle_world]))
    for one in (model, loaded):
        set_random_seed(5)
        one.env.seed(5)
        one.learn(80, reset_num_timesteps=False)
    for name, entries in model.policy.state_dict().items():
        torch.testing.assert_close(entries, loaded.policy.state_dict()[name], rtol=0, atol=0)
    assert model.symmetry_metrics() == loaded.symmetry_metrics()


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), True, "0.2", None])
def test_a_clip_range_that_is_none_is_refused(triangle_world: World, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"symmetry_clip_range is a positive number"):
        SymmetricA2C("MlpPolicy", triangle_world(), symmetry_clip_range=wrong, **SMALL)


def test_nothing_that_is_no_number_reaches_the_parameters(build: Callable[..., SymmetricA2C]) -> None:
    model = build(MSL(1.0))
    model.rollout_buffer.returns[3] = float("nan")
    before = copy.deepcopy(model.policy.state_dict())
    with pytest.raises(NonFiniteLoss, match="own value loss"):
        model.train()
    for name, entries in model.policy.state_dict().items():
        torch.testing.assert_close(entries, before[name], rtol=0, atol=0)
