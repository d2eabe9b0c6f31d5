"""`EquivariantActorCriticPolicy` inside plain Stable-Baselines3, before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import nn

from ambidex import EquivariantActorCriticPolicy, SymmetricPPO
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.symmetry import SymmetryGroup, load
from tests.learn.conftest import World
from tests.learn.networks.groups import GROUPS, by_key

ACTIONS: dict[str, spaces.Space[Any]] = {
    "one choice": spaces.Discrete(3),
    "two choices": spaces.MultiDiscrete([3, 3]),
}


def box(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def world(name: str, group: SymmetryGroup) -> World:
    size = group.observation_size
    observations: spaces.Space[Any]
    if isinstance(size, dict):
        # Not in sorted order, which Gymnasium keeps when it is given as pairs.
        observations = spaces.Dict([(key, box(width)) for key, width in sorted(size.items(), reverse=True)])
    else:
        observations = box(size)
    actions = ACTIONS.get(name, spaces.Box(-1, 1, (group.action_size,), np.float32))
    return World(observations, actions)


def trained(
    name: str, algorithm: type[BaseAlgorithm] = PPO, net_arch: Any = (16, 16), **policy: Any
) -> tuple[Any, SymmetryGroup]:
    group = GROUPS[name]()
    options = {"n_steps": 64, "batch_size": 16, "n_epochs": 2} if algorithm is PPO else {"n_steps": 16}
    net_arch = list(net_arch) if isinstance(net_arch, tuple) else net_arch
    model = algorithm(
        EquivariantActorCriticPolicy,
        world(name, group),
        learning_rate=1e-3,
        seed=0,
        device="cpu",
        policy_kwargs={"symmetries": group, "net_arch": net_arch, **policy},
        **options,  # type: ignore[arg-type]
    )
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(128)
    moved = [
        not torch.equal(old, new)
        for old, new in zip(before, model.policy.parameters(), strict=True)
        if old.numel()
    ]
    assert all(moved)
    return model, group


def observations(model: BaseAlgorithm, dtype: torch.dtype, rows: int = 9) -> Any:
    torch.manual_seed(5)
    space = model.observation_space
    if isinstance(space, spaces.Dict):
        return {key: torch.randn(rows, *part.shape, dtype=dtype) for key, part in space.spaces.items()}  # type: ignore[misc]
    return torch.randn(rows, *space.shape, dtype=dtype)  # type: ignore[misc]


def outputs(policy: Any, observation: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Means or logits, and values; in the precision of the observation, which SB3's methods make single."""
    features = policy.features_extractor(observation)
    latent_pi, latent_vf = policy.mlp_extractor(features)
    return policy.action_net(latent_pi), policy.value_net(latent_vf)


@torch.no_grad()
def check_exact(model: Any, group: SymmetryGroup) -> None:
    for dtype, rounding in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
        policy = model.policy.to(dtype)
        observation = observations(model, dtype)
        means, values = outputs(policy, observation)
        for transform in group:
            image_means, image_values = outputs(policy, transform.observation(observation))
            assert float((image_means - transform.action(means)).abs().max()) < rounding
            assert float((image_values - values).abs().max()) < rounding * max(1, float(values.abs().max()))
    model.policy.float()


@pytest.mark.parametrize("name", GROUPS)
def test_exact_after_training(name: str) -> None:
    model, group = trained(name)
    check_exact(model, group)


@pytest.mark.parametrize("name", ["ant", "triangle", "two choices"])
def test_actions_are_as_likely_as_their_images(name: str) -> None:
    """The whole distribution is symmetric, through Stable-Baselines3's own methods."""
    model, group = trained(name)
    policy, observation = model.policy, observations(model, torch.float32)
    actions, values, log_prob = (output.detach() for output in policy(observation))
    assert torch.allclose(policy.predict_values(observation), values)
    for transform in group:
        image = transform.observation(observation)
        image_values, image_log_prob, _ = policy.evaluate_actions(image, transform.action(actions))
        assert torch.allclose(image_log_prob, log_prob, atol=2e-5)
        assert torch.allclose(image_values, values, atol=1e-5)


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize("name", ["triangle", "by key", "one choice"])
def test_saved_loaded_and_trained_on(name: str, algorithm: type[BaseAlgorithm], tmp_path: Path) -> None:
    model, group = trained(name, algorithm, {"pi": [12], "vf": [20, 10]}, activation_fn=nn.ReLU)
    model.save(tmp_path / "model.zip")
    loaded = algorithm.load(tmp_path / "model.zip", env=model.get_env(), device="cpu")
    model.policy.save(tmp_path / "policy.zip")
    policy = EquivariantActorCriticPolicy.load(tmp_path / "policy.zip", device="cpu")
    observation = observations(model, torch.float32)
    plain = (
        {key: part.numpy() for key, part in observation.items()} if name == "by key" else observation.numpy()
    )
    expected = model.predict(plain, deterministic=True)[0]
    for other in (loaded, policy):
        assert np.array_equal(other.predict(plain, deterministic=True)[0], expected)
    loaded.learn(64)
    check_exact(loaded, group)


def test_a_policy_on_the_ant_has_the_parameters_of_a_smaller_one() -> None:
    model, _ = trained("ant", net_arch={"pi": [60], "vf": [64]}, log_std_init=-1.0)
    shapes = {name: tuple(value.shape) for name, value in model.policy.named_parameters()}
    assert shapes["mlp_extractor.policy_net.0.weight"] == (8, 28)  # 60 units are rounded up to 64
    assert shapes["action_net.weight"] == (8, 8)
    assert shapes["tied_log_std.tied"] == (2,)
    assert model.policy.log_std.shape == (8,)
    assert model.policy.mlp_extractor.latent_dim_pi == 64


def test_layers_for_an_update_by_hand_give_what_the_policy_gives() -> None:
    """The interface of a fast update: expand, a plain pass, the dense gradients folded."""
    model, _ = trained("ant")
    policy, networks = model.policy, model.policy.tied_layers()
    observation = observations(model, torch.float32)
    policy.set_training_mode(True)
    means, values = outputs(policy, observation)
    loss = means.square().sum() + values.square().sum() + policy.log_std.square().sum()
    policy.zero_grad()
    loss.backward()
    for layers, expected in ((networks["actor"], means), (networks["critic"], values)):
        dense = [[part.detach().requires_grad_() for part in layer.expand()] for layer in layers]
        rows = observation
        for index, (weight, bias) in enumerate(dense):
            rows = torch.addmm(bias, policy.activation_fn()(rows) if index else rows, weight.t())
        assert torch.allclose(rows, expected, atol=1e-5)
        rows.square().sum().backward()
        for layer, (weight, bias) in zip(layers, dense, strict=True):
            for parameter, gradient in zip(
                layer.parameters(), layer.fold(weight.grad, bias.grad), strict=True
            ):
                assert torch.allclose(gradient, parameter.grad, rtol=1e-4, atol=1e-5)
    assert torch.allclose(policy.tied_log_std.fold(2 * policy.log_std), policy.tied_log_std.tied.grad)


def test_discrete_actions_have_no_log_std() -> None:
    model, _ = trained("one choice")
    assert not hasattr(model.policy, "log_std")
    assert model.policy.tied_log_std is None


@pytest.mark.parametrize(
    ("policy_kwargs", "reason"),
    [
        ({"symmetries": None}, "needs the group"),
        ({"symmetries": "ant"}, "symmetries is a SymmetryGroup, got 'ant'"),
        ({"ortho_init": True}, "orthogonal"),
        ({"net_arch": {"pi": [16]}}, "at least one hidden layer"),
        ({"relax": "everything"}, "'biases' or 'weights', got 'everything'"),
        ({"relax_penalty": -1.0}, "at least 0"),
        ({"symmetries": load("triangle")}, "has 28 elements, but the transforms act on"),
        ({"symmetries": by_key()}, "but the observations are no Dict"),
        ({"features_extractor_class": nn.Identity}, "leave features_extractor_class out"),
    ],
)
def test_what_cannot_work_is_refused(policy_kwargs: dict[str, Any], reason: str) -> None:
    ant = load("ant")
    with pytest.raises(ValueError, match=reason):
        PPO(
            EquivariantActorCriticPolicy,
            world("ant", ant),
            policy_kwargs={"symmetries": ant, **policy_kwargs},
        )


def test_state_dependent_exploration_is_refused() -> None:
    ant = load("ant")
    with pytest.raises(ValueError, match="use_sde=True draws its noise"):
        PPO(EquivariantActorCriticPolicy, world("ant", ant), use_sde=True, policy_kwargs={"symmetries": ant})


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (spaces.Discrete(6), "have 6 logits, but the transforms act on 8"),
        (spaces.Discrete(8), "permutation of their logits"),
        (spaces.Box(-1, 1, (2, 4), np.float32), "Box spaces of one dimension"),
        (spaces.Box(-1, 1, (4,), np.float32), "action has 4 elements, but the transforms act on 8"),
    ],
)
def test_actions_that_the_group_does_not_describe_are_refused(
    actions: spaces.Space[Any], reason: str
) -> None:
    ant = load("ant")
    with pytest.raises(ValueError, match=reason):
        PPO(EquivariantActorCriticPolicy, World(box(28), actions), policy_kwargs={"symmetries": ant})


def test_logits_of_one_choice_stay_together() -> None:
    group = GROUPS["two choices"]()
    with pytest.raises(
        ValueError, match=r"'mirror': the logits of choice 0 come from choices \[1\]; a choice"
    ):
        PPO(
            EquivariantActorCriticPolicy,
            World(box(3), spaces.MultiDiscrete([2, 4])),
            policy_kwargs={"symmetries": group},
        )


def test_a_loaded_network_keeps_the_symmetries_that_it_was_made_for(tmp_path: Path) -> None:
    model = SymmetricPPO(
        "EquivariantMlpPolicy",
        TriangleVecEnv(2, seed=0),
        symmetries=load("triangle"),
        n_steps=8,
        batch_size=8,
    )
    model.save(tmp_path / "model.zip")
    fewer = SymmetryGroup(list(load("triangle"))[:1])
    with pytest.raises(ValueError, match="the network was made for other symmetries"):
        SymmetricPPO.load(tmp_path / "model.zip", symmetries=fewer)
    assert SymmetricPPO.load(tmp_path / "model.zip", symmetries=load("triangle")).symmetries == load(
        "triangle"
    )
