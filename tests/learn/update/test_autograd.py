"""The stacked loss against an obvious loop: sample by sample, transform by transform, torch.distributions."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor
from torch.distributions import Normal

from ambidex.learn import ASL, MSL, PSL, NonFiniteLoss, PairwiseFit, SymmetricPPO
from ambidex.learn.update import autograd as generic
from ambidex.learn.update.iteration import Iteration
from ambidex.learn.update.minibatch import Minibatch, draw_epoch, minibatches
from ambidex.learn.update.symmetry_terms import symmetry_terms
from ambidex.symmetry import SymmetryGroup

CLIP_RANGE = 0.3
K_D, K_V, K_S = {"a": 1.2, "b": 0.9, "c": 0.0, "d": 0.0, "e": 0.0}, 1.2, 0.5
Build = Callable[..., "Case"]


class Case:
    """A model with a finished roll-out, iteration, whose policy has moved on since: no term is trivial."""

    def __init__(self, model: SymmetricPPO) -> None:
        self.model = model
        self.policy = model.policy.double()
        self._generator = torch.Generator().manual_seed(5)
        self.prepare()
        self._move(0.02)  # so that the fit sees targets that differ
        self.iteration = self.prepare()
        self.old = copy.deepcopy(model.policy)
        self._move(0.08)

    def prepare(self) -> Iteration:
        assert self.model._preparation is not None
        return self.model._preparation.prepare(self.policy, self.model.rollout_buffer, CLIP_RANGE, None)

    def _move(self, distance: float) -> None:
        with torch.no_grad():
            for parameter in self.policy.parameters():
                noise = torch.randn(parameter.shape, generator=self._generator, dtype=torch.float64)
                parameter += distance * noise

    def terms(self, minibatch: Minibatch) -> generic.Terms:
        return generic.minibatch_terms(self.model, self.iteration, minibatch)

    def gradient(self, loss: Tensor) -> dict[str, Tensor]:
        named = dict(self.model.policy.named_parameters())
        gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        return {
            name: torch.zeros_like(parameter) if gradient is None else gradient
            for (name, parameter), gradient in zip(named.items(), gradients, strict=True)
        }


@pytest.fixture
def build(triangle: SymmetryGroup, triangle_world: Callable[[], Any]) -> Build:
    def make(loss: Any, **kwargs: Any) -> Case:
        model = SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([triangle_world, triangle_world]),
            symmetries=triangle,
            loss=loss,
            n_steps=12,
            batch_size=8,
            seed=3,
            fast=False,
            policy_kwargs={"net_arch": [7], "log_std_init": -0.3, "ortho_init": False},
            device="cpu",
            **kwargs,
        )
        _, callback = model._setup_learn(24)
        model.collect_rollouts(model.env, callback, model.rollout_buffer, 12)
        return Case(model)

    return make


def flat_buffer(model: SymmetricPPO) -> dict[str, Tensor]:
    names = ("observations", "actions", "log_probs", "values", "advantages", "returns")
    return {
        name: torch.as_tensor(
            np.concatenate([getattr(model.rollout_buffer, name)[:, env] for env in range(2)])
        ).double()
        for name in names
    }


def distribution(policy: Any, observation: Tensor, log_std: Tensor) -> Normal:
    return Normal(policy.action_net(policy.mlp_extractor.forward_actor(observation)), log_std.exp())


def value(policy: Any, observation: Tensor) -> Tensor:
    return policy.value_net(policy.mlp_extractor.forward_critic(observation)).squeeze()


def obvious_symmetry_loss(case: Case, transform: Any, t: int) -> Tensor:
    """w_pi L_pi + w_V L_V of one sample and one transform."""
    model, policy, old = case.model, case.model.policy, case.old
    data = flat_buffer(model)
    loss = model.loss[transform.name] if isinstance(model.loss, dict) else model.loss
    s = data["observations"][t]
    image = transform.observation(s)
    target = data["returns"][t]
    value_term = (value(policy, image) - target) ** 2
    with torch.no_grad():
        explored = distribution(old, s, old.log_std).mean
        old_image = distribution(old, image, old.log_std)
    new_image = distribution(policy, image, policy.log_std)

    if isinstance(loss, MSL):
        mean = distribution(policy, s, policy.log_std).mean
        if loss.original:
            difference = mean - transform.action(new_image.mean)
        else:
            difference = transform.action(mean) - new_image.mean
        return loss.policy_weight * (difference**2).mean() + loss.value_weight * value_term
    if isinstance(loss, PSL):
        wanted = transform.action(explored)
        new = new_image.log_prob(wanted).sum().exp()
        before = old_image.log_prob(wanted).sum().exp()
        ratio = torch.minimum(new, data["log_probs"][t].exp()) / before
        policy_term = -torch.minimum(ratio, torch.tensor(1 + CLIP_RANGE, dtype=torch.float64))
        return loss.policy_weight * policy_term + loss.value_weight * value_term
    assert isinstance(loss, ASL)
    estimator = model.action_maps()[transform.name]
    sigma = policy.log_std.detach().exp()
    with torch.no_grad():
        last = distribution(policy, s, policy.log_std).mean.numpy()
        xi = (1 + CLIP_RANGE) ** (1 / 3) - 1
        shift = K_S * old.log_std.exp() * math.sqrt(-2 * math.log(1 / (1 + xi)))
        wanted = torch.as_tensor(estimator(last))
        wanted = torch.minimum(torch.maximum(wanted, old_image.mean - shift), old_image.mean + shift)
        observations = data["observations"]
        mad = (observations - observations.mean(dim=0)).abs().mean(dim=0)
        far = ((s - image).abs() / mad).mean() > K_D[transform.name]
        here, there = value(policy, s), value(policy, image)
        valuable = (K_V * here if here >= 0 else here / K_V) > there
    exponent = (wanted - old_image.mean) ** 2 - (wanted - new_image.mean) ** 2
    ratio = torch.exp((exponent * torch.as_tensor(estimator.weights) / (2 * sigma**2)).sum())
    gate = float(far and valuable)
    return gate * (-loss.policy_weight * ratio + loss.value_weight * value_term)


def obvious_loss(case: Case, rows: list[int]) -> Tensor:
    model, policy = case.model, case.model.policy
    data = flat_buffer(model)
    advantages = data["advantages"][rows]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    total = torch.zeros((), dtype=torch.float64)
    for t, advantage in zip(rows, advantages, strict=True):
        s = data["observations"][t]
        ratio = torch.exp(
            distribution(policy, s, policy.log_std).log_prob(data["actions"][t]).sum() - data["log_probs"][t]
        )
        clipped = torch.clamp(ratio, 1 - CLIP_RANGE, 1 + CLIP_RANGE)
        total = total - torch.minimum(ratio * advantage, clipped * advantage)
        total = total + model.vf_coef * (value(policy, s) - data["returns"][t]) ** 2
        total = total - model.ent_coef * distribution(policy, s, policy.log_std).entropy().sum()
        for transform in model.symmetries:
            if model.loss is not None and (not isinstance(model.loss, dict) or transform.name in model.loss):
                total = total + obvious_symmetry_loss(case, transform, t)
    return total / len(rows)


ADAPTIVE = ASL(
    0.7, 0.4, max_shift=K_S, dead_zone=K_D, value_gate=K_V, fit=PairwiseFit(update_weight=lambda _: 0.3)
)
CASES = {
    "MSL": MSL(1.3, 0.4),
    "MSL original": MSL(1.3, 0.4, original=True),
    "PSL": PSL(0.9, 0.4),
    "ASL": ADAPTIVE,
    "ASL without fit": ASL(0.7, 0.4, max_shift=K_S, dead_zone=K_D, value_gate=K_V, fit=None),
    "mixed": {"a": ADAPTIVE, "b": PSL(0.9, 0.4), "d": MSL(1.3, 0.2), "e": MSL(1.3, 0.2, original=True)},
}


def all_rows(case: Case) -> Minibatch:
    return Minibatch(torch.arange(case.iteration.size), None)


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient(build: Build, name: str) -> None:
    case = build(CASES[name], ent_coef=0.03)
    rows = torch.tensor([3, 17, 0, 8, 21, 11, 5])
    found = case.terms(Minibatch(rows, None)).total(case.model.ent_coef, case.model.vf_coef)
    expected = obvious_loss(case, rows.tolist())
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    expected_gradient = case.gradient(expected)
    for parameter, gradient in case.gradient(found).items():
        np.testing.assert_allclose(gradient, expected_gradient[parameter], rtol=1e-9, atol=1e-13)


def test_no_term_of_the_comparison_is_trivial(build: Build) -> None:
    case = build(ADAPTIVE)
    gates = case.iteration.gates
    assert gates is not None
    assert 0.1 < gates.dead_zone.mean() < 0.99
    assert 0.05 < case.terms(all_rows(case)).blocked.mean() < 0.95
    estimators = case.model.action_maps().values()
    assert any(np.abs(np.abs(estimator.multipliers) - 1).max() > 1e-3 for estimator in estimators)
    assert any(np.abs(estimator.biases).max() > 1e-3 for estimator in estimators)
    assert any(estimator.weights.max() < 0.999 for estimator in estimators)
    proximal = build(PSL(0.9, 0.4))
    ratios = proximal.terms(all_rows(proximal)).symmetry_policy / -0.9
    assert 0 < (ratios > 1.2999).double().mean() < 1  # some at the trust region's border, some within


class TestGradientContracts:
    def test_gated_samples_have_none(self, build: Build) -> None:
        case = build(ADAPTIVE)
        minibatch = all_rows(case)
        terms = case.terms(minibatch)
        assert case.iteration.gates is not None
        shut = (terms.blocked > 0) | (case.iteration.gates.dead_zone == 0)
        assert shut.any()
        for part in (terms.symmetry_policy, terms.symmetry_value):
            gradient = case.gradient(part[shut].sum())
            assert all(not entries.any() for entries in gradient.values())

    def test_asl_never_moves_the_standard_deviation(self, build: Build) -> None:
        case = build(ADAPTIVE)
        terms = case.terms(all_rows(case))
        gradient = case.gradient(terms.symmetry_policy.sum() + terms.symmetry_value.sum())
        assert not gradient["log_std"].any()
        assert gradient["action_net.weight"].any()

    def test_psl_does(self, build: Build) -> None:
        case = build(PSL(0.9, 0.4))
        assert case.gradient(case.terms(all_rows(case)).symmetry_policy.sum())["log_std"].any()

    @pytest.mark.parametrize("name", ["ASL", "PSL"])
    def test_only_the_image_is_moved(self, build: Build, name: str) -> None:
        """sec:unidir_update: no gradient through the target, so none with respect to the mean in s."""
        case = build(CASES[name])
        iteration, minibatch = case.iteration, all_rows(case)
        outputs = torch.randn(iteration.size, 6, 3, dtype=torch.float64, requires_grad=True)
        values = torch.randn(iteration.size, 6, dtype=torch.float64, requires_grad=True)
        log_std = case.model.policy.log_std
        policy_terms, value_terms, _ = symmetry_terms(
            iteration, minibatch, outputs, values, log_std, torch.zeros(0)
        )
        (policy_terms.sum() + value_terms.sum()).backward()
        assert outputs.grad is not None
        assert values.grad is not None
        assert not outputs.grad[:, 0].any()
        assert not values.grad[:, 0].any()
        assert outputs.grad[:, 1:].any()
        assert values.grad[:, 1:].any()

    def test_policy_and_value_terms_keep_apart(self, build: Build) -> None:
        case = build(ADAPTIVE)
        terms = case.terms(all_rows(case))
        policy_gradient = case.gradient(terms.symmetry_policy.sum())
        value_gradient = case.gradient(terms.symmetry_value.sum())
        for name in policy_gradient:
            assert not (policy_gradient[name].any() and value_gradient[name].any())


class EquivariantActor(torch.nn.Module):
    """The mean over the whole group of ``g^-1(net(f(s)))``, the identity included."""

    def __init__(self, net: torch.nn.Module, group: SymmetryGroup) -> None:
        super().__init__()
        self.net, self.group = net, group

    def forward(self, observation: Tensor) -> Tensor:
        images = [self.net(observation)]
        images += [
            transform.inverse().action(self.net(transform.observation(observation)))
            for transform in self.group
        ]
        return torch.stack(images).mean(dim=0)


@pytest.mark.parametrize("name", ["MSL", "MSL original", "PSL", "ASL without fit"])
def test_an_equivariant_actor_pays_nothing(build: Build, triangle: SymmetryGroup, name: str) -> None:
    """MSL: a loss of 0. PSL and ASL: a ratio of 1 and no gradient, where the update begins."""
    case = build(CASES[name])
    generator = torch.Generator().manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Tanh(), torch.nn.Linear(9, 3)).double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    actor = EquivariantActor(net, triangle)
    policy = case.model.policy
    policy.mlp_extractor.policy_net = actor
    policy.action_net = torch.nn.Identity()
    case.iteration = case.prepare()
    if name == "MSL original":  # right for involutions only
        case.iteration = only_involutions(case.iteration)
    terms = case.terms(all_rows(case))
    gradient = torch.autograd.grad(terms.symmetry_policy.sum(), list(net.parameters()))
    assert all(entries.abs().max() < 1e-10 for entries in gradient)
    if name.startswith("MSL"):
        assert terms.symmetry_policy.abs().max() < 1e-20
    elif name == "ASL without fit":
        ratios = terms.symmetry_policy / -0.7
        assert set(ratios.detach().numpy().round(9).flatten().tolist()) == {0.0, 1.0}


def only_involutions(iteration: Iteration) -> Iteration:
    mirror: Any = iteration.losses[MSL]
    reflections = torch.tensor([name in "abc" for name in iteration.names])
    mirror = replace(mirror, original_weights=mirror.original_weights * reflections)
    return replace(iteration, losses={MSL: mirror})


class TestSampledImages:
    @pytest.mark.parametrize("samples", [1, 2])
    def test_the_average_over_all_draws_is_the_exact_gradient(self, build: Build, samples: int) -> None:
        """Uniform draws without replacement, every one of them: C(5, k) for a state."""
        exact = build(CASES["mixed"])
        sampled = build(CASES["mixed"], symmetry_samples=samples)
        names = len(sampled.iteration.names)
        rows = torch.tensor([4, 9])
        draws = list(combinations(range(names), samples))
        average: dict[str, Tensor] = {}
        loss = 0.0
        for first in draws:
            for second in draws:
                minibatch = Minibatch(rows, torch.tensor([first, second]))
                terms = sampled.terms(minibatch)
                total = terms.total(0.0, 0.5)
                loss += total.item() / len(draws) ** 2
                for name, entries in sampled.gradient(total).items():
                    average[name] = average.get(name, 0) + entries / len(draws) ** 2
        total = exact.terms(Minibatch(rows, None)).total(0.0, 0.5)
        assert loss == pytest.approx(total.item(), rel=1e-9)
        for name, entries in exact.gradient(total).items():
            np.testing.assert_allclose(average[name], entries, rtol=1e-8, atol=1e-11)

    def test_draws_are_distinct_uniform_and_new_each_time(self, build: Build) -> None:
        case = build(CASES["MSL"], symmetry_samples=2)
        np.random.seed(0)  # noqa: NPY002
        counts = np.zeros(5)
        for _ in range(400):
            for _, minibatch in minibatches(draw_epoch(case.iteration), 24):
                assert minibatch.images is not None
                images = minibatch.images.numpy()
                assert (images[:, 0] != images[:, 1]).all()
                counts += np.bincount(images.flatten(), minlength=5)
        share = counts / counts.sum()
        np.testing.assert_allclose(share, 0.2, atol=5 * np.sqrt(0.2 * 0.8 / counts.sum()))

    def test_as_many_as_there_are_is_exact(self, build: Build) -> None:
        assert build(CASES["MSL"], symmetry_samples=5).iteration.samples is None


def test_minibatches_are_those_of_stable_baselines3(build: Build) -> None:
    case = build(CASES["MSL"])
    np.random.seed(7)  # noqa: NPY002
    ours = [case.iteration.returns[drawn.rows] for _, drawn in minibatches(draw_epoch(case.iteration), 10)]
    np.random.seed(7)  # noqa: NPY002
    theirs = [samples.returns for samples in case.model.rollout_buffer.get(10)]
    assert [len(returns) for returns in ours] == [10, 10, 4]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.float(), other, rtol=0, atol=0)


class TestNonFiniteLoss:
    def test_names_transform_and_term(self, build: Build) -> None:
        case = build(CASES["ASL"])
        case.iteration.losses[ASL].weights[2] = float("nan")
        before = copy.deepcopy(case.model.policy.state_dict())
        with pytest.raises(NonFiniteLoss, match="transform 'c' is not finite in its policy term"):
            generic.update(case.model, case.iteration)
        for name, entries in case.model.policy.state_dict().items():
            torch.testing.assert_close(entries, before[name], rtol=0, atol=0)

    def test_names_the_sampled_transform(self, build: Build) -> None:
        case = build(CASES["MSL"], symmetry_samples=1)
        case.iteration.value_weights[3] = float("inf")
        with pytest.raises(NonFiniteLoss, match="transform 'd' is not finite in its value term"):
            generic.update(case.model, case.iteration)

    def test_a_gradient_that_overflows(self, build: Build) -> None:
        case = build(CASES["MSL"])
        case.model.vf_coef = 1e200  # finite, but its square is not
        before = copy.deepcopy(case.model.policy.state_dict())
        with pytest.raises(NonFiniteLoss, match="the gradient is not finite"):
            generic.update(case.model, case.iteration)
        for name, entries in case.model.policy.state_dict().items():
            torch.testing.assert_close(entries, before[name], rtol=0, atol=0)

    def test_names_ppos_own_loss(self, build: Build) -> None:
        case = build(CASES["MSL"])
        case.iteration.returns[:] = float("nan")
        with pytest.raises(NonFiniteLoss, match="own value loss"):
            generic.update(case.model, case.iteration)
