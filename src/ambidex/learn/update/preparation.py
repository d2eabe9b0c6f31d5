"""From a finished roll-out to the constants of its update: transform, snapshot, fit, gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.actuators.action_map import ActionMap
from ambidex.actuators.identification import expected_after_clipping
from ambidex.actuators.transitions import Transitions
from ambidex.learn.fits.bent import FormMap, bend
from ambidex.learn.fits.protocol import FitState, KnowsActionSpace, Metric, WatchesTransitions
from ambidex.learn.losses import gates
from ambidex.learn.losses import terms as losses
from ambidex.learn.losses.methods import ASL, MSL, PSL, SymmetryLoss, common_fit, hyperparameter, only
from ambidex.learn.losses.spread import ObservationWindow
from ambidex.learn.update.forward import snapshot_means, snapshot_values
from ambidex.learn.update.iteration import (
    ASLConstants,
    Gates,
    MSLConstants,
    Observations,
    Prepared,
    PSLConstants,
)
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup


class Preparation:
    """Prepares each iteration, and keeps what lasts from one to the next: the window and the fit.

    :param group: the symmetries; None for plain PPO
    :param losses: the loss of each transform that has one
    :param samples: the images drawn for each state, None for all
    :param space: of the actions
    """

    def __init__(
        self,
        group: SymmetryGroup | None,
        losses: Mapping[str, SymmetryLoss],
        samples: int | None,
        space: spaces.Space[Any],
    ) -> None:
        self.names = tuple(losses)
        self._losses = dict(losses)
        self._transforms: list[Symmetry] = [group[name] for name in self.names] if group else []
        self._samples = samples if samples is not None and samples < len(self.names) else None
        adaptive = [loss for loss in losses.values() if isinstance(loss, ASL)]
        self._window = ObservationWindow(max(loss.history for loss in adaptive)) if adaptive else None
        fit, self._fitted = common_fit(losses)
        if isinstance(fit, KnowsActionSpace):
            fit = fit.within(space)
        self._fit: FitState | None = fit.start(only(group, self._fitted)) if fit and group else None
        self._metrics: list[Metric] = []

    def prepare(
        self,
        policy: ActorCriticPolicy,
        buffer: RolloutBuffer,
        clip_range: float,
        clip_range_vf: float | None,
    ) -> Prepared:
        dtype = next(policy.parameters()).dtype
        observations = stack_images(_observations(buffer, dtype), self._transforms)
        data = {
            name: _flat(buffer, getattr(buffer, name), dtype).flatten()
            for name in ("values", "log_probs", "advantages", "returns")
        }
        actions = _flat(buffer, buffer.actions, dtype)
        if isinstance(policy.action_space, spaces.Discrete):
            actions = actions.long().flatten()

        self._metrics = self._value_distances(policy, observations, data["values"])
        means = None
        if any(not isinstance(loss, MSL) for loss in self._losses.values()):
            means = snapshot_means(policy, observations)
        if self._fit is not None and means is not None:
            if isinstance(self._fit, WatchesTransitions):
                self._fit.watch(_transitions(buffer, means[:, 0], policy))
            self._update_fit(self._fit, means)
        maps = [self._matrix_and_bias(transform) for transform in self._transforms]
        size = actions.shape[-1] if not maps else len(maps[0][0])
        matrices = np.stack([matrix for matrix, _ in maps]) if maps else np.zeros((0, size, size))
        biases = np.stack([bias for _, bias in maps]) if maps else np.zeros((0, size))
        like = data["returns"]
        return Prepared(
            names=self.names,
            samples=self._samples,
            observations=observations,
            actions=actions,
            old_log_probs=data["log_probs"],
            old_values=data["values"],
            advantages=data["advantages"],
            returns=data["returns"],
            clip_range=clip_range,
            clip_range_vf=clip_range_vf,
            value_weights=self._weights("value_weight", lambda _: True, like),
            action_matrix=like.new_tensor(matrices.transpose(2, 0, 1).reshape(size, -1)),
            action_bias=like.new_tensor(biases.reshape(-1)),
            gates=self._gates(observations, like),
            msl=self._msl(like),
            psl=self._psl(policy, means, data["log_probs"], clip_range),
            asl=self._asl(policy, means, clip_range),
            bend=self._bend(),
        )

    def action_maps(self) -> dict[str, ActionMap]:
        """The current estimator of each transform: fitted under ASL, as given otherwise."""
        fitted = self._fit.action_maps() if self._fit is not None else {}
        return {
            transform.name: fitted.get(transform.name) or ActionMap.given(transform)
            for transform in self._transforms
            if isinstance(transform.action_map, IndexMap)
        }

    def metrics(self) -> list[Metric]:
        """Of the last iteration."""
        return self._metrics + (self._fit.metrics() if self._fit is not None else [])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        parts = {"window": self._window, "fit": self._fit}
        return {
            f"{prefix}/{name}": array
            for prefix, part in parts.items()
            if part is not None
            for name, array in part.state().items()
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for prefix, part in {"window": self._window, "fit": self._fit}.items():
            own = {
                name.partition("/")[2]: array
                for name, array in state.items()
                if name.partition("/")[0] == prefix
            }
            if part is not None:
                part.set_state(own)
            elif own:
                raise ValueError(f"the state holds {prefix!r}, but the losses of this model have none")

    def _update_fit(self, fit: FitState, means: Tensor) -> None:
        everything = means.double().cpu().numpy()
        fit.update(
            everything[:, 0],
            {name: everything[:, 1 + self.names.index(name)] for name in self._fitted},
        )

    def _matrix_and_bias(
        self, transform: Symmetry
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if self._fit is not None and transform.name in self._fitted:
            estimator = self._fit.action_maps()[transform.name]
            return estimator.matrix, estimator.biases
        return transform.action_map.matrix, np.zeros(transform.action_map.size)

    def _bend(self) -> Callable[[Tensor], Tensor] | None:
        fitted = self._fit.action_maps() if self._fit is not None else {}
        if not any(isinstance(estimator, FormMap) for estimator in fitted.values()):
            return None
        return partial(bend, [fitted.get(name) for name in self.names])

    def _value_distances(
        self, policy: ActorCriticPolicy, observations: Observations, values: Tensor
    ) -> list[Metric]:
        if not self.names:
            return []
        images = snapshot_values(policy, _images(observations))
        distances = (images - values[:, None]).abs().mean(dim=0).tolist()
        return [
            ("value_distance", name, "", distance)
            for name, distance in zip(self.names, distances, strict=True)
        ]

    def _weights(self, name: str, used: Callable[[SymmetryLoss], bool], like: Tensor) -> Tensor:
        """(N,) a weight of each transform, 0 where its loss is not ``used``, scaled for sampling."""
        scale = len(self.names) / self._samples if self._samples is not None else 1.0
        return scale * like.new_tensor(
            [hyperparameter(loss, name, of) if used(loss) else 0.0 for of, loss in self._losses.items()]
        )

    def _has(self, kind: type[SymmetryLoss]) -> bool:
        return any(isinstance(loss, kind) for loss in self._losses.values())

    def _msl(self, like: Tensor) -> MSLConstants | None:
        if not self._has(MSL):
            return None
        original = self._weights("policy_weight", lambda loss: isinstance(loss, MSL) and loss.original, like)
        return MSLConstants(
            weights=self._weights(
                "policy_weight", lambda loss: isinstance(loss, MSL) and not loss.original, like
            ),
            original_weights=original if original.any() else None,
        )

    def _psl(
        self, policy: ActorCriticPolicy, means: Tensor | None, sampled_log_probs: Tensor, clip_range: float
    ) -> PSLConstants | None:
        if not self._has(PSL) or means is None:
            return None
        targets = torch.stack([transform.action(means[:, 0]) for transform in self._transforms], dim=1)
        log_std = policy.log_std.detach()
        old_log_probs = losses.gaussian_log_prob(targets, means[:, 1:], log_std)
        ceilings = losses.proximal_ceiling(sampled_log_probs[:, None], old_log_probs, clip_range)
        weights = self._weights("policy_weight", lambda loss: isinstance(loss, PSL), means)
        return PSLConstants(weights, targets, old_log_probs, ceilings)

    def _asl(self, policy: ActorCriticPolicy, means: Tensor | None, clip_range: float) -> ASLConstants | None:
        if not self._has(ASL) or means is None:
            return None
        symmetric_means = means[:, 1:].contiguous()
        max_shift = means.new_tensor(self._adaptive("max_shift", other=0.0))
        shift = losses.mean_shift(policy.log_std.detach().exp(), max_shift[:, None], clip_range)
        fitted = self._fit.action_maps() if self._fit is not None else {}
        function_weights = np.zeros((len(self.names), means.shape[-1]))
        for row, (name, loss) in zip(function_weights, self._losses.items(), strict=True):
            if isinstance(loss, ASL):
                row[:] = fitted[name].weights if name in fitted else 1.0
        return ASLConstants(
            weights=self._weights("policy_weight", lambda loss: isinstance(loss, ASL), means),
            function_weights=means.new_tensor(function_weights),
            symmetric_means=symmetric_means,
            lower=symmetric_means - shift,
            upper=symmetric_means + shift,
        )

    def _gates(self, observations: Observations, like: Tensor) -> Gates | None:
        if self._window is None:
            return None
        joined = _joined(observations)
        self._window.append(joined[:, 0])
        histories = {loss.history for loss in self._losses.values() if isinstance(loss, ASL)}
        deviations = {history: self._window.deviation(history).to(like) for history in histories}
        dead_zone = like.new_ones((joined.shape[0], len(self.names)))
        for column, (name, loss) in enumerate(self._losses.items()):
            if isinstance(loss, ASL):
                distance = gates.neutral_distance(
                    joined[:, 0], joined[:, 1 + column], deviations[loss.history]
                )
                limit = like.new_tensor(hyperparameter(loss, "dead_zone", name))
                dead_zone[:, column] = gates.dead_zone_gate(distance, limit)
                rejected = 1.0 - float(dead_zone[:, column].mean())
                self._metrics.append(("neutral_rejection_ratio", name, "", rejected))
        factors = self._adaptive("value_gate", other=None)
        slopes, bends = gates.value_gate_coefficients(
            like.new_tensor([1.0 if factor is None else factor for factor in factors])
        )
        always = torch.tensor([factor is None for factor in factors], device=like.device)
        return Gates(dead_zone, slopes, bends, always)

    def _adaptive(self, name: str, other: float | None) -> list[float | None]:
        """A hyperparameter of ASL for each transform, ``other`` where its loss is another one."""
        return [
            hyperparameter(loss, name, transform) if isinstance(loss, ASL) else other
            for transform, loss in self._losses.items()
        ]


def stack_images(observations: Observations, transforms: Sequence[Symmetry]) -> Observations:
    """(T, o) as (T, 1 + N, o): each state followed by its images f_j(s)."""
    images = [observations, *(transform.observation(observations) for transform in transforms)]
    if isinstance(observations, dict):
        return {key: torch.stack([image[key] for image in images], dim=1) for key in observations}
    return torch.stack(images, dim=1)


def _observations(buffer: RolloutBuffer, dtype: torch.dtype) -> Observations:
    if isinstance(buffer, DictRolloutBuffer):
        return {key: _flat(buffer, part, dtype) for key, part in buffer.observations.items()}
    return _flat(buffer, buffer.observations, dtype)


def _flat(buffer: RolloutBuffer, array: npt.NDArray[Any], dtype: torch.dtype) -> Tensor:
    """(steps, environments, ...) as (T, ...), in the order of the buffer's own minibatches."""
    if not buffer.generator_ready:
        array = buffer.swap_and_flatten(array)
    return torch.as_tensor(array, device=buffer.device).to(dtype)


def _transitions(buffer: RolloutBuffer, means: Tensor, policy: ActorCriticPolicy) -> Transitions:
    """The steps of the roll-out whose successor is in it too: not the last one, none before a reset."""
    space = policy.action_space
    assert isinstance(space, spaces.Box)
    steps = np.arange(buffer.buffer_size * buffer.n_envs) % buffer.buffer_size
    starts = buffer.swap_and_flatten(buffer.episode_starts).ravel().astype(bool)
    followed = np.flatnonzero((steps[:-1] < buffer.buffer_size - 1) & ~starts[1:])
    observations = _flat(buffer, buffer.observations, torch.float64).numpy(force=True)
    actions = _flat(buffer, buffer.actions, torch.float64).numpy(force=True)
    return Transitions(
        observations=observations[followed],
        actions=np.clip(actions, space.low, space.high)[followed],
        next_observations=observations[followed + 1],
        means=expected_after_clipping(
            means.double().numpy(force=True)[followed],
            policy.log_std.exp().double().numpy(force=True),
            space.low,
            space.high,
        ),
    )


def _images(observations: Observations) -> Observations:
    """The images f_j(s) alone: (T, N, o)."""
    if isinstance(observations, dict):
        return {key: part[:, 1:] for key, part in observations.items()}
    return observations[:, 1:]


def _joined(observations: Observations) -> Tensor:
    """Dict observations as one vector."""
    return torch.cat(list(observations.values()), dim=-1) if isinstance(observations, dict) else observations
