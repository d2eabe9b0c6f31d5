"""Algorithms by name: what they take, what they refuse, and how a user adds one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from ambidex import symmetry
from ambidex.experiment.configure import build
from ambidex.experiment.configure.algorithms import ALGORITHMS, Algorithm, plain_way, way_label
from ambidex.experiment.configure.config import Hyperparameters, RunConfig, parse
from ambidex.experiment.configure.presets import configure, resolve
from ambidex.experiment.many_runs.reading import load_runs
from ambidex.experiment.one_run import run
from ambidex.learn import MSL, SymmetricA2C, SymmetricPPO, SymmetricTRPO
from ambidex.report import summarise


@pytest.fixture
def mine() -> Iterator[Algorithm]:
    algorithm = replace(
        ALGORITHMS.get("a2c"), name="mine", label="Mine", refused={"psl": "it knows no trust region"}
    )
    ALGORITHMS.register(algorithm)
    yield algorithm
    ALGORITHMS.remove("mine")


@pytest.mark.parametrize("algorithm", list(ALGORITHMS), ids=lambda algorithm: algorithm.name)
def test_settings_are_keywords_of_the_class(algorithm: Algorithm) -> None:
    names = set(algorithm.hyperparameters)
    assert names <= set(Hyperparameters.model_fields)
    keywords = {name for kind in algorithm.model().__mro__ for name in inspect.signature(kind).parameters}
    assert names <= keywords


def test_the_zoos_values_and_of_ppos_presets_what_all_share() -> None:
    a2c, trpo = (resolve("A2.1", "msl", {"algorithm": name}) for name in ("a2c", "trpo"))
    h = a2c.hyperparameters
    assert (h.num_envs, h.n_steps, h.learning_rate, h.gae_lambda, h.vf_coef) == (4, 8, 3e-4, 0.9, 0.4)
    assert not h.normalize_advantage
    h = trpo.hyperparameters
    assert (h.num_envs, h.n_steps, h.batch_size, h.cg_max_steps, h.n_critic_updates) == (2, 1024, 128, 25, 20)
    ppo = resolve("A2.1", "msl", {})
    for config in (a2c, trpo):
        assert config.steps == ppo.steps
        assert config.iteration_steps == ppo.iteration_steps == 4096
        assert config.hyperparameters.policy_weight == ppo.hyperparameters.policy_weight
        assert config.hyperparameters.net_arch == ppo.hyperparameters.net_arch


@pytest.mark.parametrize("name", ["a2c", "trpo", "sac"])
def test_what_was_found_for_ppos_rewards_and_noise_is_not_passed_on(name: str) -> None:
    ppo = resolve("A2.1", "equivariant", {}).hyperparameters
    assert (ppo.normalize, ppo.log_std_init) == ("rewards", 0.0)
    other = resolve("A2.1", "equivariant", {"algorithm": name}).hyperparameters
    assert (other.normalize, other.log_std_init) == (False, -1.0)


@pytest.mark.parametrize(
    ("name", "kind"), [("ppo", SymmetricPPO), ("a2c", SymmetricA2C), ("trpo", SymmetricTRPO)]
)
def test_settings_reach_the_model(name: str, kind: type) -> None:
    overrides = {"algorithm": name, "n_steps": 6, "num_envs": 2, "gamma": 0.5, "symmetry_samples": 1}
    own = {"a2c": {"symmetry_clip_range": 0.3, "fit_states": 64}, "trpo": {"batch_size": 4, "target_kl": 0.5}}
    config = resolve("triangle", "msl", overrides | own.get(name, {"batch_size": 4}))
    model = build.build_model(config, build.training_environment(config), symmetry.load("triangle"))
    assert type(model) is kind
    assert isinstance(model.loss, MSL)
    assert (model.n_steps, model.gamma, model.symmetry_samples) == (6, 0.5, 1)
    for key, value in own.get(name, {}).items():
        assert getattr(model, key) == value


@pytest.mark.parametrize(
    ("algorithm", "setting", "words"),
    [
        ("a2c", {"n_epochs": 3}, "'a2c' takes no n_epochs, which is for ppo"),
        ("trpo", {"hyperparameters": {"vf_coef": 1.0}}, "'trpo' takes no vf_coef, which is for ppo and a2c"),
        ("ppo", {"cg_damping": 0.2}, "'ppo' takes no cg_damping, which is for trpo"),
    ],
)
def test_a_setting_of_another_algorithm_is_refused(algorithm: str, setting: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve("triangle", "msl", {"algorithm": algorithm, **setting})


def test_a_setting_without_effect_is_refused() -> None:
    with pytest.raises(ValueError, match="'sac' takes no log_std_init; leave it out"):
        resolve("triangle", "msl", {"algorithm": "sac", "log_std_init": -2.0})
    with pytest.raises(ValueError, match="method 'augment' of algorithm 'sac' takes no policy_weight"):
        resolve("triangle", "augment", {"algorithm": "sac", "policy_weight": 2.0})
    assert resolve("triangle", "msl", {"algorithm": "sac", "policy_weight": 2.0})


def test_actions_that_an_algorithm_cannot_use_are_refused() -> None:
    sac = resolve(None, "plain", {"env": "CartPole-v1", "algorithm": "sac"})
    with pytest.raises(ValueError, match=r"'sac' needs continuous actions \(a Box\); .* Discrete\(2\)"):
        build.build_model(sac, build.training_environment(sac), None)
    endless = resolve(None, "plain", {"env": "CartPole-v1"})
    env = build.training_environment(endless)
    env.action_space = spaces.Box(-np.inf, 1.0, (2,))
    with pytest.raises(ValueError, match="actions have no bounds"):
        build.build_model(endless, env, None)


@pytest.mark.parametrize("algorithm", ["a2c", "trpo", "sac"])
def test_on_the_triangle_every_algorithm_is_evaluated_on_the_way(algorithm: str) -> None:
    config = resolve("triangle-rust", "plain", {"algorithm": algorithm})
    assert (config.steps, config.iteration_steps, config.evaluation_every) == (25_600, 256, 10)


def test_runs_are_called_by_method_and_by_algorithm_if_that_is_not_ppo() -> None:
    def called(algorithm: str, method: str) -> str:
        config = resolve("A1.1", method, {"algorithm": algorithm, "seed": 3})
        assert config.directory == Path("A1.1", config.way, "seed-3")
        assert config.title == f"A1.1 {config.way} seed 3"
        return config.way

    assert [called("ppo", method) for method in ("asl", "ppo", "plain")] == ["asl", "ppo", "ppo"]
    assert [called("a2c", method) for method in ("asl", "plain")] == ["a2c-asl", "a2c"]
    assert [way_label(way) for way in ("asl", "a2c", "trpo-asl", "else")] == [
        "ASL",
        "A2C",
        "TRPO ASL",
        "else",
    ]
    assert [plain_way(way) for way in ("asl", "a2c", "trpo-asl", "else")] == ["ppo", "a2c", "trpo", "ppo"]


def test_a_run_that_was_written_before_is_one_of_ppo() -> None:
    before = {"scenario": "A1.1", "method": "asl", "hyperparameters": {"n_steps": 512}}
    config = parse(RunConfig, before)
    assert (config.algorithm, config.rounds, config.iteration_steps) == ("ppo", 1, 512)


def test_an_unknown_algorithm_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"no algorithm 'trop'; did you mean 'trpo'\?"):
        configure(None, ["algorithm=trop"], scenario="A1.1")


def test_a_method_that_an_algorithm_does_not_serve_is_refused_with_the_reason(mine: Algorithm) -> None:
    with pytest.raises(ValueError, match="'psl' is not for algorithm 'mine': it knows no trust region"):
        resolve("triangle", "psl", {"algorithm": "mine"})


def test_an_algorithm_from_outside_the_package_is_trained_and_reported(
    mine: Algorithm, tmp_path: Path, tiny: dict
) -> None:
    values = {key: tiny[key] for key in ("n_steps", "num_envs", "net_arch", "evaluation_episodes")}
    for method in ("plain", "msl"):
        overrides = values | {"algorithm": "mine", "steps": 256, "rounds": 2, "evaluation_every": 1}
        config = resolve("triangle", method, overrides)
        run.train(config, tmp_path / config.directory)
    (scenario,) = summarise(load_runs([tmp_path])).scenarios
    assert [(one.method, one.improvement is None) for one in scenario.methods] == [
        ("mine", True),
        ("mine-msl", False),
    ]
