"""`SymmetricTRPO`: its parent to the bit without symmetries; with them a loop and an exact solver."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor
from torch.distributions import kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ambidex.learn import ASL, MSL, PSL, Augmentation, NonFiniteLoss, PairwiseFit
from ambidex.learn.update.minibatch import Minibatch
from ambidex.learn.update.symmetry_terms import GateLog
from ambidex.symmetry import SymmetryGroup
from tests.learn import obvious
from tests.learn.test_a2c import rolled_out

pytest.importorskip("sb3_contrib")

from sb3_contrib import TRPO

from ambidex.learn import SymmetricTRPO
from ambidex.learn.update import trust_region

World = Callable[[], Any]
Build = Callable[..., SymmetricTRPO]
SMALL: dict[str, Any] = {
    "n_steps": 16,
    "batch_size": 16,
    "n_critic_updates": 2,
    "seed": 1,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [8]},
}
TARGET = 0.02
LOSSES: dict[str, Any] = {
    "MSL": MSL(0.7, 0.3),
    "PSL": PSL(0.4, 0.3),
    "Augmentation": Augmentation(0.9, 0.3),
    "ASL": ASL(0.8, 0.3, 0.6, {"a": 0.8, "b": 0.4, "c": 0.0, "d": 0.0, "e": 0.0}, 1.2, fit=None),
}
LOSSES["mixed"] = {"a": LOSSES["ASL"], "b": LOSSES["MSL"], "d": LOSSES["PSL"], "e": LOSSES["Augmentation"]}


@pytest.fixture
def build(triangle: SymmetryGroup, triangle_world: World) -> Build:
    def make(loss: Any, **kwargs: Any) -> SymmetricTRPO:
        policy_kwargs = {"net_arch": [3], "log_std_init": -0.3, "ortho_init": False}
        options = {"n_steps": 12, "batch_size": 8, "target_kl": TARGET, "policy_kwargs": policy_kwargs}
        return rolled_out(
            SymmetricTRPO(
                "MlpPolicy",
                DummyVecEnv([triangle_world] * 2),
                symmetries=triangle,
                loss=loss,
                fast=False,
                **SMALL | options | kwargs,
            )
        )

    return make


def loss_of(model: SymmetricTRPO, name: str) -> Any:
    return model.loss.get(name) if isinstance(model.loss, dict) else model.loss


def states_of(model: SymmetricTRPO) -> Tensor:
    return obvious.flat(model.rollout_buffer, "observations")


def obvious_objective(model: SymmetricTRPO, old: Any, critic: Any) -> Tensor:
    """J, a sample and a transform at a time."""
    policy, buffer = model.policy, model.rollout_buffer
    states, actions = states_of(model), obvious.flat(buffer, "actions")
    advantages = obvious.flat(buffer, "advantages").flatten()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    epsilon = math.exp(3 * TARGET) - 1
    total = torch.zeros((), dtype=torch.float64)
    for t, state in enumerate(states):
        before = obvious.normal(old, state).log_prob(actions[t]).sum().detach()
        total = total + advantages[t] * torch.exp(
            obvious.normal(policy, state).log_prob(actions[t]).sum() - before
        )
        sample = {"state": state, "action": actions[t], "advantage": advantages[t]}
        for transform in model.symmetries or []:
            if (loss := loss_of(model, transform.name)) is not None:
                term = obvious.policy_term(loss, transform, policy, old, sample, epsilon)
                total = total - obvious.gate(loss, transform, critic, state, states) * term
    return total / len(states)


def divergence(model: SymmetricTRPO, old: Any) -> Tensor:
    """As sb3-contrib has it: the mean over the states and the action elements."""
    states = states_of(model)
    return kl_divergence(obvious.normal(model.policy, states), obvious.normal(old, states)).mean()


def actor_parameters(policy: Any) -> list[Any]:
    return [own for name, own in policy.named_parameters() if "value" not in name]


@pytest.mark.parametrize("name", LOSSES)
def test_objective_and_gradient_are_those_of_a_loop(build: Build, name: str) -> None:
    """Where the policy has moved on since the roll-out, so that no term is trivial."""
    model = build(LOSSES[name])
    old = copy.deepcopy(model.policy)
    iteration = model._prepare(math.expm1(3 * TARGET))
    actor = trust_region._Actor(model, iteration, GateLog(len(iteration.names), torch.device("cpu")))
    generator = torch.Generator().manual_seed(5)
    parameters = actor_parameters(model.policy)
    with torch.no_grad():
        for own in parameters:
            own += 0.08 * torch.randn(own.shape, generator=generator, dtype=torch.float64)
    found, expected = actor.evaluate().objective, obvious_objective(model, old, old)
    # The roll-out keeps log-probabilities in single precision.
    assert found.item() == pytest.approx(expected.item(), rel=1e-6, abs=1e-6)
    gradients = (torch.autograd.grad(one, parameters, allow_unused=False) for one in (found, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_the_actors_step_is_the_exact_one(build: Build, name: str) -> None:
    """The whole Hessian written out and solved, then the longest step back that serves."""
    model = build(LOSSES[name], cg_max_steps=200, n_critic_updates=1)
    reference, old = copy.deepcopy(model), copy.deepcopy(model.policy)
    model.train()
    parameters = actor_parameters(reference.policy)
    slopes = torch.autograd.grad(divergence(reference, old), parameters, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    rows = [torch.autograd.grad(entry, parameters, retain_graph=True) for entry in flat]
    hessian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    hessian += model.cg_damping * torch.eye(len(hessian))
    before = obvious_objective(reference, old, old)
    ascent = torch.cat([part.flatten() for part in torch.autograd.grad(before, parameters)])
    direction = torch.linalg.solve(hessian, ascent)
    start, step = (
        parameters_to_vector(parameters).detach(),
        direction * math.sqrt(2 * TARGET / float(direction @ hessian @ direction)),
    )
    for tries in range(10):
        vector_to_parameters(start + 0.8**tries * step, parameters)
        if divergence(reference, old) < TARGET and obvious_objective(reference, old, old) > before:
            break
    else:
        pytest.fail("no step serves")
    expected = parameters_to_vector(parameters)
    found = parameters_to_vector(actor_parameters(model.policy))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_the_critics_losses_are_those_of_a_loop(build: Build, name: str) -> None:
    model = build(LOSSES[name])
    iteration = model._prepare(0.1)
    rows = torch.tensor([3, 0, 17, 9, 22])
    own, images = trust_region.critic_losses(model.policy, iteration, Minibatch(rows, None))
    states, returns = states_of(model), obvious.flat(model.rollout_buffer, "returns").flatten()
    expected = [torch.zeros((), dtype=torch.float64) for _ in range(2)]
    for t in rows:
        expected[0] = expected[0] + (obvious.value(model.policy, states[t]) - returns[t]) ** 2 / len(rows)
        for transform in model.symmetries or []:
            if (loss := loss_of(model, transform.name)) is not None:
                error = obvious.value(model.policy, transform.observation(states[t])) - returns[t]
                gate = obvious.gate(loss, transform, model.policy, states[t], states)
                expected[1] = expected[1] + gate * loss.value_weight * error**2 / len(rows)
    critic = [own for name, own in model.policy.named_parameters() if "value" in name]
    for found, wanted in zip((own, images), expected, strict=True):
        assert found.item() == pytest.approx(wanted.item(), rel=1e-6)
        gradients = (torch.autograd.grad(one, critic, retain_graph=True) for one in (found, wanted))
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


def test_an_image_drawn_weighs_as_much_as_all_of_them_do_on_average(build: Build) -> None:
    exact, drawn = build(LOSSES["ASL"]), build(LOSSES["ASL"], symmetry_samples=1)
    log = GateLog(5, torch.device("cpu"))
    every = trust_region._Actor(exact, exact._prepare(0.1), log).evaluate().symmetry
    iteration = drawn._prepare(0.1)
    values = []
    for column in range(5):
        images = torch.full((iteration.size, 1), column)
        with pytest.MonkeyPatch.context() as patch:
            rows = torch.arange(iteration.size)
            patch.setattr(trust_region, "draw_epoch", lambda _, r=rows, i=images: Minibatch(r, i))
            values.append(trust_region._Actor(drawn, iteration, log).evaluate().symmetry.item())
    assert np.mean(values) == pytest.approx(every.item(), rel=1e-9)


@pytest.mark.parametrize("loss", [MSL(1e4), PSL(1e4), ASL(1e4, fit=None), Augmentation(1e4)])
def test_the_trust_region_holds_whatever_the_loss_weighs(build: Build, loss: Any) -> None:
    """With so little damping the longest step of the line search often leaves it."""
    model = build(loss, cg_damping=1e-2, target_kl=0.1)
    moved = 0
    for _ in range(3):
        old = copy.deepcopy(model.policy)
        model.train()
        distance = divergence(model, old).item()
        assert distance < 0.1
        moved += distance > 0
        assert model.logger.name_to_value["train/kl_divergence_loss"] == pytest.approx(distance, rel=1e-6)
    assert moved


@pytest.mark.parametrize("loss", [MSL(100.0), ASL(100.0, fit=None)])
def test_a_stiff_loss_does_not_stop_a_policy_that_is_nearly_symmetric(build: Build, loss: Any) -> None:
    """Its valley is then far narrower than the trust region: every try of sb3-contrib's overshoots."""
    nearly = {"net_arch": [3], "log_std_init": -0.3, "ortho_init": True}  # means of about 0
    model = build(loss, policy_kwargs=nearly, cg_damping=1e-2)
    for _ in range(3):
        old = copy.deepcopy(model.policy)
        model.train()
        assert model.logger.name_to_value["train/is_line_search_success"]
        assert 0 < divergence(model, old) < TARGET


def test_the_top_of_a_parabola_is_found() -> None:
    """J = 3 x - 10 x^2 has 3 - 10 at 1 and its top at 0.15; a line that does not bend has none."""
    assert trust_region._top(3.0, 3.0 - 10.0, 1.0) == pytest.approx(0.15)
    assert trust_region._top(3.0, 0.5 * 3 - 0.25 * 10, 0.5) == pytest.approx(0.15)
    assert trust_region._top(3.0, 3.0 - 1000.0, 1.0) == pytest.approx(0.1)
    assert trust_region._top(3.0, 4.0, 1.0) == 1.0


class TestWithoutSymmetries:
    def test_bit_for_bit_the_parent(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        variant = {"sub_sampling_factor": 2, "normalize_advantage": False}
        for options in (SMALL, SMALL | variant):
            parent = TRPO("MlpPolicy", DummyVecEnv([triangle_world] * 2), **options).learn(96)
            for symmetries in (None, triangle):
                env = DummyVecEnv([triangle_world] * 2)
                model = SymmetricTRPO("MlpPolicy", env, symmetries=symmetries, **options).learn(96)
                for name, entries in parent.policy.state_dict().items():
                    torch.testing.assert_close(entries, model.policy.state_dict()[name], rtol=0, atol=0)

    def test_a_loss_of_weight_0_takes_our_update_which_is_theirs(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        options = SMALL | {"sub_sampling_factor": 2}
        parent = TRPO("MlpPolicy", DummyVecEnv([triangle_world] * 2), **options).learn(96)
        model = SymmetricTRPO(
            "MlpPolicy",
            DummyVecEnv([triangle_world] * 2),
            symmetries=triangle,
            loss=MSL(0.0, 0.0),
            fast=False,
            **options,
        ).learn(96)
        assert model._takes_own_update
        for name, entries in parent.policy.state_dict().items():
            torch.testing.assert_close(entries, model.policy.state_dict()[name], rtol=1e-3, atol=1e-4)
        assert set(parent.logger.name_to_value) <= set(model.logger.name_to_value)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_a_saved_model_continues_as_if_it_had_not_been(
    triangle: SymmetryGroup, triangle_world: World, tmp_path: Any, policy: str
) -> None:
    options = {"loss": ASL(0.5, fit=PairwiseFit())}
    if policy != "MlpPolicy":
        options = {"policy_kwargs": {"net_arch": [6], "relax": "biases", "relax_penalty": 0.1}}
    model = SymmetricTRPO(policy, triangle_world(), symmetries=triangle, **SMALL | options).learn(48)
    model.save(tmp_path / "model.zip")
    loaded = SymmetricTRPO.load(tmp_path / "model.zip", env=triangle_world(), device="cpu")
    model.set_env(DummyVecEnv([triangle_world]))
    for one in (model, loaded):
        set_random_seed(5)
        one.env.seed(5)
        one.learn(48, reset_num_timesteps=False)
    for name, entries in model.policy.state_dict().items():
        torch.testing.assert_close(entries, loaded.policy.state_dict()[name], rtol=0, atol=0)
    assert model.symmetry_metrics() == loaded.symmetry_metrics()


def test_nothing_that_is_no_number_reaches_the_parameters(build: Build) -> None:
    for name, words in {"advantages": "objective", "returns": "critic's loss"}.items():
        model = build(MSL(1.0))
        getattr(model.rollout_buffer, name)[3] = float("nan")
        critic = [own.clone() for part, own in model.policy.named_parameters() if "value" in part]
        with pytest.raises(NonFiniteLoss, match=words):
            model.train()
        after = [own for part, own in model.policy.named_parameters() if "value" in part]
        torch.testing.assert_close(after, critic, rtol=0, atol=0)


def test_without_sb3_contrib_the_package_works_and_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["sb3_contrib"] = None
import ambidex
from ambidex.experiment.configure.algorithms import ALGORITHMS
ambidex.SymmetricA2C
for ask in (lambda: ambidex.SymmetricTRPO, ALGORITHMS.get("trpo").model):
    try:
        ask()
    except (ImportError, ValueError) as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    words = "SymmetricTRPO needs sb3-contrib: pip install 'ambidex[contrib]'"
    assert done.stdout.splitlines() == [f"ImportError {words}", f"ValueError {words}"]
