"""What the symmetry losses of an off-policy algorithm keep from one gradient step to the next.

A roll-out has no part here: every gradient step is an iteration of its own, whose batch is a minibatch of the
replay and whose snapshot is the policy before that step. Fits and the spread of observations follow the
replay, every so many transitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize
from stable_baselines3.sac.policies import SACPolicy
from torch import Tensor

from ambidex.learn.losses import gates
from ambidex.learn.losses.constants import Batch, Constants, Observations, Outputs
from ambidex.learn.losses.gates import Gates
from ambidex.learn.losses.loss import SymmetryLoss
from ambidex.learn.off_policy import answers, replayed
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.off_policy.canonical import canonical_range
from ambidex.learn.off_policy.squashed_maps import SquashedMaps
from ambidex.learn.update.actuators import ActuatorChoice
from ambidex.learn.update.lasting import Lasting
from ambidex.learn.update.rollout_data import stack_images
from ambidex.symmetry import Symmetry, SymmetryGroup
from ambidex.symmetry.maps import as_simple_as_possible

WATCHED = "replay/watched"
NOWHERE = -1  # no transitions were seen yet
MOST_TRANSITIONS = 100_000  # at once: the newest of a replay that was brought along
STATES = 1024  # of the replay, that fits of the policy and the spread of observations look at


@dataclass(frozen=True)
class Step:
    """The symmetry's part of one gradient step, for the K transforms that were drawn for it.

    :param drawn: their numbers
    :param observations: (B, 1 + K, o) each state and its images, by key for Dict observations
    :param value_weights: (K,) w_V
    :param maps: their action maps, among others
    :param gates: None if there are none
    :param losses: the constants of each kind
    """

    drawn: list[int]
    observations: Observations
    value_weights: Tensor
    maps: SquashedMaps
    gates: Gates | None
    losses: list[Constants]

    def policy_terms(self, means: Tensor, log_std: Tensor) -> Tensor:
        """The weighted policy terms before gates, (B, K).

        :param means: (B, 1 + K, n) before squashing
        :param log_std: the same
        """
        said = Outputs(
            means=means[:, 0],
            symmetric_means=means[:, 1:],
            transformed=self.maps.of_means(means[:, 0], self.drawn),
            log_std=log_std[:, 1:],
            advantages=torch.zeros_like(means[:, 0, 0]),  # SAC has none
        )
        return torch.stack([loss.terms(said) for loss in self.losses]).sum(dim=0)


class ReplayPreparation(Lasting):
    """Prepares each gradient step.

    :param group: and the others as for `Lasting`; ``samples`` transforms are drawn for each gradient step
    """

    def __init__(
        self,
        group: SymmetryGroup | None,
        losses: Mapping[str, SymmetryLoss],
        samples: int | None,
        space: spaces.Space[Any],
        actuators: ActuatorChoice = None,
    ) -> None:
        super().__init__(group, losses, samples, space, actuators)
        self._range = ActionRange.of(space)  # of what the replay holds
        self._said = self._range  # of what the network says
        if actuators is not None:
            assert group is not None and isinstance(space, spaces.Box)
            self._said = canonical_range(group, space)
        self._scaled = tuple(_in_scaled_actions(own, self._said) for own in self._transforms)
        self._maps: SquashedMaps | None = None
        self._is_new = True
        self._place: int | None = None  # in the buffer, up to which transitions were seen

    def is_due(self, buffer: ReplayBuffer, interval: int) -> bool:
        """Before the first gradient step, and whenever so many transitions are new."""
        return self._is_new or self._has_enough(buffer, interval)

    def _has_enough(self, buffer: ReplayBuffer, interval: int) -> bool:
        return replayed.count_since(buffer, self._place) * buffer.n_envs >= interval

    def keep_actuators(self, other: Self) -> None:
        super().keep_actuators(other)
        if self.actuators is not None:
            self._place = other._place  # they have seen the transitions up to there

    def watch(self, policy: SACPolicy, buffer: ReplayBuffer, env: VecNormalize | None, interval: int) -> None:
        """Fit, and measure the spread of the replay's states.

        :param interval: fewer new transitions than these wait for the next time
        """
        states = replayed.states(buffer, STATES, env)
        observations = stack_images(states, self._transforms)
        has_enough = self._has_enough(buffer, interval)
        places = replayed.places_since(buffer, self._place)
        places = places[-(MOST_TRANSITIONS // buffer.n_envs) :] if has_enough else places[:0]
        like = next(policy.parameters())
        rows = len(next(iter(states.values())) if isinstance(states, dict) else states)
        batch = Batch(
            transforms=self._transforms,
            observations=observations,
            actions=like.new_zeros(rows, len(self._range.half)),
            log_probs=like.new_zeros(rows),
            log_std=None,
            clip_range=0.0,  # nothing moves
            image_share=1.0,
            outputs_of=partial(answers.commands, policy),
            transitions_of=lambda means: replayed.transitions(buffer, places, self._range),
        )
        for state in (*self.states.values(), *self._actuator_states):
            state.watch(batch)
        if has_enough:
            self._place = buffer.pos
        self._is_new = False
        self._fitted = None
        if self.names:
            self._value_distances = answers.value_distances(policy, observations, self.names)

    def step(
        self,
        observations: Observations,
        drawn: list[int],
        means: Tensor,
        log_std: Tensor,
        clip_range: float,
    ) -> Step:
        """The constants of a gradient step.

        :param observations: (B, 1 + K, o)
        :param drawn: as `draw` gave it
        :param means: (B, 1 + K, n) before squashing
        :param log_std: the same
        :param clip_range: epsilon of ASL's mean shift
        """
        snapshot = means.detach()
        batch = Batch(
            transforms=tuple(self._scaled[j] for j in drawn),
            observations=observations,
            actions=snapshot[:, 0],
            log_probs=snapshot[:, 0, 0],
            log_std=log_std[:, 1:].detach(),
            clip_range=clip_range,
            image_share=len(self.names) / len(drawn),
            outputs_of=lambda _: snapshot,
            transitions_of=_refuse_transitions,
        )
        return Step(
            drawn=drawn,
            observations=observations,
            value_weights=batch.weights(self._losses, "value_weight"),
            maps=self.maps(snapshot),
            gates=gates.joined([own for state in self.states.values() if (own := state.gates(batch))]),
            losses=[state.constants(batch) for state in self.states.values()],
        )

    def draw(self) -> list[int]:
        """The numbers of the transforms of the next gradient step."""
        if self._samples is None:
            return list(range(len(self.names)))
        chosen = np.random.choice(len(self.names), self._samples, replace=False)  # noqa: NPY002
        return sorted(chosen.tolist())

    def images(self, observations: Observations, drawn: Sequence[int]) -> Observations:
        """(B, o) as (B, 1 + K, o)."""
        return stack_images(observations, [self._transforms[j] for j in drawn])

    def maps(self, like: Tensor) -> SquashedMaps:
        if self._maps is None or self._fitted is None:
            self._maps = SquashedMaps(self._transforms, self._fitted_maps(), self._said, like)
        return self._maps

    def state(self) -> dict[str, npt.NDArray[Any]]:
        place = NOWHERE if self._place is None else self._place
        return super().state() | ({} if self._is_new else {WATCHED: np.array(place)})

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        place = int(state.get(WATCHED, NOWHERE))
        self._is_new = WATCHED not in state
        self._place = None if place == NOWHERE else place
        super().set_state(state)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_maps": None}


def _in_scaled_actions(transform: Symmetry, actions: ActionRange) -> Symmetry:
    """The transform as a loss sees it, which has means of scaled actions before it."""
    matrix, _ = actions.scaled(transform.action_map.matrix)
    return Symmetry.from_maps(transform.name, transform.observation_map, as_simple_as_possible(matrix))


def _refuse_transitions(means: Tensor) -> Any:
    raise ValueError("a minibatch of the replay is no sequence of transitions; a loss watches those")
