"""Actuators behind SAC: canonical commands in the network, what the robot got in the replay."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import ASL, MSL, CalibratedFit, SymmetricReplayBuffer, SymmetricSAC, TransitionFit
from ambidex.learn.off_policy import sac as sac_module
from ambidex.learn.off_policy.canonical import canonical_range
from ambidex.symmetry import SymmetryGroup, load
from tests.learn.networks.groups import negated, skewed
from tests.learn.off_policy.test_equivariant import small_world
from tests.learn.off_policy.test_update import compare
from tests.learn.off_policy.test_update import model_of as model_with_plain_descent
from tests.learn.test_actuators import OFFSET, SCALE, Watching, known

SMALL: dict[str, Any] = {
    "buffer_size": 400,
    "learning_starts": 20,
    "batch_size": 16,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [16]},
}


def model_of(policy: str = "MlpPolicy", **kwargs: Any) -> tuple[SymmetricSAC, Watching]:
    group = load("triangle")
    env = Watching(gymnasium.make("ambidex/Triangle-v0"))
    settings: dict[str, Any] = SMALL | {"actuators": known(group), "symmetries": group} | kwargs
    return SymmetricSAC(policy, DummyVecEnv([lambda: env]), **settings), env


def test_the_range_by_hand() -> None:
    """s = (0.5, 1, 2) and o = (0.1, 0, -0.2) in a box of 1: c may be from (-1 - o) / s to (1 - o) / s, which
    is (-2.2, 1.8), (-1, 1) and (-0.4, 0.6); mirrors change the sign, so that 0.4 is left to all three."""
    found = canonical_range(load("triangle"), spaces.Box(-1, 1, (3,)), SCALE, OFFSET)
    np.testing.assert_allclose(found.half, [0.4] * 3)
    np.testing.assert_allclose(found.centre, [0.0] * 3, atol=1e-12)


def test_the_range_of_known_ratios() -> None:
    """Commands of 1, 2 and 0.5 do the same by description, all in a box of 1."""
    found = canonical_range(skewed(), spaces.Box(-1, 1, (3,)))
    np.testing.assert_allclose(found.half, [0.5, 1.0, 0.25])
    one_sided = canonical_range(negated(), spaces.Box(np.float32([-1.0]), np.float32([3.0])))
    np.testing.assert_allclose([one_sided.centre, one_sided.half], [[0.0], [1.0]])


@pytest.mark.parametrize("name", ["ant", "triangle", "skewed"])
def test_the_range_is_the_largest_that_no_image_leaves(name: str) -> None:
    group = skewed() if name == "skewed" else load(name)
    random = np.random.default_rng(0)
    n = group.action_size
    space = spaces.Box(
        -random.uniform(1, 3, n).astype(np.float32), random.uniform(1, 3, n).astype(np.float32)
    )
    scale, offset = random.uniform(0.5, 2, n), random.uniform(-0.3, 0.3, n)
    found = canonical_range(group, space, scale, offset)

    def leaves(c: Any) -> bool:
        images = [offset + scale * image for image in [c, *(one.action(c) for one in group)]]
        return any((a < space.low - 1e-6).any() or (a > space.high + 1e-6).any() for a in images)

    corners = [found.centre + found.half * np.array(signs) for signs in itertools.product([-1, 1], repeat=n)]
    assert not any(leaves(corner) for corner in corners)
    for element, sign in itertools.product(range(n), [-1, 1]):
        beyond = found.centre.copy()
        beyond[element] += sign * 1.001 * found.half[element]
        assert leaves(beyond)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_the_replay_keeps_what_the_robot_got(policy: str) -> None:
    model, env = model_of(policy)
    model.learn(60)
    assert model.replay_buffer is not None and isinstance(env.action_space, spaces.Box)
    kept = model.replay_buffer.actions[:60, 0]
    np.testing.assert_allclose(kept * env.action_space.high, np.array(env.commands), atol=1e-6)
    assert all(env.action_space.contains(command) for command in env.commands)
    # Random ones first, of the whole box; then those of the policy, of which none is cut off.
    strongest = np.abs((np.array(env.commands) - OFFSET) / SCALE / 0.4)
    assert strongest[:20].max() > 2 and strongest[20:].max() <= 1 + 1e-5 and strongest[20:].max() > 0.5


def test_predict_gives_commands(tmp_path: Path) -> None:
    model, env = model_of()
    states = np.stack([env.observation_space.sample() for _ in range(5)])
    with torch.no_grad():
        means, _, _ = model.actor.get_action_dist_params(torch.as_tensor(states))
    expected = OFFSET + SCALE * 0.4 * np.tanh(means.numpy())
    np.testing.assert_allclose(model.predict(states, deterministic=True)[0], expected, atol=1e-6)
    model.save(tmp_path / "model")
    loaded = SymmetricSAC.load(tmp_path / "model", device="cpu")
    np.testing.assert_allclose(loaded.predict(states, deterministic=True)[0], expected, atol=1e-6)
    with pytest.raises(ValueError, match="has actuators behind it and the new one has none"):
        SymmetricSAC.load(tmp_path / "model", actuators=None)


@pytest.mark.parametrize("name", ["ant", "triangle", "skewed"])
def test_what_the_robot_gets_is_equivariant_as_the_action_maps_say(name: str, world: Any) -> None:
    """Far into the ends of tanh, in ranges that are unlike, after training: nothing is cut off."""
    group = skewed() if name == "skewed" else load(name)
    random = np.random.default_rng(0)
    n = group.action_size
    scale = random.uniform(0.5, 2, n)
    actuators = replace(known(load("triangle")), scale=scale, offset=random.uniform(-0.2, 0.2, n))
    env = small_world(world, group, random.uniform(1, 3, n))
    model = SymmetricSAC("EquivariantMlpPolicy", env, symmetries=group, actuators=actuators, **SMALL)
    model.learn(40)
    states = 30 * random.normal(size=(200, int(group.observation_size))).astype(np.float32)  # type: ignore[arg-type]
    commands, _ = model.predict(states, deterministic=True)
    ends = np.abs(commands - commands.mean(axis=0)).max(axis=0)
    assert (ends > 0.05).all()
    for transform in group:
        images, _ = model.predict(transform.observation(states), deterministic=True)
        expected = np.stack([model.action_maps()[transform.name](row) for row in commands])
        np.testing.assert_allclose(images, expected, atol=2e-5)


@pytest.mark.parametrize("replay", [None, SymmetricReplayBuffer])
def test_minibatches_are_read_with_the_present_scales(replay: Any, monkeypatch: Any) -> None:
    """Each is some command that the robot got, or (symmetric replay) the canonical image of one."""
    model, env = model_of(replay_buffer_class=replay)
    model.learn(40)
    group = load("triangle")
    scale, offset = np.array([1.5, 0.5, 0.8]), np.array([0.0, 0.1, 0.05])
    model._preparation.actuators._scale = scale  # type: ignore[union-attr]
    model._preparation.actuators._offset = offset  # type: ignore[union-attr]
    model._apply_actuators()
    half = 1 / 1.5  # the first has the narrowest range
    model.fast = False  # so that its steps can be watched; by hand they take the same samples
    seen = []
    step = sac_module.gradient_step
    monkeypatch.setattr(
        sac_module, "gradient_step", lambda own, sample: seen.append(sample) or step(own, sample)
    )
    model.train(4, 16)
    commands, states = np.array(env.commands), model.replay_buffer.observations[:40, 0]  # type: ignore[union-attr]
    found = set()
    for sample in seen:
        for state, action in zip(sample.observations.numpy(), sample.actions.numpy(), strict=True):
            is_known = False
            for row, command in zip(states, commands, strict=True):
                canonical = (command - offset) / scale
                images = {"itself": (row, canonical)}
                if replay is not None:
                    images |= {one.name: (one.observation(row), one.action(canonical)) for one in group}
                for name, (image, c) in images.items():
                    if np.allclose(image, state, atol=1e-5):
                        np.testing.assert_allclose(action, c / half, atol=1e-4)
                        is_known = True
                        found.add(name)
            assert is_known
    assert found == ({"itself"} if replay is None else {"itself", *group.names})


@pytest.mark.parametrize("loss", [MSL(policy_weight=2.0, value_weight=0.7), ASL(policy_weight=0.5, fit=None)])
def test_a_gradient_step_beside_the_slow_loop(loss: Any, world: Any) -> None:
    """In canonical commands, some of them outside of their range, it is the step without actuators."""
    group = load("triangle")
    model = model_with_plain_descent(world, group, loss=loss, actuators=known(group))
    assert model.replay_buffer is not None
    sample = model.replay_buffer.sample(12)
    canonical = (sample.actions.numpy() - OFFSET) / SCALE / 0.4
    assert np.abs(canonical).max() > 1.5
    compare(model, group, sample._replace(actions=torch.as_tensor(canonical, dtype=torch.float32)))


@pytest.mark.parametrize("loss", [MSL(), ASL(fit=None)])
def test_scales_of_one_change_nothing(loss: Any) -> None:
    group = load("triangle")
    ones = known(group, np.ones(3), np.zeros(3))
    ours, theirs = (model_of(loss=loss, actuators=own)[0].learn(40) for own in (ones, None))
    for name, tensor in theirs.policy.state_dict().items():
        torch.testing.assert_close(ours.policy.state_dict()[name], tensor, atol=1e-4, rtol=1e-3)


def test_the_fit_finds_the_rust(tmp_path: Path) -> None:
    """The limbs need 1, 2 and 3 times the torque: from random commands, and those of the policy."""
    group = load("triangle")
    model = SymmetricSAC(
        "EquivariantMlpPolicy",
        TriangleVecEnv(8, scenario="triangle-rust", seed=0),
        symmetries=group,
        actuators=TransitionFit(),
        replay_buffer_class=SymmetricReplayBuffer,
        fit_interval=600,
        **SMALL | {"buffer_size": 4000, "learning_starts": 2400},
    ).learn(3200)
    for name in group.names:
        found, ideal = model.action_maps()[name], group[name].action_map
        need = np.array([1.0, 2.0, 3.0])
        expected = ideal.multipliers * need / need[ideal.indices]  # type: ignore[attr-defined]
        np.testing.assert_allclose(found.multipliers, expected, rtol=0.1)
    ratios = np.abs(np.concatenate([found.multipliers for found in model.action_maps().values()]))
    assert all(np.abs(ratios / true - 1).min() < 0.1 for true in (2, 3, 1.5))
    # The weakest has its whole box, the others as much as does the same.
    scale = model.policy.actuator_scale.numpy()  # type: ignore[union-attr, operator]
    np.testing.assert_allclose(scale, [1 / 3, 2 / 3, 1], rtol=0.1)
    assert {"scale", "transitions", "map_m"} <= {metric for metric, *_ in model.symmetry_metrics()}
    model.save(tmp_path / "model")
    loaded = SymmetricSAC.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.policy.actuator_scale.numpy(), scale)  # type: ignore[union-attr, operator]
    for name, array in model.symmetry_state().items():
        np.testing.assert_array_equal(loaded.symmetry_state()[name], array)
    place = model._preparation._place  # type: ignore[union-attr]
    model.loss = MSL()
    model.learn(8, reset_num_timesteps=False)
    np.testing.assert_array_equal(model.policy.actuator_scale.numpy(), scale)  # type: ignore[union-attr, operator]
    assert model._preparation._place == place  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"actuators": CalibratedFit(), "fit_interval": 100},
            "would only read back what was put in; use TransitionFit",
        ),
        ({"loss": ASL()}, "its loss fits action maps to the robot, and so do actuators="),
        ({"symmetries": None}, "actuators are compared by symmetries; pass symmetries="),
        ({"use_sde": True}, "use_sde=True"),
        (
            {"actuators": TransitionFit(), "optimize_memory_usage": True}
            | {"replay_buffer_kwargs": {"handle_timeout_termination": False}},
            "actuators: their fit reads whole transitions",
        ),
        (
            {"actuators": known(load("triangle"), SCALE, np.array([0.0, 0.0, 1.5]))},
            "action 0: no command within",
        ),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_of(**arguments)


def test_a_range_that_no_image_shares() -> None:
    group: SymmetryGroup = negated()
    with pytest.raises(ValueError, match=r"action 0: no command within its range \[1, 3\]"):
        canonical_range(group, spaces.Box(np.float32([1.0]), np.float32([3.0])))
