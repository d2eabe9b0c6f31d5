"""From a run's configuration to its environments, symmetries and model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium as gym
import torch
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from ambidex.experiment.configure.config import Hyperparameters, RunConfig
from ambidex.experiment.configure.fits import FITS
from ambidex.experiment.configure.methods import METHODS
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn import SymmetricPPO

_Environment = TypeVar("_Environment", VecEnv, gym.Env)
EVALUATION_SEED_OFFSET = 1_000_000
_TRIANGLE = "ambidex/Triangle-v0"
_ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "elu": torch.nn.ELU}


def symmetry_source(config: RunConfig) -> str | None:
    """The file or catalog name of the symmetries that a run uses."""
    if config.symmetry is not None or config.scenario is None:
        return config.symmetry
    from ambidex.envs import scenarios

    return scenarios.get(config.scenario).symmetry


def training_environment(config: RunConfig, group: SymmetryGroup | None = None) -> VecEnv:
    """The environments that a run learns from, all in this process, as its method shows them."""
    count = config.hyperparameters.num_envs
    env: VecEnv
    if _environment_id(config) == _TRIANGLE:
        from ambidex.envs.triangle.robot import TriangleVecEnv

        env = TriangleVecEnv(count, scenario=config.scenario or "triangle", seed=config.seed)
    else:
        env = DummyVecEnv([lambda: Monitor(_make(config)) for _ in range(count)])
    return _wrapped(env, config, group)


def evaluation_environment(config: RunConfig, group: SymmetryGroup | None = None, **options: Any) -> gym.Env:
    """A second environment, with its own goals and generator, as the run's method shows it."""
    if config.scenario is not None:
        options["evaluation"] = True
    return _wrapped(_make(config, **options), config, group)


def _wrapped(env: _Environment, config: RunConfig, group: SymmetryGroup | None) -> _Environment:
    wrap = METHODS.get(config.method).wrap
    return env if wrap is None or group is None else wrap(env, config, group)


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
        env=env,
        **method_arguments(config, env.observation_space, group),
        symmetries=group,
        symmetry_samples=h.symmetry_samples,
        actuators=None if h.actuators is None else FITS.get(h.actuators).make("mx", h.update_weight),
        desired_kl=h.desired_kl,
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
        seed=config.seed,
        device="cpu",
    )


def policy_name(observation_space: gym.Space[Any]) -> str:
    return "MultiInputPolicy" if isinstance(observation_space, gym.spaces.Dict) else "MlpPolicy"


def method_arguments(
    config: RunConfig, observation_space: gym.Space[Any], group: SymmetryGroup | None
) -> dict[str, Any]:
    """What a run's method decides: its policy and what that takes, its loss and the like."""
    own = {} if group is None else dict(METHODS.get(config.method).arguments(config, group))
    policy_kwargs = policy_arguments(config.hyperparameters) | own.pop("policy_kwargs", {})
    return {"policy": policy_name(observation_space), "policy_kwargs": policy_kwargs} | own


def policy_arguments(hyperparameters: Hyperparameters) -> dict[str, Any]:
    layers = list(hyperparameters.net_arch)
    return {
        "net_arch": {"pi": layers, "vf": layers},
        "activation_fn": _ACTIVATIONS[hyperparameters.activation],
        "log_std_init": hyperparameters.log_std_init,
        "ortho_init": hyperparameters.ortho_init,
    }


def build_policy(config: RunConfig, env: gym.Env, group: SymmetryGroup | None) -> ActorCriticPolicy:
    """The bare policy of a run, untrained, for playing and exporting."""
    from ambidex.learn import SymmetricPPO
    from ambidex.learn.networks.actuated import actuated

    method = method_arguments(config, env.observation_space, group)
    kind = SymmetricPPO.policy_aliases[method["policy"]]
    if config.hyperparameters.actuators is not None:
        kind = actuated(kind)
    policy = kind(
        env.observation_space, env.action_space, lr_schedule=lambda _: 0.0, **method["policy_kwargs"]
    )
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
