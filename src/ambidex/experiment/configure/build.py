"""From a run's configuration to its environments, symmetries and model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium as gym
import numpy as np
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv

from ambidex.experiment.configure.algorithms import ALGORITHMS, Algorithm
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.fits import make_fit
from ambidex.experiment.configure.methods import METHODS
from ambidex.experiment.configure.normalization import normalized
from ambidex.experiment.configure.stepping import step_together
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn.algorithm import SymmetricAlgorithm

_Environment = TypeVar("_Environment", VecEnv, gym.Env)
EVALUATION_SEED_OFFSET = 1_000_000
_TRIANGLE = "ambidex/Triangle-v0"


def symmetry_source(config: RunConfig) -> str | None:
    """The file or catalog name of the symmetries that a run uses."""
    if config.symmetry is not None or config.scenario is None:
        return config.symmetry
    from ambidex.envs import scenarios

    return scenarios.get(config.scenario).symmetry


def training_environment(config: RunConfig, group: SymmetryGroup | None = None) -> VecEnv:
    """The environments that a run learns from, as its method shows them."""
    count = config.hyperparameters.num_envs
    env: VecEnv
    if _are_one_array(config):
        from ambidex.envs.triangle.robot import TriangleVecEnv

        env = TriangleVecEnv(count, scenario=config.scenario or "triangle", seed=config.seed)
    elif config.stepping == "vector":
        from ambidex.experiment.configure.vectorized import make_vector

        env = make_vector(config.environment_id, count, **_options(config))
    else:
        env = step_together(lambda: Monitor(_make(config)), count, config.stepping)
    shown = _wrapped(env, config, group)
    h = config.hyperparameters
    return normalized(shown, group, h.gamma, observations=h.normalize is True) if h.normalize else shown


def evaluation_environment(config: RunConfig, group: SymmetryGroup | None = None) -> gym.Env:
    """A second environment, with its own goals and generator, as the run's method shows it."""
    evaluation = {} if config.scenario is None else {"evaluation": True}
    return _wrapped(_make(config, **evaluation), config, group)


def _wrapped(env: _Environment, config: RunConfig, group: SymmetryGroup | None) -> _Environment:
    wrap = METHODS.get(config.method).wrap
    return env if wrap is None or group is None else wrap(env, config, group)


def robot_age(config: RunConfig, steps: int) -> int:
    """The training steps in the life of a robot after ``steps`` of a run.

    Robots that are stepped together age each by its own steps; the triangles share one life.
    """
    return steps if _are_one_array(config) else steps // config.hyperparameters.num_envs


def set_age(env: gym.Env, config: RunConfig, steps: int) -> None:
    """Where a robot changes over its training life, let it be as old as after ``steps`` of a run."""
    robot: Any = env.unwrapped
    if hasattr(robot, "training_steps"):
        robot.training_steps = robot_age(config, steps)


def build_model(config: RunConfig, env: VecEnv, group: SymmetryGroup | None) -> SymmetricAlgorithm:
    """An untrained model, seeded."""
    h = config.hyperparameters
    algorithm = ALGORITHMS.get(config.algorithm)
    _refuse_actions(algorithm, env.action_space)
    kind: Any = algorithm.model()
    own = algorithm.arguments(h)
    method = method_arguments(config, env.observation_space, group)
    if isinstance(env.action_space, gym.spaces.Box):
        unit = unit_of_noise(env.action_space)
        if "log_std_init" in method["policy_kwargs"]:
            method["policy_kwargs"]["log_std_init"] += math.log(unit)
        if "std_floor" in own:
            own["std_floor"] *= unit
    else:
        own.pop("std_floor", None)  # choices have no noise of their own
    model: SymmetricAlgorithm = kind(
        env=env,
        **method,
        symmetries=group,
        symmetry_samples=h.symmetry_samples,
        actuators=None if h.actuators is None else make_fit(h.actuators, "mx", h),
        **own,
        seed=config.seed,
        device="cpu",
    )
    return model


def _refuse_actions(algorithm: Algorithm, space: gym.Space[Any]) -> None:
    """What Stable-Baselines3 would only assert."""
    if not isinstance(space, gym.spaces.Box):
        if algorithm.only_boxes:
            raise ValueError(
                f"algorithm {algorithm.name!r} needs continuous actions (a Box); the environment has {space}"
            )
    elif not (np.isfinite(space.low) & np.isfinite(space.high)).all():
        raise ValueError(f"the environment's actions have no bounds: {space}; wrap it so that they have some")


def unit_of_noise(space: gym.spaces.Box) -> float:
    """What a std of 1 in a configuration is for these actions: less where their ranges are narrower than 1.

    The geometric mean of the half ranges, and never more than 1; the ranges are bounded.
    """
    half = (space.high.astype(float) - space.low) / 2
    moving = half[half > 0]
    return min(1.0, float(np.exp(np.log(moving).mean()))) if len(moving) else 1.0


def policy_name(observation_space: gym.Space[Any]) -> str:
    return "MultiInputPolicy" if isinstance(observation_space, gym.spaces.Dict) else "MlpPolicy"


def method_arguments(
    config: RunConfig, observation_space: gym.Space[Any], group: SymmetryGroup | None
) -> dict[str, Any]:
    """What a run's method decides: its policy and what that takes, its loss and the like."""
    algorithm = ALGORITHMS.get(config.algorithm)
    own = (
        {} if group is None else algorithm.adapted(dict(METHODS.get(config.method).arguments(config, group)))
    )
    policy_kwargs = algorithm.policy_arguments(config.hyperparameters) | own.pop("policy_kwargs", {})
    return {"policy": policy_name(observation_space), "policy_kwargs": policy_kwargs} | own


def build_policy(config: RunConfig, env: gym.Env, group: SymmetryGroup | None) -> BasePolicy:
    """The bare policy of a run, untrained, for playing and exporting."""
    from ambidex.learn.networks.actuated import actuated

    method = method_arguments(config, env.observation_space, group)
    kind: Any = ALGORITHMS.get(config.algorithm).model().policy_aliases[method["policy"]]
    if config.hyperparameters.actuators is not None:
        kind = actuated(kind)
    policy: BasePolicy = kind(
        env.observation_space, env.action_space, lr_schedule=lambda _: 0.0, **method["policy_kwargs"]
    )
    policy.set_training_mode(False)
    return policy


def _are_one_array(config: RunConfig) -> bool:
    """Whether the robots are triangles that are stepped as one, which have no arguments but the scenario."""
    return config.environment_id == _TRIANGLE and config.stepping != "processes" and not config.env_args


def _make(config: RunConfig, **options: Any) -> gym.Env:
    from ambidex.envs.making import make

    return make(config.environment_id, disable_env_checker=True, **_options(config), **options)


def _options(config: RunConfig) -> dict[str, Any]:
    scenario = {} if config.scenario is None else {"scenario": config.scenario}
    ours = {"id", "disable_env_checker", *scenario} | ({"evaluation"} if scenario else set())
    if config.stepping == "vector":
        ours |= {"num_envs", "vectorization_mode"}
    if given := ours & config.env_args.keys():
        raise ValueError(
            f"env_args: {min(given)} is what a run tells its environment by itself; leave it out"
            + ("; another scenario is another run" if "scenario" in given else "")
        )
    return config.env_args | scenario
