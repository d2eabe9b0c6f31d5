"""Which states of a batch, with which of their images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ambidex.common.arrays import each_part
from ambidex.learn.losses.constants import Observations
from ambidex.learn.update.iteration import SymmetryConstants


@dataclass(frozen=True)
class Minibatch:
    """The chosen states and images.

    :param rows: (B,) states
    :param images: (B, K) transforms, None for all of them
    """

    rows: Tensor
    images: Tensor | None

    def observations(self, stacked: Observations) -> Observations:
        """(B, 1 + K, o): each state and its images."""
        chosen: Observations = each_part(self._observations, stacked)
        return chosen

    def _observations(self, stacked: Tensor) -> Tensor:
        if self.images is None:
            return stacked[self.rows]
        columns = torch.cat([torch.zeros_like(self.images[:, :1]), self.images + 1], dim=1)
        return stacked[self.rows[:, None], columns]

    def samples(self, constants: Tensor) -> Tensor:
        """(T, N, ...) as (B, K, ...)."""
        return constants[self.rows] if self.images is None else constants[self.rows[:, None], self.images]

    def transforms(self, constants: Tensor) -> Tensor:
        """(N, ...) in a form that multiplies with (B, K, ...)."""
        return constants if self.images is None else constants[self.images]

    def images_of(self, everything: Tensor) -> Tensor:
        """(B, N, n) as (B, K, n)."""
        if self.images is None:
            return everything
        return torch.take_along_dim(everything, self.images[:, :, None], dim=1)


def draw_epoch(constants: SymmetryConstants) -> Minibatch:
    """All T states in the order of this epoch, and which images each takes along; call it once per epoch.

    The order is Stable-Baselines3's: ``numpy.random.permutation``. The images are k distinct transforms for
    each place of that order, uniformly drawn from the same generator.
    """
    device = constants.returns.device
    # The order is drawn before the images, so that sampling none of them leaves the generator as SB3 would.
    order = torch.from_numpy(np.random.permutation(constants.size)).to(device)  # noqa: NPY002
    if constants.samples is None:
        return Minibatch(order, None)
    keys = np.random.random((constants.size, len(constants.names)))  # noqa: NPY002
    images = torch.from_numpy(np.argsort(keys, axis=1)[:, : constants.samples].copy()).to(device)
    return Minibatch(order, images)


def minibatches(epoch: Minibatch, size: int) -> Iterator[tuple[slice, Minibatch]]:
    """The states of an epoch, ``size`` at a time: their places in it, and which they are."""
    for start in range(0, len(epoch.rows), size):
        span = slice(start, start + size)
        yield span, Minibatch(epoch.rows[span], None if epoch.images is None else epoch.images[span])
