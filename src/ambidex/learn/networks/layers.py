"""Equivariant layers: few parameters that expand, linearly, into one dense weight and bias.

A hidden layer holds one copy of its c channels for each of the n elements of the group, ``z_h`` at
``[h c, (h + 1) c)``. An element g of the group moves the copies: ``z_h(g x) = z_(g^-1 h)(x)``. So the forward
pass is that of a plain MLP of the same width, and the gradient by the dense tensors, folded back, is that by
the parameters.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from ambidex.common.arrays import FloatArray, IntArray
from ambidex.learn.networks.representation import Representation

Relax = Literal["biases", "weights"]


class TiedLayer(nn.Module, ABC):
    """A layer whose dense weight and bias are linear in its parameters: ``weight``, ``bias`` and, where it is
    relaxed, ``free_bias`` and ``free_weight``, which are added to the dense tensors and start at 0.

    :param weight: (of the parameter's own shape) within 1 / sqrt(dense inputs), as PyTorch draws them
    :param bias: the same
    :param shape: outputs and inputs of the dense weight
    :param relax: whether the dense biases, or the weights and the biases, are untied
    :param constants: arrays that the layer needs on its device, in double precision or whole numbers
    """

    holds_free = False
    """Whether the untied parameters stay as they are: their gradient is 0."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor,
        shape: tuple[int, int],
        relax: Relax | None,
        **constants: npt.NDArray[Any],
    ) -> None:
        super().__init__()
        self.shape = shape
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)
        self.free_bias = nn.Parameter(weight.new_zeros(shape[0])) if relax else None
        self.free_weight = nn.Parameter(weight.new_zeros(shape)) if relax == "weights" else None
        self._exact = constants
        self._placed: dict[str, Tensor] = {}
        self._place()

    def expand(
        self, parameters: Sequence[Tensor] | None = None, out: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The dense weight (outputs, inputs) and bias (outputs).

        :param parameters: values to take in the place of ``list(layer.parameters())``
        :param out: contiguous tensors to write to, without autograd
        """
        weight, bias, *free = self.parameters() if parameters is None else parameters
        if self.holds_free:
            free = [own.detach() + 0 * own for own in free]  # optimisers count their steps all the same
        out_weight, out_bias = (None, None) if out is None else out
        dense_weight, dense_bias = self._expand(weight, bias, out_weight, out_bias)
        if free:
            dense_bias = torch.add(dense_bias, free[0], out=out_bias)
        if len(free) > 1:
            dense_weight = torch.add(dense_weight, free[1], out=out_weight)
        return dense_weight, dense_bias

    def fold(
        self, weight_gradient: Tensor, bias_gradient: Tensor, out: Sequence[Tensor] | None = None
    ) -> Sequence[Tensor]:
        """The transpose of `expand`: gradients by ``list(layer.parameters())`` from those by what it gives.

        :param weight_gradient: (outputs, inputs), contiguous
        :param bias_gradient: (outputs,)
        :param out: tensors to write to
        """
        if out is None:
            out = [torch.empty_like(parameter) for parameter in self.parameters()]
        weight, bias, *free = out
        self._fold(weight_gradient, bias_gradient, weight, bias)
        for target, gradient in zip(free, (bias_gradient, weight_gradient), strict=False):
            target.zero_() if self.holds_free else target.copy_(gradient)
        return out

    def forward(self, rows: Tensor) -> Tensor:
        return functional.linear(rows, *self.expand())

    def free(self) -> list[nn.Parameter]:
        """The untied parameters, if there are any."""
        return [free for free in (self.free_bias, self.free_weight) if free is not None]

    @abstractmethod
    def turned(self, weight: Tensor, bias: Tensor, element: int) -> tuple[Tensor, Tensor]:
        """``rho_out(h)^-1 W rho_in(h)`` and ``rho_out(h)^-1 b`` of a dense weight and bias: the same where
        they are equivariant."""

    @abstractmethod
    def _expand(
        self, weight: Tensor, bias: Tensor, out_weight: Tensor | None, out_bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The tied part of `expand`."""

    @abstractmethod
    def _fold(self, weight_gradient: Tensor, bias_gradient: Tensor, weight: Tensor, bias: Tensor) -> None:
        """Write the gradients by the tied parameters to ``weight`` and ``bias``."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._place()
        return self

    def _place(self) -> None:
        # From double precision each time: constants that were single once would not be exact in double.
        for name, array in self._exact.items():
            tensor = torch.from_numpy(array)
            dtype = self.weight.dtype if tensor.is_floating_point() else tensor.dtype
            self._placed[name] = tensor.to(self.weight.device, dtype)


class FirstLayer(TiedLayer):
    """``z_h = W rho(h^-1) x + b``: from a vector to the copies of a hidden layer.

    :param group: the group
    :param matrices: (n, inputs, inputs) how it acts on the inputs
    :param channels: of each copy
    """

    def __init__(
        self, group: Representation, matrices: FloatArray, channels: int, relax: Relax | None = None
    ) -> None:
        n, inputs = len(group), matrices.shape[-1]
        self._copies = (n, channels, inputs)
        inverse = np.ascontiguousarray(matrices[group.inverses])
        super().__init__(
            _uniform((channels, inputs), inputs),
            _uniform((channels,), inputs),
            (n * channels, inputs),
            relax,
            inverse=inverse,
            transposed=np.ascontiguousarray(inverse.transpose(0, 2, 1)),
            matrices=matrices,
            copies=np.tile(np.arange(channels), n),
            shifts=_shifts(group, channels),
        )

    def _expand(
        self, weight: Tensor, bias: Tensor, out_weight: Tensor | None, out_bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        out = None if out_weight is None else out_weight.view(self._copies)
        dense = torch.bmm(weight.expand(self._copies), self._placed["inverse"], out=out)
        return dense.view(self.shape), torch.index_select(bias, 0, self._placed["copies"], out=out_bias)

    def _fold(self, weight_gradient: Tensor, bias_gradient: Tensor, weight: Tensor, bias: Tensor) -> None:
        by_copy = torch.bmm(weight_gradient.view(self._copies), self._placed["transposed"])
        torch.sum(by_copy, 0, out=weight)
        torch.sum(bias_gradient.view(self._copies[:2]), 0, out=bias)

    def turned(self, weight: Tensor, bias: Tensor, element: int) -> tuple[Tensor, Tensor]:
        shift = self._placed["shifts"][element]
        return weight[shift] @ self._placed["matrices"][element], bias[shift]


class HiddenLayer(TiedLayer):
    """``z'_h = sum_k W[h^-1 k] z_k + b``: from the copies of one hidden layer to those of the next.

    :param group: the group
    :param inputs: channels of each copy below
    :param channels: of each copy above
    """

    def __init__(self, group: Representation, inputs: int, channels: int, relax: Relax | None = None) -> None:
        n = len(group)
        self._rows = (channels * n, inputs)
        self._copies = (n, channels)
        # Row (i, g) of the parameter stands in the dense weight at the rows (h, i, k) with h^-1 k = g.
        channel = np.arange(channels)
        expanded = group.table[group.inverses][:, None, :] + n * channel[:, None]  # (h, i, k)
        folded = (np.arange(n) * channels + channel[:, None, None]) * n + group.table.T[None]  # (i, g, h)
        super().__init__(
            _uniform((channels, n, inputs), n * inputs),
            _uniform((channels,), n * inputs),
            (n * channels, n * inputs),
            relax,
            expanded=expanded.ravel(),
            folded=folded.ravel(),
            bags=np.arange(channels * n) * n,
            copies=np.tile(channel, n),
            shifts=_shifts(group, channels),
            shifts_below=_shifts(group, inputs),
        )

    def _expand(
        self, weight: Tensor, bias: Tensor, out_weight: Tensor | None, out_bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        out = None if out_weight is None else out_weight.view(-1, self._rows[1])
        dense = torch.index_select(weight.reshape(self._rows), 0, self._placed["expanded"], out=out)
        return dense.view(self.shape), torch.index_select(bias, 0, self._placed["copies"], out=out_bias)

    def _fold(self, weight_gradient: Tensor, bias_gradient: Tensor, weight: Tensor, bias: Tensor) -> None:
        # A sum over bags of rows: a fifth of the time of index_add.
        rows = weight_gradient.view(-1, self._rows[1])
        folded = torch.embedding_bag(rows, self._placed["folded"], self._placed["bags"])[0]
        weight.copy_(folded.view_as(weight))
        torch.sum(bias_gradient.view(self._copies), 0, out=bias)

    def turned(self, weight: Tensor, bias: Tensor, element: int) -> tuple[Tensor, Tensor]:
        shift = self._placed["shifts"][element]
        return weight[shift][:, self._placed["shifts_below"][element]], bias[shift]


class OutputLayer(TiedLayer):
    """``y = sum_h rho(h) V z_h + b``, where b is a vector that the group leaves as it is: from the copies of
    a hidden layer to a vector. For a value, which nothing changes, every rho(h) is 1.

    :param group: the group
    :param matrices: (n, outputs, outputs) how it acts on the outputs
    :param inputs: channels of each copy below
    """

    def __init__(
        self, group: Representation, matrices: FloatArray, inputs: int, relax: Relax | None = None
    ) -> None:
        n, outputs = len(group), matrices.shape[-1]
        self._rows = (outputs * n, inputs)
        unchanged = invariant_basis(matrices)
        bias = _uniform((outputs,), n * inputs)
        super().__init__(
            _uniform((outputs, inputs), n * inputs),
            torch.from_numpy(unchanged).to(bias.dtype).t() @ bias,
            (outputs, n * inputs),
            relax,
            stacked=np.ascontiguousarray(matrices.transpose(1, 0, 2)).reshape(outputs * n, outputs),
            unchanged=unchanged,
            inverse=matrices[group.inverses],
            shifts_below=_shifts(group, inputs),
        )

    def _expand(
        self, weight: Tensor, bias: Tensor, out_weight: Tensor | None, out_bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        out = None if out_weight is None else out_weight.view(self._rows)
        dense = torch.mm(self._placed["stacked"], weight, out=out)
        return dense.view(self.shape), torch.mv(self._placed["unchanged"], bias, out=out_bias)

    def _fold(self, weight_gradient: Tensor, bias_gradient: Tensor, weight: Tensor, bias: Tensor) -> None:
        rows = weight_gradient.view(self._rows)
        torch.mm(self._placed["stacked"].t(), rows, out=weight)
        torch.mv(self._placed["unchanged"].t(), bias_gradient, out=bias)

    def turned(self, weight: Tensor, bias: Tensor, element: int) -> tuple[Tensor, Tensor]:
        inverse = self._placed["inverse"][element]
        return inverse @ weight[:, self._placed["shifts_below"][element]], inverse @ bias


def invariant_basis(matrices: FloatArray) -> FloatArray:
    """(size, r) an orthonormal basis of the vectors that no element changes; r may be 0."""
    # The mean over the group projects onto them: its singular values are 0, or at least 1.
    left, singular, _ = np.linalg.svd(matrices.mean(axis=0))
    return np.ascontiguousarray(left[:, singular > 0.5])


def _shifts(group: Representation, channels: int) -> IntArray:
    """(n, n channels) where to gather from to undo (in rows), or to do (in columns), what each element does
    to the copies: the row of (h, i) is read from (g h, i)."""
    return np.asarray((group.table[:, :, None] * channels + np.arange(channels)).reshape(len(group), -1))


def _uniform(shape: tuple[int, ...], inputs: int) -> Tensor:
    bound = 1 / math.sqrt(inputs)
    return torch.empty(shape).uniform_(-bound, bound)
