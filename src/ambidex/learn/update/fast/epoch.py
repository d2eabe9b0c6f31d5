"""The minibatches of the fast update: what does not change within an epoch is gathered once for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ambidex.learn.losses.constants import DifferentiatedConstants
from ambidex.learn.losses.gates import Gates
from ambidex.learn.update.iteration import Iteration
from ambidex.learn.update.minibatch import Minibatch, draw_epoch, minibatches

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


@dataclass(frozen=True)
class EpochPart:
    """The constants of a minibatch of B states, with the K images that each takes along.

    In ``value_shares`` and ``gates`` s comes first, as an image whose gate is open: 1 + K columns.

    :param drawn: which states and images these are
    :param observations: (B, 1 + K, o)
    :param actions: (B, n); old_log_probs, old_values, advantages, returns: (B,)
    :param value_shares: what the squared errors of V(s) and its images are multiplied by in the loss
    :param gates: None if there are none
    :param losses: the constants of each kind of loss
    """

    drawn: Minibatch
    observations: Tensor
    actions: Tensor
    old_log_probs: Tensor
    old_values: Tensor
    advantages: Tensor
    returns: Tensor
    value_shares: Tensor
    gates: Gates | None
    losses: list[DifferentiatedConstants]


@dataclass(frozen=True)
class Span:
    """Consecutive states of an epoch whose constants lie in its order; a `Selection`.

    :param places: of the states
    :param drawn: whether images are drawn, so that each state has its own transforms
    """

    places: slice
    drawn: bool

    def samples(self, constants: Tensor) -> Tensor:
        return constants[self.places]

    def transforms(self, constants: Tensor) -> Tensor:
        return constants[self.places] if self.drawn else constants


def epoch(iteration: Iteration, model: SymmetricPPO) -> Iterator[EpochPart]:
    """The minibatches of one epoch, from constants that are gathered once."""
    drawn = draw_epoch(iteration)
    observations = drawn.observations(iteration.observations)
    assert isinstance(observations, Tensor)
    observations = observations.flatten(2)
    own = [
        data[drawn.rows]
        for data in (iteration.actions, iteration.old_log_probs, iteration.old_values, iteration.returns)
    ]
    advantages = iteration.advantages[drawn.rows]
    if model.normalize_advantage:
        advantages = normalized(advantages, model.batch_size)
    value_shares = after_state(model.vf_coef, drawn.transforms(iteration.value_weights))
    gates = None if iteration.gates is None else _after_state(iteration.gates.of(drawn))
    losses = [constants.of(drawn) for constants in iteration.losses.values()]
    for places, minibatch in minibatches(drawn, model.batch_size):
        span = Span(places, drawn.images is not None)
        actions, old_log_probs, old_values, returns = (data[places] for data in own)
        yield EpochPart(
            drawn=minibatch,
            observations=observations[places],
            actions=actions,
            old_log_probs=old_log_probs,
            old_values=old_values,
            advantages=advantages[places],
            returns=returns,
            value_shares=span.transforms(value_shares),
            gates=None if gates is None else gates.of(span),
            losses=[constants.of(span) for constants in losses],  # type: ignore[misc]
        )


def normalized(advantages: Tensor, size: int) -> Tensor:
    """The advantages of each minibatch normalised on their own; a single state's is left as it is."""
    whole = len(advantages) // size
    full, rest = advantages[: whole * size].view(whole, size), advantages[None, whole * size :]
    return torch.cat(
        [
            part.flatten()
            if part.shape[1] == 1
            else ((part - part.mean(dim=1, keepdim=True)) / (part.std(dim=1, keepdim=True) + 1e-8)).flatten()
            for part in (full, rest)
            if part.numel()
        ]
    )


def _after_state(gates: Gates) -> Gates:
    """The gates of s itself, which are open, and of its images."""
    return Gates(
        slopes=after_state(1, gates.slopes),
        bends=after_state(0, gates.bends),
        always=after_state(True, gates.always),
        dead_zone=after_state(1, gates.dead_zone),
    )


def after_state(own: float, of_images: Tensor) -> Tensor:
    """(..., K) as (..., 1 + K): what holds for s itself, then for its images."""
    return functional.pad(of_images, (1, 0), value=own)
