"""The roll-out of a plain policy, and its mean actions for evaluation.

`collect_rollouts` does what Stable-Baselines3's method of that name does: the same noise, and actions, values
and log-probabilities that agree to rounding; the same buffer, callbacks and their locals. Only the way
through the policy is shorter: a few products of numpy matrices, which for single states cost a fraction of
the same products by torch. The weights are read once, after the callback's start. What the critic says of all
states is computed at the end, in large products; step by step only for callbacks that may read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv
from threadpoolctl import threadpool_limits

from ambidex.learn.networks.actuated import Actuated, within
from ambidex.learn.update.fast.plain_mlp import Activation, Layer, PlainMlp, dense, why_not_plain

Array = npt.NDArray[Any]
CHUNK = 1024  # rows of one product, whose results stay in the processor's cache
Function = TypeVar("Function", bound=Callable[..., Any])


def one_blas_thread(function: Function) -> Function:
    """Two threads for products as small as these cost more than they save."""
    return threadpool_limits.wrap(limits=1, user_api="blas")(function)  # type: ignore[no-any-return]


class _Network:
    """A forward pass for a few rows.

    OpenBLAS now and then raises the processor's flag for invalid numbers in a product of finite ones. What
    really is not finite is found where rewards, observations and losses are checked.
    """

    def __init__(self, layers: list[Layer], activation: Activation) -> None:
        # A transposed copy, since OpenBLAS multiplies few rows by it up to three times faster than by a view.
        arrays = [(weight.numpy().T.copy(), bias.numpy()) for weight, bias in dense(layers)]
        *self.hidden, (self.weight, self.bias) = arrays
        self.activate = np.tanh if activation == "tanh" else partial(np.maximum, 0)

    @np.errstate(invalid="ignore")
    def __call__(self, observations: Array) -> Array:
        rows = observations.reshape(len(observations), -1).astype(self.bias.dtype, copy=False)
        for weight, bias in self.hidden:
            rows = np.dot(rows, weight)
            rows += bias
            self.activate(rows, out=rows)
        outputs: Array = np.dot(rows, self.weight)
        outputs += self.bias
        return outputs


def why_not_rollout(model: OnPolicyAlgorithm) -> str | None:
    """Why the fast roll-out cannot serve this model, in words; None if it can."""
    if type(model.rollout_buffer) is not RolloutBuffer:
        return f"the roll-out buffer is a {type(model.rollout_buffer).__name__}, not a RolloutBuffer"
    return why_not_plain(model.policy)


@one_blas_thread
def collect_rollouts(
    model: OnPolicyAlgorithm,
    env: VecEnv,
    callback: BaseCallback,
    rollout_buffer: RolloutBuffer,
    n_rollout_steps: int,
) -> bool:
    """Fill the buffer with ``n_rollout_steps`` steps of each environment.

    :param model: an algorithm whose policy is plain (`why_not_plain`)
    :param env: the training environments
    :param callback: called at the start, after each step and at the end; finds in its ``locals`` what
        Stable-Baselines3 puts there
    :param rollout_buffer: a `RolloutBuffer` itself, since its arrays are written directly
    :param n_rollout_steps: steps for each environment
    :return: False if the callback ended the training
    """
    model.policy.set_training_mode(False)
    n_steps = 0
    rollout_buffer.reset()
    callback.on_rollout_start()

    policy = PlainMlp.of(model.policy)
    actor, critic = _Network(policy.actor, policy.activation), _Network(policy.critic, policy.activation)
    std = policy.dense_log_std().exp().numpy()
    log_density_at_mean = (-np.log(std).sum() - len(std) * math.log(2 * math.pi) / 2).astype(std.dtype)
    deviation = np.empty((env.num_envs, len(std)), std.dtype)
    noise = torch.from_numpy(deviation)  # the same memory
    low = model.action_space.low  # type: ignore[attr-defined]
    to_robot = _commands(model.policy)
    shows_values = _may_read_values(callback)
    while n_steps < n_rollout_steps:
        obs: Array = model._last_obs  # type: ignore[assignment]
        noise.normal_()
        actions = (actor(obs) + deviation * std).reshape(-1, *low.shape)
        clipped_actions = to_robot(actions)
        log_densities = log_density_at_mean - 0.5 * (deviation * deviation).sum(axis=1)
        obs_tensor, log_probs = torch.from_numpy(obs), torch.from_numpy(log_densities)
        if shows_values:
            values = torch.from_numpy(critic(obs))
        new_obs, rewards, dones, infos = env.step(clipped_actions)

        model.num_timesteps += env.num_envs
        callback.update_locals({**locals(), "self": model})
        if not callback.on_step():
            return False

        model._update_info_buffer(infos, dones)
        if dones.any():
            _bootstrap_truncated(critic, model.gamma, rewards, dones, infos)
        rollout_buffer.observations[n_steps] = obs
        rollout_buffer.actions[n_steps] = actions.reshape(env.num_envs, -1)
        rollout_buffer.rewards[n_steps] = rewards
        rollout_buffer.episode_starts[n_steps] = model._last_episode_starts
        rollout_buffer.log_probs[n_steps] = log_densities
        if shows_values:
            rollout_buffer.values[n_steps] = values[:, 0]
        n_steps += 1
        rollout_buffer.pos = n_steps
        rollout_buffer.full = n_steps == rollout_buffer.buffer_size
        model._last_obs = new_obs  # type: ignore[assignment]
        model._last_episode_starts = dones

    rollout_buffer.values[:n_steps] = _values(critic, rollout_buffer.observations[:n_steps])
    values = torch.from_numpy(critic(new_obs))  # type: ignore[arg-type]
    rollout_buffer.compute_returns_and_advantage(last_values=values, dones=dones)
    callback.update_locals({**locals(), "self": model})
    callback.on_rollout_end()
    return True


def _may_read_values(callback: BaseCallback) -> bool:
    """Whether a callback may look at what the critic says of each state; one that does not may say so with
    an attribute ``reads_values = False``."""
    if type(callback) is CallbackList:
        return any(map(_may_read_values, callback.callbacks))
    if type(callback) is ConvertCallback:
        return callback.callback is not None
    return getattr(callback, "reads_values", True)


def _values(critic: _Network, observations: Array) -> Array:
    """(steps, environments) what a critic says of all states of a roll-out."""
    steps, environments = observations.shape[:2]
    rows = observations.reshape(steps * environments, -1)
    values = [critic(rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]
    return np.concatenate(values).reshape(steps, environments)


def _commands(policy: Any) -> Callable[[Array], Array]:
    """From what the network says to what the environment gets."""
    if isinstance(policy, Actuated):
        return policy.commands()
    return partial(within, low=policy.action_space.low, high=policy.action_space.high)


def _bootstrap_truncated(
    critic: _Network, gamma: float, rewards: Array, dones: Array, infos: list[dict[str, Any]]
) -> None:
    """Add the value of the state where an episode was cut off to its last reward, in place."""
    for index in np.flatnonzero(dones):
        last = infos[index].get("terminal_observation")
        if last is not None and infos[index].get("TimeLimit.truncated", False):
            rewards[index] += gamma * critic(last[None]).item()


def robot_action(policy: BasePolicy, observations: Any, *, deterministic: bool) -> Array:
    """What a policy answers; a choice as a number, which Stable-Baselines3 gives as an array of no axes."""
    actions: Array = np.asarray(policy.predict(observations, deterministic=deterministic)[0])[()]
    return actions


def mean_actions(policy: BasePolicy) -> Callable[[Any], Array]:
    """The policy as it is now without its noise: from an observation, or a batch of them, to clipped actions.

    :param policy: any; a plain one takes the short way
    """
    if why_not_plain(policy) is not None:
        return lambda observations: robot_action(policy, observations, deterministic=True)
    plain = PlainMlp.of(policy)
    actor = _Network(plain.actor, plain.activation)
    low = policy.action_space.low  # type: ignore[attr-defined]
    to_robot = _commands(policy)
    size = math.prod(policy.observation_space.shape or ())

    def act(observations: Array) -> Array:
        is_one = observations.size == size and observations.ndim == len(policy.observation_space.shape or ())
        actions = actor(observations.reshape(-1, size)).reshape(-1, *low.shape)
        clipped = to_robot(actions)
        return clipped[0] if is_one else clipped

    return act
