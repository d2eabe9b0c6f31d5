"""What the symmetry losses of an off-policy algorithm keep from one gradient step to the next.

A roll-out has no part here: every gradient step is an iteration of its own, whose batch is a minibatch of the
replay and whose snapshot is the policy before that step. Fits and the spread of observations follow the
replay, every so many transitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize
from stable_baselines3.sac.policies import SACPolicy
from torch import Tensor

from ambidex.actuators.action_map import ActionMap
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.losses import gates
from ambidex.learn.losses.constants import Batch, Constants, Observations, Outputs
from ambidex.learn.losses.gates import Gates
from ambidex.learn.losses.loss import SymmetryLoss, by_kind
from ambidex.learn.off_policy import answers, replayed
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.off_policy.squashed_maps import SquashedMaps
from ambidex.learn.update.rollout_data import stack_images
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup
from ambidex.symmetry.maps import as_simple_as_possible

WATCHED = "replay/watched"
NOTHING = -1  # watched: states were, transitions were not
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


class ReplayPreparation:
    """Prepares each gradient step.

    :param group: the symmetries; None for plain SAC
    :param losses: the loss of each transform that has one
    :param samples: the transforms drawn for each gradient step, None for all
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
        self._transforms = tuple(group[name] for name in self.names) if group else ()
        self._samples = samples if samples is not None and samples < len(self.names) else None
        self._range = ActionRange.of(space)
        self._scaled = tuple(_in_scaled_actions(own, self._range) for own in self._transforms)
        self.states = (
            {kind: kind.start(own, group, space) for kind, own in by_kind(losses).items()} if group else {}
        )
        self.actuators = None  # they have no part here
        self._maps: SquashedMaps | None = None
        self._watched: int | None = None  # the place in the buffer up to which transitions were seen
        self._value_distances: list[Metric] = []

    def is_due(self, buffer: ReplayBuffer, interval: int) -> bool:
        """Before the first gradient step, and whenever so many transitions are new."""
        return self._watched is None or self._has_enough(buffer, interval)

    def _has_enough(self, buffer: ReplayBuffer, interval: int) -> bool:
        return replayed.count_since(buffer, self._place) * buffer.n_envs >= interval

    @property
    def _place(self) -> int | None:
        return None if self._watched == NOTHING else self._watched

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
            outputs_of=partial(answers.commands, policy, self._range),
            transitions_of=lambda means: replayed.transitions(buffer, places, self._range),
        )
        for state in self.states.values():
            state.watch(batch)
        if has_enough:
            self._watched = buffer.pos
        elif self._watched is None:
            self._watched = NOTHING
        self._maps = None
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
        if self._maps is None:
            self._maps = SquashedMaps(self._transforms, self._fitted_maps(), self._range, like)
        return self._maps

    def action_maps(self) -> dict[str, ActionMap]:
        """The current estimator of each transform: as its loss fits it, or as given."""
        fitted = self._fitted_maps()
        return {
            transform.name: fitted.get(transform.name) or ActionMap.given(transform)
            for transform in self._transforms
            if isinstance(transform.action_map, IndexMap)
        }

    def _fitted_maps(self) -> dict[str, ActionMap]:
        return {name: found for state in self.states.values() for name, found in state.action_maps().items()}

    def metrics(self) -> list[Metric]:
        return self._value_distances + [
            metric for state in self.states.values() for metric in state.metrics()
        ]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        own = {name: array for state in self.states.values() for name, array in state.state().items()}
        return own if self._watched is None else own | {WATCHED: np.array(self._watched)}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        own = dict(state)
        watched = own.pop(WATCHED, None)
        for part in self.states.values():
            part.set_state(own)
        known, given = ({name.partition("/")[0] for name in names} for names in (self.state(), own))
        if unknown := given - known - {WATCHED.partition("/")[0]}:
            raise ValueError(
                f"the state holds {sorted(unknown)[0]!r}, but the losses of this model have none"
            )
        self._watched = None if watched is None else int(watched)
        self._maps = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_maps": None}


def _in_scaled_actions(transform: Symmetry, actions: ActionRange) -> Symmetry:
    """The transform as a loss sees it, which has means of scaled actions before it."""
    matrix, _ = actions.scaled(transform.action_map.matrix)
    return Symmetry.from_maps(transform.name, transform.observation_map, as_simple_as_possible(matrix))


def _refuse_transitions(means: Tensor) -> Any:
    raise ValueError("a minibatch of the replay is no sequence of transitions; a loss watches those")
