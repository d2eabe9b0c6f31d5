"""`SymmetricPPO` as a Stable-Baselines3 algorithm: equal where it must be, continued where it was left."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HumanOutputFormat, Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv

from ambidex.learn import ASL, MSL, PSL, PairwiseFit, SymmetricA2C, SymmetricPPO, SymmetricSAC
from ambidex.symmetry import DictMap, IndexMap, Symmetry, SymmetryGroup

World = Callable[[], Any]
SMALL: dict[str, Any] = {
    "n_steps": 32,
    "batch_size": 16,
    "n_epochs": 3,
    "seed": 1,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [8]},
}


def parameters(model: PPO) -> dict[str, torch.Tensor]:
    return {name: entries.clone() for name, entries in model.policy.state_dict().items()}


def assert_equal(first: PPO, second: PPO) -> None:
    theirs = parameters(second)
    for name, entries in parameters(first).items():
        torch.testing.assert_close(entries, theirs[name], rtol=0, atol=0, msg=name)


def recorded(model: PPO, **learning: Any) -> dict[str, Any]:
    """What two iterations log."""
    names: dict[str, Any] = {}

    class Keeper(HumanOutputFormat):
        def __init__(self) -> None:
            pass

        def write(self, key_values: dict[str, Any], *_: Any) -> None:
            names.update(key_values)

        def close(self) -> None:
            pass

    model.set_logger(Logger(None, [Keeper()]))
    model.learn(2 * model.n_steps * model.n_envs, **learning)
    return names


class TestWithoutSymmetries:
    """Bit for bit Stable-Baselines3's PPO, over several roll-outs."""

    @pytest.mark.parametrize(
        "variant",
        [
            {},
            {"target_kl": 0.002, "clip_range_vf": 0.2, "ent_coef": 0.01},
            {"learning_rate": lambda progress: 1e-3 * progress, "normalize_advantage": False},
            {"use_sde": True},
        ],
        ids=["defaults", "target_kl", "schedule", "gSDE"],
    )
    @pytest.mark.parametrize("environments", [1, 3])
    def test_box(self, triangle_world: World, variant: dict[str, Any], environments: int) -> None:
        models = [
            algorithm("MlpPolicy", DummyVecEnv([triangle_world] * environments), **SMALL | variant).learn(
                4 * 32 * environments
            )
            for algorithm in (PPO, SymmetricPPO)
        ]
        assert_equal(*models)

    def test_symmetries_without_a_loss(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        ppo = PPO("MlpPolicy", triangle_world(), **SMALL).learn(128)
        for loss in (None, {}, {"a": None}):
            model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, **SMALL)
            assert_equal(ppo, model.learn(128))

    def test_other_spaces(self, world: type) -> None:
        space = spaces.Dict({"a": spaces.Box(-9, 9, (3,)), "b": spaces.Box(-9, 9, (2,))})
        for action_space in (spaces.Discrete(3), spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(2)):
            models = [
                algorithm("MultiInputPolicy", world(space, action_space), **SMALL).learn(96)
                for algorithm in (PPO, SymmetricPPO)
            ]
            assert_equal(*models)

    def test_the_generic_update_agrees_with_theirs(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        """A loss of weight 0 takes our update; what it computes beside the symmetry is PPO."""
        variant = {"ent_coef": 0.01, "clip_range_vf": 0.3, "target_kl": 0.05}
        ppo = PPO("MlpPolicy", DummyVecEnv([triangle_world] * 2), **SMALL | variant)
        theirs = recorded(ppo)
        model = SymmetricPPO(
            "MlpPolicy",
            DummyVecEnv([triangle_world] * 2),
            symmetries=triangle,
            loss=MSL(0.0, 0.0),
            fast=False,
            **SMALL | variant,
        )
        ours = recorded(model)
        for name, entries in parameters(ppo).items():
            torch.testing.assert_close(entries, parameters(model)[name], rtol=1e-5, atol=1e-6)
        added = set(ours) - set(theirs)
        assert set(theirs) < set(ours)
        assert all(name.startswith("symmetry/") or name == "time/fit" for name in added)
        for name, value in theirs.items():
            if name.startswith("train/"):
                assert ours[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name


LOSSES = {
    "MSL": MSL(1.0),
    "PSL": PSL(0.1),
    "ASL": ASL(0.5, fit=PairwiseFit(update_weight=lambda error: 0.1)),
    "mixed": {"a": ASL(0.5), "b": MSL(1.0), "d": PSL(0.1)},
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("fast", [False, None])
def test_a_loss_makes_the_policy_more_symmetric(
    triangle: SymmetryGroup, triangle_world: World, name: str, fast: bool | None
) -> None:
    """Against plain PPO from the same start, in states that it has not seen."""

    def asymmetry(model: PPO) -> float:
        observations = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
        differences = [
            transform.action(model.predict(observations, deterministic=True)[0])
            - model.predict(transform.observation(observations), deterministic=True)[0]
            for transform in triangle
        ]
        return float(np.abs(differences).mean())

    common = SMALL | {"learning_rate": 3e-3, "n_epochs": 10}
    common["policy_kwargs"] = {"net_arch": [16], "ortho_init": False}
    plain = PPO("MlpPolicy", triangle_world(), **common).learn(320)
    loss = LOSSES[name]
    model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, fast=fast, **common)
    model.learn(320)
    assert asymmetry(model) < 0.8 * asymmetry(plain)


class TestSaveAndLoad:
    @pytest.mark.parametrize("name", LOSSES)
    def test_continues_identically(
        self, triangle: SymmetryGroup, triangle_world: World, tmp_path: Path, name: str
    ) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=LOSSES[name], **SMALL)
        model.learn(96)
        model.save(tmp_path / "model.zip")
        loaded = SymmetricPPO.load(tmp_path / "model.zip", env=triangle_world(), device="cpu")
        assert loaded.symmetries == triangle
        assert loaded.action_maps().keys() == model.action_maps().keys()
        model.set_env(DummyVecEnv([triangle_world]))
        for one in (model, loaded):
            set_random_seed(5)
            one.env.seed(5)
            one.learn(64, reset_num_timesteps=False)
        assert_equal(model, loaded)
        assert model.symmetry_metrics() == loaded.symmetry_metrics()
        for key, entries in model.symmetry_state().items():
            np.testing.assert_array_equal(entries, loaded.symmetry_state()[key])

    def test_state_as_plain_arrays(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        first, second = (
            SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=LOSSES["ASL"], **SMALL)
            for _ in range(2)
        )
        first.learn(96)
        state = first.symmetry_state()
        assert state
        assert all(isinstance(entries, np.ndarray) and entries.dtype != object for entries in state.values())
        second.set_symmetry_state(copy.deepcopy(state))
        assert second.symmetry_state().keys() == state.keys()
        for name, estimator in first.action_maps().items():
            np.testing.assert_array_equal(estimator.multipliers, second.action_maps()[name].multipliers)
            np.testing.assert_array_equal(estimator.weights, second.action_maps()[name].weights)

    def test_state_of_another_loss_is_refused(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        adaptive, mirror = (
            SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, **SMALL)
            for loss in (LOSSES["ASL"], MSL())
        )
        with pytest.raises(ValueError, match="holds 'fit'"):
            mirror.set_symmetry_state(adaptive.symmetry_state())

    def test_another_loss_on_loading(
        self, triangle: SymmetryGroup, triangle_world: World, tmp_path: Path
    ) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=LOSSES["ASL"], **SMALL)
        model.learn(32).save(tmp_path / "model.zip")
        loaded = SymmetricPPO.load(tmp_path / "model.zip", env=triangle_world(), loss=MSL())
        loaded.learn(32)
        assert {metric for metric, *_ in loaded.symmetry_metrics()} == {"value_distance"}

    def test_another_loss_among_custom_objects(
        self, triangle: SymmetryGroup, triangle_world: World, tmp_path: Path
    ) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=LOSSES["ASL"], **SMALL)
        model.learn(32).save(tmp_path / "model.zip")
        loaded = SymmetricPPO.load(tmp_path / "model.zip", triangle_world(), "cpu", {"loss": MSL()})
        loaded.learn(32)
        assert {metric for metric, *_ in loaded.symmetry_metrics()} == {"value_distance"}

    def test_another_loss_by_assignment(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=LOSSES["ASL"], **SMALL)
        model.learn(32)
        maps = model.action_maps()
        model.learn(32, reset_num_timesteps=False)
        assert model.action_maps().keys() == maps.keys()
        model.loss = MSL()
        model.learn(32, reset_num_timesteps=False)
        assert {metric for metric, *_ in model.symmetry_metrics()} == {"value_distance"}
        model.loss = PSL(policy_weight={"a": 1.0})
        with pytest.raises(ValueError, match="no number for transform 'b'"):
            model.learn(32)


class Squares(BaseFeaturesExtractor):
    """A feature extractor with parameters of its own."""

    def __init__(self, space: spaces.Box) -> None:
        super().__init__(space, 6)
        self.linear = torch.nn.Linear(space.shape[0], 6)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.linear(observations).square()


@pytest.mark.parametrize("shared", [True, False])
def test_feature_extractors(triangle: SymmetryGroup, triangle_world: World, shared: bool) -> None:
    kwargs = {"features_extractor_class": Squares, "share_features_extractor": shared, "net_arch": [8]}
    model = SymmetricPPO(
        "MlpPolicy", triangle_world(), symmetries=triangle, loss=ASL(), **SMALL | {"policy_kwargs": kwargs}
    )
    before = parameters(model)
    model.learn(64)
    assert all((entries != before[name]).any() for name, entries in parameters(model).items())


def test_dict_observations(world: type) -> None:
    mirror = Symmetry.from_maps(
        "mirror",
        DictMap({"legs": IndexMap([1, 0], [1, 1]), "body": IndexMap([0, 1, 2], [1, -1, 1])}),
        IndexMap([1, 0], [-1, -1]),
    )
    space = spaces.Dict(
        {"body": spaces.Box(-9, 9, (3,), np.float32), "legs": spaces.Box(-9, 9, (2,), np.float32)}
    )
    model = SymmetricPPO(
        "MultiInputPolicy",
        DummyVecEnv([lambda: world(space, spaces.Box(-1, 1, (2,), np.float32))] * 2),
        symmetries=SymmetryGroup([mirror]),
        loss=ASL(0.5, dead_zone=0.5),
        **SMALL,
    )
    model.learn(128)
    metrics = {metric: value for metric, _, _, value in model.symmetry_metrics()}
    assert 0 < metrics["neutral_rejection_ratio"] < 1


class TestDiscreteActions:
    """MSL on log-probabilities: a policy that only learns the mirror loss becomes symmetric."""

    @pytest.mark.parametrize(
        ("space", "indices"),
        [
            (spaces.Discrete(3), [1, 0, 2]),
            (spaces.MultiDiscrete([2, 3, 2]), [5, 6, 2, 4, 3, 0, 1]),
            (spaces.MultiBinary(4), [1, 0, 3, 2]),
        ],
    )
    def test_permutations(self, world: type, space: Any, indices: list[int]) -> None:
        mirror = Symmetry(
            "mirror",
            obs_indices=[1, 0, 2],
            obs_multipliers=[1, 1, -1],
            act_indices=indices,
            act_multipliers=[1] * len(indices),
        )
        environment = world(spaces.Box(-9, 9, (3,), np.float32), space)
        common = SMALL | {"learning_rate": 1e-2, "policy_kwargs": {"net_arch": [8], "ortho_init": False}}
        model = SymmetricPPO(
            "MlpPolicy", environment, symmetries=SymmetryGroup([mirror]), loss=MSL(100.0), **common
        )
        observations = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))

        def asymmetry() -> float:
            with torch.no_grad():
                images = mirror.observation(observations)
                there = log_probabilities(model, images)
                return float((mirror.action(log_probabilities(model, observations)) - there).abs().mean())

        before = asymmetry()
        model.learn(320)
        assert asymmetry() < 0.4 * before


def log_probabilities(model: PPO, observations: torch.Tensor) -> torch.Tensor:
    found = model.policy.get_distribution(observations).distribution
    if isinstance(found, list):
        return torch.cat([part.logits for part in found], dim=1)
    return found.logits


@pytest.mark.parametrize("fast", [False, None])
def test_sampled_images_make_the_policy_symmetric(
    triangle: SymmetryGroup, triangle_world: World, fast: bool | None
) -> None:
    model = SymmetricPPO(
        "MlpPolicy",
        triangle_world(),
        symmetries=triangle,
        loss=MSL(100.0),
        symmetry_samples=1,
        fast=fast,
        **SMALL,
    )
    observations = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))

    def means(states: torch.Tensor) -> torch.Tensor:
        return model.policy.get_distribution(states).distribution.mean

    @torch.no_grad()
    def asymmetry() -> float:
        return sum(
            float((one.action(means(observations)) - means(one.observation(observations))).square().mean())
            for one in triangle
        )

    before = asymmetry()
    model.learn(320)
    assert asymmetry() < 0.3 * before


class TestLogs:
    def test_names(self, triangle: SymmetryGroup, triangle_world: World) -> None:
        loss = ASL(fit=PairwiseFit())
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=loss, **SMALL)
        names = recorded(model)
        assert {
            "train/policy_gradient_loss",
            "train/explained_variance",
            "symmetry/policy_loss",
            "symmetry/value_loss",
            "symmetry/value_distance/a",
            "symmetry/neutral_rejection_ratio/b",
            "symmetry/value_gate_ratio/c",
            "symmetry/target_m/0->1",
            "symmetry/target_b/2->2",
            "symmetry/function_weight/0->2",
            "symmetry/cycle_decay/1->2",
            "symmetry/map_m/a/0",
            "symmetry/map_b/e/2",
        } <= set(names)

    def test_value_distance_is_taken_before_the_update(
        self, triangle: SymmetryGroup, triangle_world: World
    ) -> None:
        model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), **SMALL)

        class Before(BaseCallback):
            expected: dict[str, float]

            def _on_step(self) -> bool:
                return True

            def _on_rollout_end(self) -> None:
                buffer = self.model.rollout_buffer
                observations = torch.as_tensor(buffer.observations[:, 0])
                with torch.no_grad():
                    self.expected = {
                        transform.name: float(
                            (
                                self.model.policy.predict_values(
                                    transform.observation(observations)
                                ).flatten()
                                - torch.as_tensor(buffer.values[:, 0])
                            )
                            .abs()
                            .mean()
                        )
                        for transform in triangle
                    }

        callback = Before()
        model.learn(32, callback=callback)
        found = {
            transform: value
            for metric, transform, _, value in model.symmetry_metrics()
            if metric == "value_distance"
        }
        assert found == pytest.approx(callback.expected, rel=1e-5)


def test_one_thread_while_it_learns(triangle: SymmetryGroup, triangle_world: World) -> None:
    seen = []

    class Count(BaseCallback):
        def _on_step(self) -> bool:
            seen.append(torch.get_num_threads())
            return True

    torch.set_num_threads(2)
    model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), **SMALL)
    model.learn(32, callback=Count())
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2


def test_target_kl_ends_an_epoch(triangle: SymmetryGroup, triangle_world: World, capsys: Any) -> None:
    common = SMALL | {"n_epochs": 20, "learning_rate": 0.05, "target_kl": 0.001, "verbose": 1}
    model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), fast=False, **common)
    model.learn(32)
    assert model._n_updates < 20
    assert "target_kl was exceeded" in capsys.readouterr().out


@pytest.mark.parametrize(("ours", "theirs"), [(SymmetricPPO, PPO), (SymmetricA2C, A2C), (SymmetricSAC, SAC)])
def test_logs_come_as_often_as_from_stable_baselines(ours: type, theirs: type) -> None:
    intervals = [inspect.signature(one.learn).parameters["log_interval"].default for one in (ours, theirs)]
    assert intervals[0] == intervals[1]


def test_no_interval_is_no_log(triangle: SymmetryGroup, triangle_world: World) -> None:
    model = SymmetricPPO("MlpPolicy", triangle_world(), symmetries=triangle, loss=MSL(), **SMALL)
    assert not recorded(model, log_interval=None)
    assert recorded(model)
