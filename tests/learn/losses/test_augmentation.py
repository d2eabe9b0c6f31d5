"""Augmentation against hand-computed numbers, an obvious loop, and its fast update against autograd."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor, nn
from torch.distributions import Normal

from ambidex.learn import ASL, MSL, PSL, Augmentation, SymmetricPPO
from ambidex.learn.losses.augmentation import AugmentationConstants
from ambidex.learn.losses.constants import Batch, Outputs
from ambidex.learn.update import autograd as generic
from ambidex.learn.update.fast import update as fast
from ambidex.learn.update.iteration import Iteration
from ambidex.learn.update.minibatch import Minibatch
from ambidex.symmetry import Symmetry, SymmetryGroup

CLIP_RANGE = 0.2
Ready = Callable[..., SymmetricPPO]
MIRROR = Symmetry("m", obs_indices=[0], obs_multipliers=[-1], act_indices=[0], act_multipliers=[-1])
MIXED = {
    "xz": Augmentation(0.7, 0.3),
    "yz": Augmentation(0.4, 0.2, denominator="image"),
    "r90": Augmentation(0.6, 0.3, denominator="image", actuator_weights={"hip": 0.3}),
    "r180": Augmentation(0.5, 0.1, actuator_weights={"*": 0.0, "knee": 1.0}),
    "r270": PSL(0.3, 0.2, actuator_weights={"knee": 0.5}),
    "y=x": MSL(0.8, 0.1, actuator_weights={"hip": 0.0}),
    "y=-x": MSL(0.8, 0.1, original=True, actuator_weights={"knee": 0.2}),
}
LOSSES: dict[str, Any] = {
    "sample": Augmentation(),
    "image": Augmentation(denominator="image"),
    "knees": Augmentation(actuator_weights={"hip": 0.0}),
    "mixed": MIXED,
    "with gates": MIXED | {"xz": ASL(dead_zone=0.9, value_gate=1.05, fit=None)},
}


def one_step(denominator: Any, mean: float, advantage: float) -> float:
    """The term of one sample: a robot that moves along a line, and its mirror image.

    Before the update mu(s) = 1, mu(f(s)) = -2 and sigma = 1; a = 2, so that g(a) = -2. Hence
    log pi_old(a | s) = c - 1/2 and log pi_old(g(a) | f(s)) = c.

    :param mean: mu(f(s)) now
    """
    batch = Batch(
        transforms=(MIRROR,),
        observations=torch.zeros(1, 2, 1),
        actions=torch.tensor([[2.0]]),
        log_probs=torch.tensor([-0.5 - 0.5 * math.log(2 * math.pi)]),
        log_std=torch.zeros(1),
        clip_range=CLIP_RANGE,
        image_share=1.0,
        outputs_of=lambda observations: torch.tensor([[[1.0], [-2.0]]]),
        transitions_of=lambda means: pytest.fail("not needed"),
    )
    constants = Augmentation.constants({"m": Augmentation(denominator=denominator)}, batch)
    said = Outputs(
        means=torch.tensor([[1.0]]),
        symmetric_means=torch.tensor([[[mean]]]),
        transformed=torch.tensor([[[-1.0]]]),
        log_std=torch.zeros(1),
        advantages=torch.tensor([advantage]),
    )
    return constants.terms(said).item()


@pytest.mark.parametrize(
    ("denominator", "mean", "advantage", "expected"),
    [
        ("image", -2.0, 3.0, -3.0),  # the ratio begins at 1
        ("sample", -2.0, 3.0, -3.0 * 1.2),  # e^(1/2), beyond 1 + epsilon
        ("sample", -2.0, -3.0, 3.0 * math.exp(0.5)),  # a bad action is not protected by the clipping
        ("sample", -3.0, 3.0, -3.0),  # log pi = c - 1/2, as that of the sample
        ("image", -3.0, 3.0, -3.0 * math.exp(-0.5)),
        ("image", -3.0, -3.0, 3.0 * 0.8),
        ("sample", -4.0, 2.0, -2.0 * math.exp(-1.5)),
    ],
)
def test_the_denominators(denominator: str, mean: float, advantage: float, expected: float) -> None:
    assert one_step(denominator, mean, advantage) == pytest.approx(expected)


def test_another_denominator_is_refused() -> None:
    with pytest.raises(ValueError, match="Augmentation: denominator is 'sample' or 'image'; got 'state'"):
        Augmentation(denominator="state")  # type: ignore[arg-type]


def test_discrete_actions_are_refused(world: Any) -> None:
    mirror = Symmetry("m", obs_indices=[0], obs_multipliers=[-1], act_indices=[1, 0], act_multipliers=[1, 1])
    env = world(spaces.Box(-1, 1, (1,), np.float32), spaces.Discrete(2))
    with pytest.raises(ValueError, match="Augmentation moves the mean of a Gaussian"):
        SymmetricPPO("MlpPolicy", env, symmetries=SymmetryGroup([mirror]), loss=Augmentation(), device="cpu")


@pytest.fixture
def ready(ant: SymmetryGroup, make_world: Callable[[int, int], Any]) -> Ready:
    """A model of an ant with a finished roll-out of 2 x 64 states, in double precision."""

    def make(loss: Any, **kwargs: Any) -> SymmetricPPO:
        model = SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([lambda: make_world(28, 8)] * 2),
            symmetries=ant,
            loss=loss,
            seed=3,
            device="cpu",
            fast=True,
            n_steps=64,
            batch_size=32,
            n_epochs=8,
            learning_rate=3e-3,
            policy_kwargs={"net_arch": [12], "log_std_init": -0.4, "ortho_init": False},
            **kwargs,
        )
        model.policy.double()
        _, callback = model._setup_learn(10_000)
        assert model.env is not None
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        return model

    return make


def prepared(model: SymmetricPPO) -> Iteration:
    assert model._preparation is not None
    return model._preparation.prepare(model.policy, model.rollout_buffer, CLIP_RANGE, None)


def moved(model: SymmetricPPO, distance: float = 0.03) -> Any:
    """Moves the policy on, so that no term is trivial; returns what it was."""
    old = copy.deepcopy(model.policy)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter += distance * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return old


def gradient(model: SymmetricPPO, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.policy.parameters())))


def elements(loss: Any) -> Tensor:
    """Of the ant's hip and knee, leg by leg."""
    weights = {"hip": 1.0, "knee": 1.0}
    for pattern, weight in (loss.actuator_weights or {}).items():
        weights |= dict.fromkeys(weights, weight) if pattern == "*" else {pattern: weight}
    return torch.tensor([weights["hip"], weights["knee"]] * 4, dtype=torch.float64)


def obvious_term(loss: Any, transform: Symmetry, policy: Any, old: Any, sample: dict[str, Tensor]) -> Tensor:
    """w_pi L_pi + w_V L_V of one sample and one image."""

    def distribution(which: Any, observation: Tensor) -> Normal:
        return Normal(which.action_net(which.mlp_extractor.forward_actor(observation)), which.log_std.exp())

    def log_prob(which: Any, observation: Tensor, action: Tensor) -> Tensor:
        return (counts * distribution(which, observation).log_prob(action)).sum()

    counts = elements(loss)
    state, action, advantage = sample["observations"], sample["actions"], sample["advantages"]
    image = transform.observation(state)
    value = policy.value_net(policy.mlp_extractor.forward_critic(image)).squeeze()
    value_term = loss.value_weight * (value - sample["returns"]) ** 2
    mean = distribution(policy, state).mean
    if isinstance(loss, MSL):
        image_mean = distribution(policy, image).mean
        difference = transform.action(mean) - image_mean
        if loss.original:
            difference = mean - transform.action(image_mean)
        return loss.policy_weight * (counts * difference**2).sum() / 8 + value_term
    with torch.no_grad():
        explored = log_prob(old, state, action)
        target = transform.action(distribution(old, state).mean if isinstance(loss, PSL) else action)
        before = log_prob(old, image, target)
    now = log_prob(policy, image, target)
    if isinstance(loss, PSL):
        ratio = torch.minimum(now.exp(), explored.exp()) / before.exp()
        return -loss.policy_weight * torch.clamp(ratio, max=1 + CLIP_RANGE) + value_term
    ratio = torch.exp(now - (explored if loss.denominator == "sample" else before))
    clipped = torch.clamp(ratio, 1 - CLIP_RANGE, 1 + CLIP_RANGE)
    return -loss.policy_weight * torch.minimum(ratio * advantage, clipped * advantage) + value_term


@pytest.mark.parametrize("name", ["sample", "image", "mixed"])
def test_loss_and_gradient_are_those_of_a_loop(ready: Ready, ant: SymmetryGroup, name: str) -> None:
    model = ready(LOSSES[name])
    iteration = prepared(model)
    old = moved(model)
    rows = torch.tensor([3, 17, 0, 8, 21, 97])
    terms = generic.minibatch_terms(model, iteration, Minibatch(rows, None))
    found = (terms.symmetry_policy + terms.symmetry_value).sum() / len(rows)
    advantages = iteration.advantages[rows]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    expected = torch.zeros((), dtype=torch.float64)
    for t, advantage in zip(rows, advantages, strict=True):
        sample = {
            "observations": iteration.observations[t, 0],  # type: ignore[index]
            "actions": iteration.actions[t],
            "returns": iteration.returns[t],
            "advantages": advantage,
        }
        for transform in ant:
            loss = LOSSES[name] if name != "mixed" else MIXED[transform.name]
            expected = expected + obvious_term(loss, transform, model.policy, old, sample) / len(rows)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)  # the buffer's log pi_old is single
    policy_terms = terms.symmetry_policy.detach()
    assert len(policy_terms.unique()) > 20
    for one, other in zip(gradient(model, found), gradient(model, expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_by_default_every_image_weighs_as_much_as_its_sample(ready: Ready, ant: SymmetryGroup) -> None:
    """1 + N times PPO's loss over samples and images in one batch, as where a batch is augmented."""
    model = ready(Augmentation())
    iteration = prepared(model)
    moved(model)
    rows = torch.arange(40)
    found = generic.minibatch_terms(model, iteration, Minibatch(rows, None)).total(0.0, model.vf_coef)
    policy = model.policy
    observations = iteration.observations[rows].flatten(0, 1)  # type: ignore[index]
    actions = torch.stack(
        [iteration.actions[rows], *(transform.action(iteration.actions[rows]) for transform in ant)], dim=1
    ).flatten(0, 1)
    advantages = iteration.advantages[rows]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    advantages, old, returns = (
        entries.repeat_interleave(8)
        for entries in (advantages, iteration.old_log_probs[rows], iteration.returns[rows])
    )
    means = policy.action_net(policy.mlp_extractor.forward_actor(observations))
    log_probs = Normal(means, policy.log_std.exp()).log_prob(actions).sum(dim=1)
    values = policy.value_net(policy.mlp_extractor.forward_critic(observations))
    ratio = torch.exp(log_probs - old)
    clipped = torch.clamp(ratio, 1 - CLIP_RANGE, 1 + CLIP_RANGE)
    surrogate = torch.minimum(ratio * advantages, clipped * advantages).mean()
    expected = -surrogate + model.vf_coef * (values.flatten() - returns).square().mean()
    assert found.item() == pytest.approx(8 * expected.item(), rel=1e-9)
    for one, other in zip(gradient(model, found), gradient(model, expected), strict=True):
        np.testing.assert_allclose(one, 8 * other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("samples", [None, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_the_fast_update_is_that_of_autograd(ready: Ready, name: str, samples: int | None) -> None:
    model = ready(LOSSES[name], symmetry_samples=samples)
    reference, before = copy.deepcopy(model), copy.deepcopy(model.policy)
    statistics = []
    for one, how in ((model, fast.update), (reference, generic.update)):
        iteration = prepared(one)
        np.random.seed(11)  # noqa: NPY002, Stable-Baselines3 draws from the global generator
        statistics.append(how(one, iteration))
    assert furthest(model.policy, before) > 1e-2
    assert furthest(model.policy, reference.policy) < 1e-11
    for entry in vars(statistics[0]):
        np.testing.assert_allclose(getattr(statistics[0], entry), getattr(statistics[1], entry), rtol=1e-6)


def furthest(one: nn.Module, other: nn.Module) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def test_the_expected_gradient_of_drawn_images_is_that_of_all(ready: Ready) -> None:
    exact, sampled = (
        ready(Augmentation(denominator="image", actuator_weights={"hip": 0.3}), symmetry_samples=samples)
        for samples in (None, 2)
    )
    iterations = [prepared(model) for model in (exact, sampled)]
    for model in (exact, sampled):
        moved(model)
    rows = torch.tensor([4, 9, 30])
    draws = list(combinations(range(7), 2))
    average = [torch.zeros_like(parameter) for parameter in sampled.policy.parameters()]
    for draw in draws:
        minibatch = Minibatch(rows, torch.tensor([draw] * 3))
        total = generic.minibatch_terms(sampled, iterations[1], minibatch).total(0.0, 0.5)
        for mean, entries in zip(average, gradient(sampled, total), strict=True):
            mean += entries / len(draws)
    total = generic.minibatch_terms(exact, iterations[0], Minibatch(rows, None)).total(0.0, 0.5)
    for one, other in zip(average, gradient(exact, total), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11)


def test_a_ratio_that_overflows_under_another_loss_does_no_harm(ready: Ready) -> None:
    """The image of r90 has MSL, so that the ratio it would have as an augmented sample does not count."""
    model = ready({"xz": Augmentation(), "r90": MSL()})
    iteration = prepared(model)
    constants = iteration.losses[Augmentation]
    assert isinstance(constants, AugmentationConstants)
    with torch.no_grad():
        model.policy.log_std.fill_(-200.0)  # pi(g(a) | f(s)) may be anything
        terms = constants.terms(
            Outputs(
                means=constants.targets[:, 0],
                symmetric_means=constants.targets,
                transformed=constants.targets,
                log_std=model.policy.log_std,
                advantages=-torch.ones(len(constants.targets), dtype=torch.float64),
            )
        )
    assert torch.isinf(terms[:, 0]).all()
    assert (terms[:, 1] == 0).all()


def test_it_trains_with_matrices_and_is_saved(
    triangle: SymmetryGroup, triangle_world: Callable[[], Any], tmp_path: Any
) -> None:
    loss = Augmentation(actuator_weights={"*.shoulder": 0.5})
    env = DummyVecEnv([triangle_world])
    model = SymmetricPPO("MlpPolicy", env, symmetries=triangle, loss=loss, n_steps=64, device="cpu", seed=0)
    model.learn(128)
    model.save(tmp_path / "model.zip")
    loaded = SymmetricPPO.load(tmp_path / "model.zip", env=env, device="cpu")
    assert loaded.loss == loss
    loaded.learn(64)
    assert loaded.logger.name_to_value["symmetry/policy_loss"] != 0
