"""From a run's configuration to its environments, symmetries and model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import torch
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from ambidex.experiment.configure.config import Hyperparameters, RunConfig
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn import SymmetricPPO
    from ambidex.learn.fits.protocol import Weight

EVALUATION_SEED_OFFSET = 1_000_000
_TRIANGLE = "ambidex/Triangle-v0"
_ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "elu": torch.nn.ELU}


def symmetry_source(config: RunConfig) -> str | None:
    """The file or catalog name of the symmetries that a run uses."""
    if config.symmetry is not None or config.scenario is None:
        return config.symmetry
    from ambidex.envs import scenarios

    return scenarios.get(config.scenario).symmetry


def training_environment(config: RunConfig) -> VecEnv:
    """The environments that a run learns from, all in this process."""
    count = config.hyperparameters.num_envs
    if _environment_id(config) == _TRIANGLE:
        from ambidex.envs.triangle.robot import TriangleVecEnv

        return TriangleVecEnv(count, scenario=config.scenario or "triangle", seed=config.seed)
    return DummyVecEnv([lambda: Monitor(_make(config)) for _ in range(count)])


def evaluation_environment(config: RunConfig, **options: Any) -> gym.Env:
    """A second environment, with its own goals and generator."""
    if config.scenario is not None:
        options["evaluation"] = True
    return _make(config, **options)


def robot_age(config: RunConfig, steps: int) -> int:
    """The training steps in the life of a robot after ``steps`` of a run.

    Robots that are stepped together age each by its own steps; the triangles share one life.
    """
    return steps if _environment_id(config) == _TRIANGLE else steps // config.hyperparameters.num_envs


def build_model(config: RunConfig, env: VecEnv, group: SymmetryGroup | None) -> SymmetricPPO:
    """An untrained model, seeded."""
    from ambidex.learn import SymmetricPPO

    h = config.hyperparameters
    return SymmetricPPO(
        policy_name(env.observation_space),
        env,
        symmetries=group,
        loss=_loss(config, group),
        symmetry_samples=h.symmetry_samples,
        fast=h.fast,
        learning_rate=h.learning_rate,
        n_steps=h.n_steps,
        batch_size=h.batch_size,
        n_epochs=h.n_epochs,
        gamma=h.gamma,
        gae_lambda=h.gae_lambda,
        clip_range=h.clip_range,
        ent_coef=h.ent_coef,
        vf_coef=h.vf_coef,
        max_grad_norm=h.max_grad_norm,
        policy_kwargs=policy_arguments(h),
        seed=config.seed,
        device="cpu",
    )


def policy_name(observation_space: gym.Space[Any]) -> str:
    return "MultiInputPolicy" if isinstance(observation_space, gym.spaces.Dict) else "MlpPolicy"


def policy_arguments(hyperparameters: Hyperparameters) -> dict[str, Any]:
    layers = list(hyperparameters.net_arch)
    return {
        "net_arch": {"pi": layers, "vf": layers},
        "activation_fn": _ACTIVATIONS[hyperparameters.activation],
        "log_std_init": hyperparameters.log_std_init,
        "ortho_init": hyperparameters.ortho_init,
    }


def build_policy(config: RunConfig, env: gym.Env) -> ActorCriticPolicy:
    """The bare policy of a run, untrained, for playing and exporting."""
    from stable_baselines3 import PPO

    kind = PPO.policy_aliases[policy_name(env.observation_space)]
    arguments = policy_arguments(config.hyperparameters)
    policy = kind(env.observation_space, env.action_space, lr_schedule=lambda _: 0.0, **arguments)
    policy.set_training_mode(False)
    return policy  # type: ignore[return-value]


def _make(config: RunConfig, **options: Any) -> gym.Env:
    from ambidex.envs.making import make

    if config.scenario is not None:
        options["scenario"] = config.scenario
    return make(_environment_id(config), disable_env_checker=True, **options)


def _environment_id(config: RunConfig) -> str:
    if config.scenario is None:
        return str(config.env)
    from ambidex.envs import scenarios

    return config.env or scenarios.get(config.scenario).env


def _loss(config: RunConfig, group: SymmetryGroup | None) -> Any:
    """The symmetry loss of the method; None for plain PPO, whose symmetries are only measured."""
    from ambidex.learn import ASL, MSL, PSL

    h = config.hyperparameters
    if config.method == "ppo" or group is None:
        return None
    if config.method == "msl":
        return MSL(policy_weight=h.policy_weight, value_weight=h.value_weight)
    if config.method == "psl":
        return PSL(policy_weight=h.policy_weight, value_weight=h.value_weight)
    dead_zone = {
        symmetry.name: h.dead_zone_rotations if symmetry.kind == "rotation" else h.dead_zone_reflections
        for symmetry in group
    }
    return ASL(
        policy_weight=h.policy_weight,
        value_weight=h.value_weight,
        max_shift=h.max_shift,
        dead_zone=dead_zone,
        value_gate=h.value_gate,
        history=h.history,
        fit=_fit(config),
    )


def _fit(config: RunConfig) -> Any:
    """How ASL's action maps are fitted; None keeps the given ones."""
    from ambidex.learn import CalibratedFit, PairwiseFit, TransitionFit

    h = config.hyperparameters
    if h.form is None:
        return None
    if h.fit == "pairwise":
        return PairwiseFit(form=h.form, update_weight=_scaled(PairwiseFit.update_weight, h.update_weight))
    if h.fit == "transition":
        return TransitionFit(
            offsets=h.form == "mx+b", update_weight=_scaled(TransitionFit.update_weight, h.update_weight)
        )
    return CalibratedFit(
        offsets=h.form == "mx+b", update_weight=_scaled(CalibratedFit.update_weight, h.update_weight)
    )


def _scaled(penalty: Weight, largest: float | None) -> Weight:
    """A fit's own H_U, or the same with another value at 0."""
    if largest is None:
        return penalty
    factor = largest / penalty(0.0)
    return lambda error: factor * penalty(error)
