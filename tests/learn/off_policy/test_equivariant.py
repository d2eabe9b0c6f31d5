"""The equivariant SAC policy: exact before and after training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import SAC

from ambidex.learn import EquivariantSACPolicy, SymmetricSAC
from ambidex.learn.off_policy.policy import TiedStack, expanded
from ambidex.symmetry import SymmetryGroup, load
from tests.learn.networks.groups import by_key, negated, skewed

GROUPS: dict[str, Callable[[], SymmetryGroup]] = {
    "ant": lambda: load("ant"),
    "triangle": lambda: load("triangle"),
    "two legs": lambda: load("walker2d-v5"),
    "one sign": negated,
}


def small_world(world: Any, group: SymmetryGroup, ends: Any = 1.0) -> Any:
    size = group.observation_size
    inside: spaces.Space[Any]
    if isinstance(size, dict):
        inside = spaces.Dict({key: spaces.Box(-np.inf, np.inf, (n,)) for key, n in size.items()})
    else:
        inside = spaces.Box(-np.inf, np.inf, (size,))
    high = np.broadcast_to(np.asarray(ends, dtype=np.float32), (group.action_size,))
    return world(inside, spaces.Box(-high, high))


def model_of(env: Any, group: SymmetryGroup, **kwargs: Any) -> SymmetricSAC:
    arguments: dict[str, Any] = {
        "policy_kwargs": {"net_arch": [16, 24]},
        "buffer_size": 100,
        "learning_starts": 10,
        "batch_size": 16,
        "seed": 0,
        "device": "cpu",
    }
    return SymmetricSAC("EquivariantMlpPolicy", env, symmetries=group, **arguments | kwargs)


def check_exact(model: Any, group: SymmetryGroup) -> None:
    policy = model.policy
    random = torch.Generator().manual_seed(1)
    size = group.observation_size
    states: Any = torch.randn(
        50, size if isinstance(size, int) else sum(size.values()), generator=random, dtype=torch.float32
    )
    if isinstance(size, dict):
        states = dict(zip(size, torch.split(states, list(size.values()), dim=1), strict=True))
    scaled = 2 * torch.rand(50, group.action_size, generator=random) - 1
    high = torch.as_tensor(model.action_space.high)
    with torch.no_grad():
        values = torch.cat(policy.critic(states, scaled), dim=1)
        means, log_std, _ = policy.actor.get_action_dist_params(states)
        assert values.std() > 1e-3 and means.std() > 1e-3 and log_std.std() > 1e-3
        for transform in group:
            images = transform.observation(states)
            turned = transform.action(scaled * high) / high
            same = torch.cat(policy.critic(images, turned), dim=1)
            torch.testing.assert_close(same, values, atol=2e-6, rtol=1e-5)
            image_means, image_log_std, _ = policy.actor.get_action_dist_params(images)
            torch.testing.assert_close(
                image_means * high, transform.action(means * high), atol=2e-6, rtol=1e-5
            )
            permuted = torch.as_tensor(np.abs(transform.action_map.matrix) > 0).float() @ log_std.T
            torch.testing.assert_close(image_log_std, permuted.T, atol=2e-6, rtol=1e-5)
            acts = torch.tanh(image_means), torch.tanh(means)
            torch.testing.assert_close(acts[0] * high, transform.action(acts[1] * high), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("name", GROUPS)
def test_exact_before_and_after_training(name: str, world: Any) -> None:
    group = GROUPS[name]()
    model = model_of(small_world(world, group), group)
    check_exact(model, group)
    before = copy.deepcopy(model.policy.state_dict())
    model.learn(18)
    assert model._n_updates > 5
    assert any((before[name] != now).any() for name, now in model.policy.state_dict().items())
    check_exact(model, group)


def test_exact_with_unlike_ranges_and_known_ratios(world: Any) -> None:
    """Actuators of the strengths 1, 2 and 0.5, with ranges in the same ratios: alike in scaled actions."""
    group = skewed()
    model = model_of(small_world(world, group, [1.0, 2.0, 0.5]), group)
    check_exact(model, group)
    model.learn(14)
    check_exact(model, group)


def test_dict_observations(world: Any) -> None:
    group = by_key()
    model = model_of(small_world(world, group), group)
    check_exact(model, group)
    model.learn(14)
    check_exact(model, group)


def test_in_plain_stable_baselines3(world: Any, tmp_path: Path) -> None:
    """The same policy in SB3's own loop, saved and loaded; and its update is that of SymmetricSAC."""
    group = load("triangle")
    plain = SAC(
        EquivariantSACPolicy,
        small_world(world, group),
        policy_kwargs={"symmetries": group, "net_arch": [16, 24]},
        buffer_size=100,
        learning_starts=10,
        batch_size=16,
        seed=0,
        device="cpu",
    ).learn(15)
    check_exact(plain, group)
    plain.save(tmp_path / "model")
    loaded = SAC.load(tmp_path / "model", device="cpu")
    check_exact(loaded, group)
    ours = model_of(small_world(world, group), group).learn(15)
    for name, parameter in plain.policy.state_dict().items():
        assert torch.equal(parameter, loaded.policy.state_dict()[name])
        torch.testing.assert_close(parameter, ours.policy.state_dict()[name], atol=1e-6, rtol=1e-5)


def test_expanding_once_gives_the_same_gradients(world: Any) -> None:
    """As if every pass had expanded its layers, and as autograd through the expansion has it."""
    group = load("triangle")
    critic = model_of(small_world(world, group), group).critic
    states, actions = torch.randn(9, int(group.observation_size)), torch.rand(9, 3)  # type: ignore[arg-type]

    def gradients() -> list[torch.Tensor]:
        loss = sum(part.square().sum() for scale in (1.0, 0.5) for part in critic(scale * states, actions))
        found = torch.autograd.grad(loss, list(critic.parameters()))  # type: ignore[arg-type]
        return list(found)

    slow = gradients()
    with expanded(critic):
        once = gradients()
    for stack in critic.modules():
        if isinstance(stack, TiedStack):
            stack.expand = lambda stack=stack: [  # type: ignore[method-assign, misc]
                layer.expand() for layer in stack if hasattr(layer, "fold")
            ]
    by_autograd = gradients()
    for one, two, three in zip(slow, once, by_autograd, strict=True):
        torch.testing.assert_close(one, three, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(two, three, atol=1e-5, rtol=1e-4)


def test_what_a_callback_copies_or_sets_answers_with_its_own_weights(world: Any) -> None:
    """Roll-outs keep the dense weights of the actor, which a callback's copies must not."""
    group = load("triangle")
    model = model_of(small_world(world, group), group)
    newer = model_of(small_world(world, group), group, seed=5)
    states = np.random.default_rng(0).normal(size=(4, 10)).astype(np.float32)
    expected = newer.predict(states, deterministic=True)[0]
    copies: list[Any] = []

    def callback(*_: Any) -> bool:
        if not copies:
            copies.append(copy.deepcopy(model.policy))
            model.policy.load_state_dict(newer.policy.state_dict())
            np.testing.assert_array_equal(model.predict(states, deterministic=True)[0], expected)
        return True

    model.learn(5, callback=callback)
    with torch.no_grad():
        for own, given in zip(copies[0].parameters(), newer.policy.parameters(), strict=True):
            own.copy_(given)
    np.testing.assert_array_equal(copies[0].predict(states, deterministic=True)[0], expected)


def test_refusals(world: Any) -> None:
    group = load("ant")
    env = small_world(world, group)
    with pytest.raises(ValueError, match="needs the group"):
        SAC(EquivariantSACPolicy, env)
    with pytest.raises(ValueError, match="use_sde"):
        model_of(env, group, use_sde=True)
    with pytest.raises(ValueError, match="must be closed"):
        model_of(env, SymmetryGroup([group["r90"]]))
    uneven = small_world(world, group, [1, 1, 2, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"transform '.*', action 2: in units of its range"):
        model_of(uneven, group)
