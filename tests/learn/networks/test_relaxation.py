"""Relaxed networks: the strict one at the start, and a measure of how far they went."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from stable_baselines3 import PPO
from torch import nn

from ambidex import EquivariantActorCriticPolicy, SymmetricPPO
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn.networks.layers import HiddenLayer, OutputLayer
from ambidex.learn.networks.relaxation import relaxation_of
from ambidex.learn.networks.representation import Representation
from ambidex.symmetry import load
from tests.learn.networks.groups import negated
from tests.learn.networks.test_policy import check_exact, trained, world


def policy_of(name: str, **options: Any) -> Any:
    group = load(name)
    kwargs = {"symmetries": group, "net_arch": [16, 16], **options}
    model = PPO(EquivariantActorCriticPolicy, world(name, group), seed=0, policy_kwargs=kwargs, device="cpu")
    return model.policy


@pytest.mark.parametrize("relax", ["biases", "weights"])
def test_a_relaxed_policy_starts_as_the_strict_one(relax: str) -> None:
    strict, relaxed = policy_of("ant"), policy_of("ant", relax=relax)
    observation = torch.randn(5, 28)
    for one, other in zip(
        strict(observation, deterministic=True), relaxed(observation, deterministic=True), strict=True
    ):
        assert torch.equal(one, other)
    for layer in relaxed.relaxation().values():
        assert layer.asymmetry == 0
        assert set(layer.by_transform) == set(load("ant").names)
        assert set(layer.by_transform.values()) == {0.0}


@pytest.mark.parametrize("relax", ["biases", "weights"])
def test_training_leads_a_relaxed_policy_away_from_symmetry(relax: str) -> None:
    model, group = trained("triangle", relax=relax)
    symmetric = {name for name, layer in model.policy.relaxation().items() if layer.asymmetry < 1e-6}
    assert symmetric == ({"critic 2"} if relax == "biases" else set())  # one value has no asymmetric bias
    with pytest.raises(AssertionError):
        check_exact(model, group)


def test_a_planted_asymmetry_is_measured() -> None:
    """One output that the group negates, with a free bias of 3: -3 under the transform, so 6 apart."""
    group = Representation.of(negated())
    layer = OutputLayer(group, group.action, inputs=1, relax="biases")
    with torch.no_grad():
        layer.weight.fill_(2.0)  # dense: [2, -2], of norm sqrt(8)
        assert layer.free_bias is not None
        layer.free_bias.fill_(3.0)
    found = relaxation_of(layer, group.names)
    assert found.asymmetry == pytest.approx(3 / math.sqrt(8))
    assert found.by_transform == pytest.approx({"flip": 6 / math.sqrt(8)})


def test_free_weights_that_are_equivariant_do_not_count() -> None:
    group = Representation.of(load("ant"))
    layer, other = (HiddenLayer(group, 2, 2, relax="weights").double() for _ in range(2))
    assert layer.free_weight is not None and layer.free_bias is not None
    with torch.no_grad():
        weight, bias = other.expand()
        layer.free_weight.copy_(weight)
        layer.free_bias.copy_(bias)
        found = relaxation_of(layer, group.names)
        assert found.asymmetry < 1e-12 and max(found.by_transform.values()) < 1e-12
        layer.free_weight[0, 0] += 1.0
    found = relaxation_of(layer, group.names)
    # Of a single entry the average over 8 elements leaves an eighth at 8 places: 1 - 1/8 is asymmetric.
    tied = layer.expand([layer.weight, layer.bias])
    size = float(torch.cat([part.detach().flatten() for part in tied]).norm())
    assert found.asymmetry == pytest.approx(math.sqrt(7 / 8) / size)
    assert found.by_transform == pytest.approx(dict.fromkeys(load("ant").names, math.sqrt(2) / size))


def test_the_penalty_is_the_sum_of_squares() -> None:
    policy = policy_of("ant", relax="weights", relax_penalty=0.5)
    layer = policy.tied_layers()["actor"][1]
    with torch.no_grad():
        layer.free_weight[0, 1] = 2.0
        layer.free_bias[3] = -1.0
        policy.value_net.free_bias[0] = 3.0
    penalty = policy.relaxation_penalty()
    assert penalty.item() == pytest.approx(0.5 * (4 + 1 + 9))
    penalty.backward()
    assert layer.free_weight.grad[0, 1].item() == pytest.approx(0.5 * 2 * 2)
    assert layer.weight.grad is None


def test_a_strict_policy_has_no_penalty() -> None:
    policy = policy_of("ant", activation_fn=nn.ReLU, relax_penalty=1.0)
    assert policy.relaxation_penalty().item() == 0


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("relax", ["biases", "weights"])
def test_relaxation_may_wait(relax: str, fast: bool) -> None:
    """Two roll-outs of the strict policy, then a third that leads away from it."""
    group = load("triangle")

    def learner(**options: Any) -> SymmetricPPO:
        return SymmetricPPO(
            "EquivariantMlpPolicy",
            TriangleVecEnv(4, scenario="triangle-rust", seed=0),
            symmetries=group,
            policy_kwargs={"net_arch": [12, 12], **options},
            n_steps=16,
            batch_size=16,
            n_epochs=2,
            fast=fast,
            seed=0,
            device="cpu",
        )

    strict = learner().learn(128)
    waiting = learner(relax=relax, relax_from=129).learn(128)
    assert {layer.asymmetry for layer in waiting.policy.relaxation().values()} == {0.0}
    for name, value in strict.policy.state_dict().items():
        torch.testing.assert_close(waiting.policy.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    waiting.learn(64, reset_num_timesteps=False)
    assert max(layer.asymmetry for layer in waiting.policy.relaxation().values()) > 1e-4


def test_the_fold_of_what_is_held_is_its_gradient_by_autograd() -> None:
    group = Representation.of(load("ant"))
    layer = HiddenLayer(group, 2, 2, relax="weights").double()
    layer.holds_free = True
    with torch.no_grad():
        layer.free_weight.normal_()
    weight, bias = layer.expand()
    assert torch.equal(weight, layer.expand([layer.weight, layer.bias])[0] + layer.free_weight)
    by_weight, by_bias = torch.randn_like(weight), torch.randn_like(bias)
    ((weight * by_weight).sum() + (bias * by_bias).sum()).backward()
    for parameter, folded in zip(layer.parameters(), layer.fold(by_weight, by_bias), strict=True):
        torch.testing.assert_close(folded, parameter.grad)
    assert not layer.free_weight.grad.any() and not layer.free_bias.grad.any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"relax": "biases", "relax_from": -1},
            "relax_from is a number of training steps, at least 0, got -1",
        ),
        ({"relax": "biases", "relax_from": 1e6}, "relax_from is a number of training steps"),
        ({"relax_from": 100}, "relax_from is for relax, which is not given"),
    ],
)
def test_when_to_relax_is_checked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        policy_of("ant", **options)
