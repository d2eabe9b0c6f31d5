"""What `SymmetricPPO` refuses, and that the reason names what to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.wrappers import NormalizeObservation
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from ambidex.learn import ASL, MSL, PSL, SymmetricPPO, SymmetricVecNormalize, TransitionFit
from ambidex.learn.spaces import DoesNotFit
from ambidex.symmetry import DictMap, IndexMap, MatrixMap, Symmetry, SymmetryGroup
from tests.actuators.two_legs import two_legs

World = Callable[[], Any]


def refused(message: str, policy: Any, env: Any, **kwargs: Any) -> None:
    with pytest.raises(ValueError, match=message):
        SymmetricPPO(policy, env, device="cpu", n_steps=8, batch_size=8, **kwargs)


def mirror(observations: int, actions: int, action_multiplier: float = 1.0) -> SymmetryGroup:
    return SymmetryGroup(
        [
            Symmetry(
                "mirror",
                obs_indices=range(observations),
                obs_multipliers=[-1] * observations,
                act_indices=range(actions),
                act_multipliers=[action_multiplier] * actions,
            )
        ]
    )


class Recurrent(BaseFeaturesExtractor):
    def __init__(self, space: spaces.Box) -> None:
        super().__init__(space, 4)
        self.cell = torch.nn.LSTM(space.shape[0], 4)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.cell(observations[None])[0][0]


def own(method: str) -> type[ActorCriticPolicy]:
    """A policy that goes its own way in one method."""

    def changed(self: ActorCriticPolicy, *arguments: Any, **keywords: Any) -> Any:
        return getattr(ActorCriticPolicy, method)(self, *arguments, **keywords)

    return type("OwnWay", (ActorCriticPolicy,), {method: changed})


def test_policies(triangle: SymmetryGroup, triangle_world: World) -> None:
    common = {"symmetries": triangle, "loss": MSL()}
    kwargs = {"features_extractor_class": Recurrent}
    refused("recurrent policy", "MlpPolicy", triangle_world(), policy_kwargs=kwargs, **common)


@pytest.mark.parametrize(
    "method", ["evaluate_actions", "extract_features", "predict_values", "_get_action_dist_from_latent"]
)
def test_policies_that_go_their_own_way(triangle: SymmetryGroup, triangle_world: World, method: str) -> None:
    message = f"OwnWay has a {method} of its own"
    refused(message, own(method), triangle_world(), symmetries=triangle, loss=MSL())


@pytest.mark.parametrize("loss", [PSL(), ASL()])
def test_state_dependent_exploration(triangle: SymmetryGroup, triangle_world: World, loss: Any) -> None:
    refused("use_sde=True", "MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, use_sde=True)


def test_state_dependent_exploration_works_with_msl(triangle: SymmetryGroup, triangle_world: World) -> None:
    model = SymmetricPPO(
        "MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), use_sde=True, n_steps=16, batch_size=8
    )
    model.learn(32)


def test_sizes(triangle: SymmetryGroup, make_world: Callable[[int, int], Any]) -> None:
    common = {"symmetries": triangle, "loss": MSL()}
    refused(
        "observation has 5 elements, but the transforms act on 4", "MlpPolicy", make_world(5, 3), **common
    )
    refused("action has 2 elements, but the transforms act on 3", "MlpPolicy", make_world(4, 2), **common)


def test_observation_spaces(world: type, triangle: SymmetryGroup, triangle_world: World) -> None:
    box = spaces.Box(-1, 1, (3,), np.float32)
    common = {"symmetries": triangle, "loss": MSL()}
    square = world(spaces.Box(-1, 1, (2, 2), np.float32), box)
    refused("Box spaces of one dimension", "MlpPolicy", square, **common)
    several = world(spaces.Dict({"x": box, "y": box}), box)
    refused("the group describes one vector of 4", "MultiInputPolicy", several, **common)
    keyed = Symmetry.from_maps(
        "m", DictMap({"x": IndexMap([0, 1, 2], [1, 1, -1])}), IndexMap([0, 1, 2], [-1] * 3)
    )
    by_key = {"symmetries": SymmetryGroup([keyed]), "loss": MSL()}
    refused("the keys \\['x', 'y'\\], the group describes \\['x'\\]", "MultiInputPolicy", several, **by_key)
    refused("describes the Dict keys \\['x'\\], but", "MlpPolicy", triangle_world(), **by_key)


class TestDiscreteActions:
    @pytest.mark.parametrize("loss", [PSL(), ASL()])
    def test_need_msl(self, world: type, loss: Any) -> None:
        env = world(spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(2))
        refused(
            "which discrete actions do not have; use MSL",
            "MlpPolicy",
            env,
            symmetries=mirror(2, 2),
            loss=loss,
        )

    def test_need_a_permutation(self, world: type) -> None:
        env = world(spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(2))
        group = mirror(2, 2, action_multiplier=-1.0)
        refused("every action multiplier must be 1", "MlpPolicy", env, symmetries=group, loss=MSL())
        refused(
            "have 2 logits, but the transforms act on 1",
            "MlpPolicy",
            env,
            symmetries=mirror(2, 1),
            loss=MSL(),
        )

    def test_choices_stay_whole(self, world: type) -> None:
        env = world(spaces.Box(-1, 1, (1,), np.float32), spaces.MultiDiscrete([2, 2]))
        split = Symmetry(
            "split", obs_indices=[0], obs_multipliers=[-1], act_indices=[0, 2, 1, 3], act_multipliers=[1] * 4
        )
        group = SymmetryGroup([split])
        refused(
            "the logits of choice 0 come from choices \\[0, 1\\]",
            "MlpPolicy",
            env,
            symmetries=group,
            loss=MSL(),
        )


def test_matrices_are_not_fitted(make_world: Callable[[int, int], Any]) -> None:
    turn = Symmetry.from_maps("turn", MatrixMap(-np.eye(2)), MatrixMap([[0.0, 1.0], [-0.6, 0.8]]))
    common = {"symmetries": SymmetryGroup([turn])}
    refused("'turn' mixes actions by a matrix.*fit=None", "MlpPolicy", make_world(2, 2), loss=ASL(), **common)
    for loss in (ASL(fit=None), PSL(), MSL()):
        model = SymmetricPPO("MlpPolicy", make_world(2, 2), loss=loss, n_steps=16, batch_size=8, **common)
        model.learn(32)
        assert model.action_maps() == {}


class TestVecNormalize:
    def test_plain_statistics(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        env = VecNormalize(DummyVecEnv([triangle_world]))
        refused("SymmetricVecNormalize", "MlpPolicy", env, symmetries=triangle, loss=MSL())
        SymmetricPPO("MlpPolicy", env, symmetries=triangle, loss=None, device="cpu")
        rewards_only = VecNormalize(DummyVecEnv([triangle_world]), norm_obs=False)
        SymmetricPPO("MlpPolicy", rewards_only, symmetries=triangle, loss=MSL(), device="cpu")

    def test_statistics_of_fewer_symmetries(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        few = SymmetricVecNormalize(DummyVecEnv([triangle_world]), symmetries=SymmetryGroup([triangle["a"]]))
        refused("not symmetric under 'b'", "MlpPolicy", few, symmetries=triangle, loss=MSL())

    def test_only_transforms_with_a_loss_need_them(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        few = SymmetricVecNormalize(DummyVecEnv([triangle_world]), symmetries=SymmetryGroup([triangle["a"]]))
        model = SymmetricPPO("MlpPolicy", few, symmetries=triangle, loss={"a": MSL()}, device="cpu")
        model.set_env(few)

    def test_the_wrapper_of_gymnasium(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        env = NormalizeObservation(triangle_world())
        refused("NormalizeObservation scales", "MlpPolicy", env, symmetries=triangle, loss=MSL())
        SymmetricPPO("MlpPolicy", env, symmetries=triangle, loss=None, device="cpu")

    def test_later(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), device="cpu")
        with pytest.raises(ValueError, match="SymmetricVecNormalize"):
            model.set_env(VecNormalize(DummyVecEnv([triangle_world])))

    def test_plain_statistics_below_others(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        below = VecNormalize(DummyVecEnv([triangle_world]), norm_reward=False)
        env = SymmetricVecNormalize(below, symmetries=triangle, norm_obs=False)
        refused("SymmetricVecNormalize", "MlpPolicy", env, symmetries=triangle, loss=MSL())

    def test_later_without_a_vector_of_environments(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), device="cpu")
        with pytest.raises(ValueError, match="NormalizeObservation scales"):
            model.set_env(NormalizeObservation(triangle_world()))
        model.set_env(triangle_world())

    def test_symmetric_statistics(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        env = SymmetricVecNormalize(DummyVecEnv([triangle_world] * 2), symmetries=triangle)
        model = SymmetricPPO(
            "MlpPolicy", env, symmetries=triangle, loss=ASL(), n_steps=16, batch_size=8, device="cpu"
        )
        model.learn(64)


def test_arguments(triangle: SymmetryGroup, triangle_world: World) -> None:
    refused("a loss without symmetries", "MlpPolicy", triangle_world(), loss=MSL())
    refused("symmetries is a SymmetryGroup", "MlpPolicy", triangle_world(), symmetries=[1], loss=MSL())
    for samples in (0, 6, 1.5, True):
        refused(
            "symmetry_samples is None or a number from 1 to 5",
            "MlpPolicy",
            triangle_world(),
            symmetries=triangle,
            loss=MSL(),
            symmetry_samples=samples,
        )


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantMlpPolicy"])
def test_actuators_of_another_robot(make_world: Callable[[int, int], Any], policy: str) -> None:
    with pytest.raises(DoesNotFit, match="action has 3 elements, but the transforms act on 4"):
        SymmetricPPO(policy, make_world(8, 3), symmetries=two_legs(), actuators=TransitionFit())


def test_no_loss_leaves_the_samples_alone(triangle: SymmetryGroup, triangle_world: World) -> None:
    """So that a run without a loss beside others needs no other arguments than they do."""
    SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, symmetry_samples=3, device="cpu")


def test_ranges_that_exclude_each_other(world: type) -> None:
    observed = spaces.Box(-1, 1, (2,), np.float32)
    common = {"symmetries": mirror(2, 2, action_multiplier=-1.0), "loss": MSL()}
    low, high = np.array([-1, 0], np.float32), np.array([2, 1], np.float32)
    env = world(observed, spaces.Box(low, high))
    refused(r"'mirror', action 1: its range is \[0, 1\].*becomes \[-1, -?0\]", "MlpPolicy", env, **common)
    SymmetricPPO("MlpPolicy", world(observed, spaces.Box(low - 0.5, high)), device="cpu", **common)


def test_fast_says_why_not(triangle: SymmetryGroup, triangle_world: World) -> None:
    kwargs = {"activation_fn": torch.nn.ELU}
    refused(
        "fast=True: .*; use fast=None",
        "MlpPolicy",
        triangle_world(),
        symmetries=triangle,
        loss=MSL(),
        fast=True,
        policy_kwargs=kwargs,
    )


@pytest.mark.parametrize("refused_for", ["its environment", "the fast path"])
def test_a_loss_that_was_refused_is_not_trained_with(
    triangle: SymmetryGroup, triangle_world: World, refused_for: str
) -> None:
    normalized = refused_for == "its environment"
    env = DummyVecEnv([triangle_world])
    model = SymmetricPPO(
        "MlpPolicy",
        VecNormalize(env) if normalized else env,
        symmetries=triangle,
        n_steps=16,
        batch_size=8,
        device="cpu",
    )
    if not normalized:
        model.fast = True
        model.policy.optimizer = torch.optim.SGD(model.policy.parameters(), 1e-3)
    model.loss = MSL()
    for _ in range(2):
        with pytest.raises(ValueError, match="SymmetricVecNormalize" if normalized else "fast=True"):
            model.learn(16)
    model.loss, model.fast = None, None
    model.learn(16)
    assert model.kinds_of_loss == ()
    assert "symmetry/policy_loss" not in model.logger.name_to_value
