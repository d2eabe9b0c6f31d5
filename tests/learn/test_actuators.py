"""Actuators behind the policy: the robot gets ``o + s c``, everything else stays canonical."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch.distributions import Normal

from ambidex import learn
from ambidex.envs.triangle.robot import TriangleVecEnv
from ambidex.learn import (
    ASL,
    MSL,
    PSL,
    CalibratedFit,
    PairwiseFit,
    SymmetricA2C,
    SymmetricPPO,
    TransitionFit,
    identify,
)
from ambidex.symmetry import SymmetryGroup, load

SCALE, OFFSET = np.array([0.5, 1.0, 2.0]), np.array([0.1, 0.0, -0.2])


def known(group: SymmetryGroup, scale: Any = SCALE, offset: Any = OFFSET) -> Any:
    """A calibration with these scales."""
    from dataclasses import replace

    rng = np.random.default_rng(0)
    size = group.observation_size
    assert isinstance(size, int)
    states = rng.normal(size=(40, size))
    found = identify(group, states, rng.normal(size=(40, 3)), states)
    return replace(found, scale=scale, offset=offset)


class Watching(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Remembers the commands that the robot gets."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.commands: list[Any] = []

    def step(self, action: Any) -> Any:
        self.commands.append(np.array(action))
        return self.env.step(action)


class OneSided(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A robot whose commands are never negative."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Box(0, 1, env.action_space.shape)


@pytest.fixture
def triangle_robot() -> SymmetryGroup:
    return load("triangle")


Make = Callable[..., tuple[SymmetricPPO, Watching]]


@pytest.fixture
def build(triangle_robot: SymmetryGroup) -> Make:
    def make(policy: str = "MlpPolicy", **kwargs: Any) -> tuple[SymmetricPPO, Watching]:
        env = Watching(gymnasium.make("ambidex/Triangle-v0"))
        settings: dict[str, Any] = {"actuators": known(triangle_robot)} | kwargs
        model = SymmetricPPO(
            policy,
            DummyVecEnv([lambda: env]),
            symmetries=triangle_robot,
            n_steps=64,
            batch_size=32,
            seed=0,
            device="cpu",
            **settings,
        )
        return model, env

    return make


@pytest.mark.parametrize("fast", [True, False])
def test_the_robot_gets_the_commands_and_the_buffer_keeps_canonical_ones(build: Make, fast: bool) -> None:
    model, env = build(fast=fast)
    model.learn(64)
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    canonical = model.rollout_buffer.actions.reshape(64, 3)
    expected = np.clip(OFFSET + SCALE * canonical, space.low, space.high)
    np.testing.assert_allclose(np.array(env.commands), expected, atol=1e-6)
    # The update has moved that policy since; one that does not learn shows whose log-probabilities are kept.
    model, _ = build(fast=fast, learning_rate=0.0)
    model.learn(64)
    canonical = torch.as_tensor(model.rollout_buffer.actions.reshape(64, 3))
    states = torch.as_tensor(model.rollout_buffer.observations.reshape(64, -1))
    with torch.no_grad():
        means = model.policy.action_net(model.policy.mlp_extractor.forward_actor(states))
        log_probs = Normal(means, model.policy.log_std.exp()).log_prob(canonical).sum(dim=1)
    np.testing.assert_allclose(model.rollout_buffer.log_probs.flatten(), log_probs.numpy(), atol=1e-4)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_predict_gives_commands(build: Make, policy: str, tmp_path: Any) -> None:
    model, env = build(policy)
    observation = env.observation_space.sample()
    with torch.no_grad():
        state = torch.as_tensor(observation)[None]
        mean = model.policy.get_distribution(state).distribution.mean[0].numpy()  # type: ignore[union-attr]
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    expected = np.clip(OFFSET + SCALE * mean, space.low, space.high)
    np.testing.assert_allclose(model.predict(observation, deterministic=True)[0], expected, atol=1e-6)
    np.testing.assert_allclose(model.policy.predict(observation, deterministic=True)[0], expected, atol=1e-6)
    model.save(tmp_path / "model.zip")
    loaded = SymmetricPPO.load(tmp_path / "model.zip")
    np.testing.assert_allclose(loaded.predict(observation, deterministic=True)[0], expected, atol=1e-6)
    copied = pickle.loads(pickle.dumps(model.policy))
    assert type(copied) is type(model.policy)
    np.testing.assert_allclose(copied.predict(observation, deterministic=True)[0], expected, atol=1e-6)


def test_action_maps_are_those_of_commands(build: Make, triangle_robot: SymmetryGroup) -> None:
    """If c obeys the given map, a = o + s c obeys this one."""
    model, _ = build()
    canonical = np.array([0.3, -0.2, 0.7])
    for symmetry in triangle_robot:
        found = model.action_maps()[symmetry.name]
        expected = OFFSET + SCALE * symmetry.action(canonical)
        np.testing.assert_allclose(found(OFFSET + SCALE * canonical), expected, atol=1e-9)


@pytest.mark.parametrize("loss", [MSL(), PSL(), ASL(fit=None), None], ids=["MSL", "PSL", "ASL", "no loss"])
def test_scales_of_one_change_nothing(triangle_robot: SymmetryGroup, loss: Any) -> None:
    """With scales of 1 every loss is what it is without actuators, to the bit."""

    def trained(actuators: Any) -> list[Any]:
        model = SymmetricPPO(
            "MlpPolicy",
            TriangleVecEnv(2, scenario="triangle-rust", seed=0),
            symmetries=triangle_robot,
            loss=loss,
            actuators=actuators,
            fast=True,
            n_steps=64,
            batch_size=32,
            seed=0,
            device="cpu",
        )
        model.learn(256)
        return [parameter.detach().numpy() for parameter in model.policy.parameters()]

    ones = known(triangle_robot, np.ones(3), np.zeros(3))
    for one, other in zip(trained(ones), trained(None), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_fit_finds_the_rust_and_only_between_iterations(triangle_robot: SymmetryGroup) -> None:
    model = SymmetricPPO(
        "EquivariantMlpPolicy",
        TriangleVecEnv(4, scenario="triangle-rust", seed=0),
        symmetries=triangle_robot,
        actuators=TransitionFit(),
        n_steps=64,
        batch_size=64,
        seed=0,
        device="cpu",
    )
    model.learn(64 * 4 * 6)
    scale = model.policy.actuator_scale.numpy()
    np.testing.assert_allclose(scale / scale[0], [1.0, 2.0, 3.0], rtol=0.05)
    names = {metric for metric, *_ in model.symmetry_metrics()}
    assert {"scale", "transitions", "map_m"} <= names
    state = model.symmetry_state()
    other = SymmetricPPO(
        "EquivariantMlpPolicy",
        TriangleVecEnv(4, scenario="triangle-rust", seed=0),
        symmetries=triangle_robot,
        actuators=TransitionFit(),
        n_steps=64,
        device="cpu",
    )
    other.set_symmetry_state(state)
    np.testing.assert_array_equal(other.policy.actuator_scale.numpy(), scale)


def algorithm_called(name: str) -> tuple[Any, dict[str, Any]]:
    if name == "A2C":
        return SymmetricA2C, {"n_steps": 16, "fit_states": 256}
    pytest.importorskip("sb3_contrib")
    return learn.SymmetricTRPO, {"n_steps": 64, "batch_size": 64}


@pytest.mark.parametrize("name", ["A2C", "TRPO"])
def test_other_algorithms_give_commands_and_find_the_rust(triangle_robot: SymmetryGroup, name: str) -> None:
    kind, settings = algorithm_called(name)
    settings |= {"symmetries": triangle_robot, "seed": 0, "device": "cpu"}
    env = Watching(gymnasium.make("ambidex/Triangle-v0"))
    model = kind(
        "MlpPolicy", DummyVecEnv([lambda: env]), loss=MSL(), actuators=known(triangle_robot), **settings
    )
    model.learn(settings["n_steps"])
    canonical = model.rollout_buffer.actions.reshape(-1, 3)
    np.testing.assert_allclose(env.commands, np.clip(OFFSET + SCALE * canonical, -1, 1), atol=1e-6)
    model = kind(
        "EquivariantMlpPolicy",
        TriangleVecEnv(4, scenario="triangle-rust", seed=0),
        actuators=TransitionFit(),
        **settings,
    )
    model.learn(64 * 4 * 6)
    scale = model.policy.actuator_scale.numpy()
    np.testing.assert_allclose(scale / scale[0], [1.0, 2.0, 3.0], rtol=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actuators": CalibratedFit()}, "would only read back what was put in; use TransitionFit"),
        ({"actuators": PairwiseFit()}, "would only read back what was put in; use TransitionFit"),
        ({"actuators": TransitionFit}, r"actuators is TransitionFit\(\), a calibration or None"),
        ({"actuators": "transition"}, r"actuators is TransitionFit\(\), a calibration or None"),
        ({"loss": ASL()}, "its loss fits action maps to the robot, and so do actuators="),
    ],
)
def test_refusals(build: Make, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**arguments)


def test_actuators_need_symmetries() -> None:
    with pytest.raises(ValueError, match="actuators are compared by symmetries; pass symmetries="):
        SymmetricPPO("MlpPolicy", TriangleVecEnv(1), actuators=TransitionFit(), device="cpu")


def test_observations_that_no_transform_acts_on_are_refused_without_a_loss_too(
    triangle_robot: SymmetryGroup,
) -> None:
    env = TriangleVecEnv(1)
    env.observation_space = gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8)
    with pytest.raises(ValueError, match="symmetries act on Box spaces of one dimension"):
        SymmetricPPO(
            "CnnPolicy", env, symmetries=triangle_robot, actuators=TransitionFit(), n_steps=64, device="cpu"
        )


def test_another_loss_is_no_other_robot(triangle_robot: SymmetryGroup, tmp_path: Any) -> None:
    model = SymmetricPPO(
        "MlpPolicy",
        TriangleVecEnv(4, scenario="triangle-rust", seed=0),
        symmetries=triangle_robot,
        loss=PSL(),
        actuators=TransitionFit(),
        n_steps=64,
        batch_size=64,
        device="cpu",
        seed=0,
    )
    model.learn(64 * 4 * 4)
    scale = model.policy.actuator_scale.numpy().copy()
    assert np.abs(scale / scale[0] - [1, 2, 3]).max() < 0.2
    model.save(tmp_path / "model.zip")
    loaded = SymmetricPPO.load(tmp_path / "model.zip", loss=MSL())
    np.testing.assert_array_equal(loaded.policy.actuator_scale.numpy(), scale)
    np.testing.assert_allclose(loaded._preparation.actuators.scale, scale, rtol=1e-6)  # type: ignore[union-attr]
    again = SymmetricPPO.load(tmp_path / "model.zip", actuators=known(triangle_robot))
    np.testing.assert_allclose(again.policy.actuator_scale.numpy(), SCALE)
    model.loss = MSL()
    model.learn(64 * 4)
    np.testing.assert_allclose(model.policy.actuator_scale.numpy(), scale, rtol=0.1)
    with pytest.raises(ValueError, match="has actuators behind it and the new one has none"):
        SymmetricPPO.load(tmp_path / "model.zip", actuators=None)


def test_actuators_are_chosen_when_the_model_is_made(build: Make) -> None:
    model, _ = build(actuators=None)
    model.actuators = TransitionFit()
    with pytest.raises(ValueError, match="make a new model with actuators="):
        model.learn(64)


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_uneven_statistics_are_refused_without_a_loss_too(triangle_robot: SymmetryGroup, policy: str) -> None:
    with pytest.raises(ValueError, match="SymmetricVecNormalize"):
        SymmetricPPO(
            policy,
            VecNormalize(TriangleVecEnv(2)),
            symmetries=triangle_robot,
            actuators=TransitionFit() if policy == "MlpPolicy" else None,
            device="cpu",
        )


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_ranges_that_a_mirrored_command_leaves_need_an_offset(
    policy: str, triangle_robot: SymmetryGroup
) -> None:
    env = OneSided(gymnasium.make("ambidex/Triangle-v0"))
    choices = {
        "fitted": TransitionFit(),
        "no offset": known(triangle_robot, offset=np.zeros(3)),
        "none": None,
    }
    for name, choice in choices.items():
        if (policy, name) == ("MlpPolicy", "none"):  # nothing is mirrored
            continue
        with pytest.raises(ValueError, match=r"its range is \[0, 1\]"):
            SymmetricPPO(policy, env, symmetries=triangle_robot, actuators=choice, device="cpu")
    shifted = known(triangle_robot, offset=np.full(3, 0.5))
    SymmetricPPO(policy, env, symmetries=triangle_robot, actuators=shifted, device="cpu")
