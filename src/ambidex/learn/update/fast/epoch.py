"""The minibatches of the fast update: what does not change within an epoch is gathered once for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ambidex.learn.update.autograd import Minibatch
from ambidex.learn.update.iteration import Prepared, draw_epoch

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


@dataclass(frozen=True)
class Part:
    """A minibatch of an epoch whose constants lie in the order of that epoch.

    :param constants: of the epoch: of its T states in order, with the K images that each takes along. In
        the gates and the value weights s comes first, as an image whose gate is open: 1 + K columns
    :param span: the B states of this minibatch
    :param drawn: which states and images these are
    """

    constants: Prepared
    span: slice
    drawn: Minibatch

    def samples(self, constants: Tensor) -> Tensor:
        """(T, ...) as (B, ...)."""
        return constants[self.span]

    def transforms(self, constants: Tensor) -> Tensor:
        """(N, ...), or (T, K, ...) where images are drawn, in a form that multiplies with (B, K, ...)."""
        return constants if self.drawn.images is None else constants[self.span]


def epoch(prepared: Prepared, model: SymmetricPPO) -> Iterator[Part]:
    """The minibatches of one epoch, from constants that are gathered once."""
    size = model.batch_size
    order, images = draw_epoch(prepared)
    constants = in_order(prepared, Minibatch(order, images), model.vf_coef)
    if model.normalize_advantage:
        constants = replace(constants, advantages=normalized(constants.advantages, size))
    for start in range(0, prepared.size, size):
        span = slice(start, start + size)
        yield Part(constants, span, Minibatch(order[span], None if images is None else images[span]))


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


def in_order(prepared: Prepared, drawn: Minibatch, vf_coef: float) -> Prepared:
    """The constants of the drawn states and images: (T, ...) in their order, (T, N, ...) as (T, K, ...).

    :param vf_coef: of PPO, the weight of V(s)
    """
    samples, transforms = drawn.samples, drawn.transforms
    gates, msl, psl, asl = prepared.gates, prepared.msl, prepared.psl, prepared.asl
    observations = drawn.observations(prepared.observations)
    assert isinstance(observations, Tensor)
    return replace(
        prepared,
        observations=observations.flatten(2),
        actions=prepared.actions[drawn.rows],
        old_log_probs=prepared.old_log_probs[drawn.rows],
        old_values=prepared.old_values[drawn.rows],
        advantages=prepared.advantages[drawn.rows],
        returns=prepared.returns[drawn.rows],
        value_weights=after_state(vf_coef, transforms(prepared.value_weights)),
        gates=gates
        and replace(
            gates,
            dead_zone=after_state(1, samples(gates.dead_zone)),
            slopes=after_state(1, transforms(gates.slopes)),
            bends=after_state(0, transforms(gates.bends)),
            always=after_state(True, transforms(gates.always)),
        ),
        msl=msl
        and replace(
            msl,
            weights=transforms(msl.weights),
            original_weights=None if msl.original_weights is None else transforms(msl.original_weights),
        ),
        psl=psl
        and replace(
            psl,
            weights=transforms(psl.weights),
            targets=samples(psl.targets),
            old_log_probs=samples(psl.old_log_probs),
            ceilings=samples(psl.ceilings),
        ),
        asl=asl
        and replace(
            asl,
            weights=transforms(asl.weights),
            function_weights=transforms(asl.function_weights),
            symmetric_means=samples(asl.symmetric_means),
            lower=samples(asl.lower),
            upper=samples(asl.upper),
        ),
    )


def after_state(own: float, of_images: Tensor) -> Tensor:
    """(..., K) as (..., 1 + K): what holds for s itself, then for its images."""
    return functional.pad(of_images, (1, 0), value=own)
