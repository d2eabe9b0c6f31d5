"""What a loss computes once per iteration, what it computes it from, and what it makes of a minibatch.

T is the number of states of the batch, N the number of transforms that have a loss (in the group's order), n
the number of actions, o that of observations; B the states of a minibatch and K the images of each. Every
float tensor has the dtype and device of the policy; none of the constants requires a gradient.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from ambidex.actuators.transitions import Transitions
from ambidex.symmetry import Symmetry

if TYPE_CHECKING:
    from ambidex.learn.losses.loss import SymmetryLoss

Observations = Tensor | dict[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """A finished roll-out and the policy that made it, as a loss sees them.

    :param transforms: the N of them
    :param observations: (T, 1 + N, o) each state s followed by its images f_j(s); by key for Dict
        observations
    :param actions: (T, n) the actions taken
    :param log_probs: (T,) log pi_old(a | s)
    :param log_std: (n,) of the policy as it is now; (T, N, n) of the images where it depends on the state;
        None where it has none
    :param clip_range: epsilon, how far one iteration may go
    :param image_share: N / k, by which weights grow where k images are drawn
    :param outputs_of: the means of the policy as it is now
    :param transitions_of: the transitions of the roll-out, given these means
    """

    transforms: tuple[Symmetry, ...]
    observations: Observations
    actions: Tensor
    log_probs: Tensor
    log_std: Tensor | None
    clip_range: float
    image_share: float
    outputs_of: Callable[[Observations], Tensor]
    transitions_of: Callable[[Tensor], Transitions]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(transform.name for transform in self.transforms)

    @cached_property
    def means(self) -> Tensor:
        """a-bar and a-bar', (T, 1 + N, n), without gradient; computed for losses that ask for them."""
        return self.outputs_of(self.observations)

    @property
    def std(self) -> Tensor:
        """sigma, of the shape of ``log_std``."""
        assert self.log_std is not None  # losses that move Gaussian means are refused without one
        return self.log_std.exp()

    @cached_property
    def transitions(self) -> Transitions:
        return self.transitions_of(self.means[:, 0])

    @cached_property
    def joined_observations(self) -> Tensor:
        """Dict observations as one vector."""
        parts = self.observations
        return torch.cat(list(parts.values()), dim=-1) if isinstance(parts, dict) else parts

    def weights(self, losses: Mapping[str, SymmetryLoss], name: str = "policy_weight") -> Tensor:
        """(N,) a weight of each transform, 0 where it has none of these losses; scaled for sampling."""
        return self.image_share * self.numbers(losses, name)

    def numbers(self, losses: Mapping[str, SymmetryLoss], name: str, other: float = 0.0) -> Tensor:
        """(N,) a hyperparameter of each transform, ``other`` where it has none of these losses."""
        return self.log_probs.new_tensor(
            [losses[of].number(name, of) if of in losses else other for of in self.names]
        )


class Selection(Protocol):
    """A way to choose the states of a minibatch and their images."""

    def samples(self, constants: Tensor) -> Tensor:
        """(T, N, ...) as (B, K, ...)."""

    def transforms(self, constants: Tensor) -> Tensor:
        """(N, ...) in a form that multiplies with (B, K, ...)."""


C = TypeVar("C", bound="Chosen")


@dataclass(frozen=True)
class Chosen:
    """A dataclass of tensors, (N, ...) or (T, N, ...), of which a minibatch takes its part."""

    per_sample: ClassVar[tuple[str, ...]] = ()
    """The fields that hold (T, N, ...)."""

    def of(self: C, selection: Selection) -> C:
        """The part of the chosen states and images."""
        changes = {
            own.name: (selection.samples if own.name in self.per_sample else selection.transforms)(value)
            for own in fields(self)
            if isinstance(value := getattr(self, own.name), Tensor)
        }
        return replace(self, **changes)


@dataclass(frozen=True)
class Outputs:
    """What the networks say about a minibatch.

    :param means: (B, n) mu(s), or log-probabilities of discrete actions
    :param symmetric_means: (B, K, n) mu(f(s))
    :param transformed: (B, K, n) g-hat(mu(s))
    :param log_std: (n,), None where the policy has none; (B, K, n) of the images where it depends on the
        state
    :param advantages: (B,) as they enter the algorithm's own loss
    """

    means: Tensor
    symmetric_means: Tensor
    transformed: Tensor
    log_std: Tensor | None
    advantages: Tensor

    @property
    def gaussian_log_std(self) -> Tensor:
        assert self.log_std is not None  # losses that move Gaussian means are refused without one
        return self.log_std


@dataclass(frozen=True)
class Constants(Chosen, ABC):
    """The constants of one kind of loss.

    :param weights: (N,) w_pi of each transform, 0 where its loss is another one
    """

    weights: Tensor

    @abstractmethod
    def terms(self, outputs: Outputs) -> Tensor:
        """The weighted policy terms before gates, (B, K), with their gradient."""


@dataclass(frozen=True)
class Slopes:
    """Where hand-written gradients are added.

    :param means: (B, n) by mu(s)
    :param symmetric_means: (B, K, n) by mu(f(s))
    :param log_std: (n,)
    :param transformed: from the gradient by g-hat(mu(s)) to that by mu(s)
    """

    means: Tensor
    symmetric_means: Tensor
    log_std: Tensor
    transformed: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class DifferentiatedConstants(Constants):
    """Constants whose terms have gradients by hand, for the fast update."""

    is_often_flat: ClassVar[bool] = False
    """Whether many images have no gradient, so that it pays to look for them and leave them out."""

    def resting_means(self) -> Tensor | None:
        """(B, K, n) means at which all terms are finite: those of images that a gate shuts out, whose own
        need not be computed then; None if they must be.
        """
        return None

    @abstractmethod
    def add_gradients(self, outputs: Outputs, gate: Tensor | float, slopes: Slopes) -> Tensor:
        """Add the gradients of the mean over the B states to ``slopes``.

        :param gate: (B, K), or 1
        :return: the weighted, gated terms (B, K)
        """
