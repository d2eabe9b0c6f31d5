"""From a finished roll-out to the constants of its update: stack, snapshot, fit, gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.learn.fits.bent import FormMap, bend
from ambidex.learn.fits.protocol import WatchesTransitions
from ambidex.learn.losses import gates
from ambidex.learn.losses.constants import Batch
from ambidex.learn.losses.loss import SymmetryLoss
from ambidex.learn.update.actuators import ActuatorChoice, FittedActuators
from ambidex.learn.update.forward import snapshot_means
from ambidex.learn.update.iteration import Iteration
from ambidex.learn.update.lasting import Lasting, Survives
from ambidex.learn.update.pool import Pool
from ambidex.learn.update.rollout_data import (
    flat,
    flat_actions,
    flat_observations,
    only_images,
    stack_images,
    transitions,
)
from ambidex.learn.update.value_distance import value_distances
from ambidex.symmetry import SymmetryGroup


class Preparation(Lasting):
    """Prepares each iteration of an algorithm that learns from roll-outs.

    :param group: and the others as for `Lasting`; ``samples`` images are drawn for each state
    :param fit_states: the least states that fits, spreads and metrics learn from at once, gathered over
        roll-outs; 0 for each roll-out by itself
    """

    _pool: Pool | None = None
    watched = False
    """Whether the fits learned something from the last roll-out."""

    def __init__(
        self,
        group: SymmetryGroup | None,
        losses: Mapping[str, SymmetryLoss],
        samples: int | None,
        space: spaces.Space[Any],
        actuators: ActuatorChoice = None,
        fit_states: int = 0,
    ) -> None:
        super().__init__(group, losses, samples, space, actuators)
        if fit_states:
            self._pool = Pool(fit_states, self._transforms, self.learns_from_transitions)

    def prepare(
        self,
        policy: ActorCriticPolicy,
        buffer: RolloutBuffer,
        clip_range: float,
        clip_range_vf: float | None,
        unit_of_values: float = 1.0,
    ) -> Iteration:
        """What stays constant in the update of a roll-out.

        :param unit_of_values: in rewards as the environment gives them, in which value distances are logged
        """
        dtype = next(policy.parameters()).dtype
        observations = stack_images(flat_observations(buffer, dtype), self._transforms)
        data = {
            name: flat(buffer, getattr(buffer, name), dtype).flatten()
            for name in ("values", "log_probs", "advantages", "returns")
        }
        actions = flat_actions(buffer, policy)
        batch = Batch(
            transforms=self._transforms,
            observations=observations,
            actions=actions,
            log_probs=data["log_probs"],
            log_std=policy.log_std.detach() if hasattr(policy, "log_std") else None,
            clip_range=clip_range,
            image_share=1.0 if self._samples is None else len(self.names) / self._samples,
            outputs_of=partial(snapshot_means, policy),
            transitions_of=lambda means: transitions(buffer, means, policy),
        )
        watched = batch if self._pool is None else self._pool.add(batch)
        self.watched = watched is not None
        if watched is not None:
            self._fitted = None
            if self.names:
                images = only_images(observations)
                self._value_distances = value_distances(
                    policy, images, data["values"], self.names, unit_of_values
                )
            # The fits see the roll-out with the policy that made it; the first step of the update changes it.
            for state in (*self.states.values(), *self._actuator_states):
                state.watch(watched)
        matrix, bias = self._affine_maps(data["returns"], actions.shape[-1])
        return Iteration(
            names=self.names,
            samples=self._samples,
            observations=observations,
            returns=data["returns"],
            value_weights=batch.weights(self._losses, "value_weight"),
            action_matrix=matrix,
            action_bias=bias,
            bend=self._bend(),
            gates=gates.joined([own for state in self.states.values() if (own := state.gates(batch))]),
            losses={kind: state.constants(batch) for kind, state in self.states.items()},
            actions=actions,
            old_log_probs=data["log_probs"],
            old_values=data["values"],
            advantages=data["advantages"],
            clip_range=clip_range,
            clip_range_vf=clip_range_vf,
        )

    @property
    def _lasting(self) -> tuple[Survives, ...]:
        return super()._lasting if self._pool is None else (*super()._lasting, self._pool)

    @property
    def learns_from_transitions(self) -> bool:
        fits = (getattr(state, "fit", None) for state in self.states.values())
        return isinstance(self.actuators, FittedActuators) or any(
            isinstance(fit, WatchesTransitions) for fit in fits
        )

    def _affine_maps(self, like: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """All action maps in one product, see `SymmetryConstants`.

        :param size: of the actions, where there are no transforms
        """
        fitted = self._fitted_maps()
        matrices, biases = [], []
        for transform in self._transforms:
            found = fitted.get(transform.name)
            matrices.append(transform.action_map.matrix if found is None else found.matrix)
            biases.append(np.zeros(transform.action_map.size) if found is None else found.biases)
        if not self._transforms:
            return like.new_zeros(size, 0), like.new_zeros(0)
        joined = np.stack(matrices).transpose(2, 0, 1)
        return like.new_tensor(joined.reshape(len(joined), -1)), like.new_tensor(np.concatenate(biases))

    def _bend(self) -> Callable[[Tensor], Tensor] | None:
        fitted = self._fitted_maps()
        if not any(isinstance(estimator, FormMap) for estimator in fitted.values()):
            return None
        return partial(bend, [fitted.get(name) for name in self.names])


def state_before_the_move(saved: Preparation) -> dict[str, npt.NDArray[Any]]:
    """What a model brings along that was saved when window and fit stood alone, see `ambidex.moved`."""
    return {
        f"{prefix}/{name}": array
        for prefix in ("window", "fit")
        if (part := vars(saved)[f"_{prefix}"]) is not None
        for name, array in part.state().items()
    }
