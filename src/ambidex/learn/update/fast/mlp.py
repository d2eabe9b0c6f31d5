"""A forward and a backward pass through linear layers, by hand, into standing buffers.

Nearly all the time of an update goes into the matrix products here. They run at the processor's peak, so only
fewer of them take less time: rows that cannot change a gradient are left out, which is exact.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ambidex.learn.update.fast.plain_mlp import Activation, Dense

WORTH_IT = 7 / 8  # above this share of all rows, gathering some costs more than the products with the others


class FastMlp:
    """The chain rule for linear layers with an activation between them.

    :param layers: weight (out, in) and bias (out) of each layer
    :param gradients: where the gradient of each of these belongs
    :param activation: between layers
    :param rows: the most rows of one pass
    """

    def __init__(
        self,
        layers: list[Dense],
        gradients: list[Dense],
        activation: Activation,
        rows: int,
    ) -> None:
        self._layers = layers
        self._gradients = gradients
        self._activate = torch.relu_ if activation == "relu" else torch.tanh_
        self._activate_backward = _relu_backward if activation == "relu" else _tanh_backward
        self._outputs = [bias.new_empty(rows, len(bias)) for _, bias in layers]
        self._deltas = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._inputs: list[Tensor] = []
        self._chosen: Tensor | None = None

    def forward(self, rows: Tensor, chosen: Tensor | None = None) -> Tensor:
        """(rows, in) to (rows, out), of the chosen rows alone where some are; the next pass overwrites it."""
        if chosen is not None:
            rows = rows.index_select(0, chosen)
        self._chosen = chosen
        self._inputs = []
        for (weight, bias), buffer in zip(self._layers, self._outputs, strict=True):
            if self._inputs:
                self._activate(rows)
            self._inputs.append(rows)
            rows = torch.addmm(bias, rows, weight.t(), out=buffer[: len(rows)])
        return rows

    def backward(self, delta: Tensor, nonzero: Tensor | None = None) -> None:
        """Write the gradients of all parameters.

        :param delta: (rows, out) the gradient by the outputs of all rows that `forward` was given, chosen
            or not
        :param nonzero: the rows in which it is not 0; None for those that `forward` chose
        """
        # Of all rows, zeros or not: a NaN where 0 is due is not left out.
        torch.sum(delta, dim=0, out=self._gradients[-1][1])
        if self._chosen is not None:
            delta, inputs = delta.index_select(0, self._chosen), self._inputs
        else:
            delta, *inputs = _only(nonzero, delta, *self._inputs)
        last = len(self._layers) - 1
        for index in range(last, -1, -1):
            weight_gradient, bias_gradient = self._gradients[index]
            torch.mm(delta.t(), inputs[index], out=weight_gradient)
            if index < last:
                torch.sum(delta, dim=0, out=bias_gradient)
            if index > 0:
                weight, _ = self._layers[index]
                delta = torch.mm(delta, weight, out=self._deltas[index - 1][: len(delta)])
                self._activate_backward(delta, inputs[index])

    def backward_to_inputs(self, delta: Tensor, columns: slice, nonzero: Tensor | None = None) -> Tensor:
        """The gradient by these columns of the rows that `forward` was given, and by no parameter.

        :param delta: (rows, out) the gradient by the outputs
        :param nonzero: the rows in which it is not 0, and of which the gradient is given; None for all
        """
        delta, *inputs = _only(nonzero, delta, *self._inputs[1:])
        for index in range(len(self._layers) - 1, 0, -1):
            weight, _ = self._layers[index]
            delta = torch.mm(delta, weight, out=self._deltas[index - 1][: len(delta)])
            self._activate_backward(delta, inputs[index - 1])
        return torch.mm(delta, self._layers[0][0][:, columns])


def forward(layers: list[Dense], activation: Activation, rows: Tensor) -> Tensor:
    """(rows, in) to (rows, out), with nothing kept for a backward pass."""
    activate = torch.relu_ if activation == "relu" else torch.tanh_
    for index, (weight, bias) in enumerate(layers):
        rows = torch.addmm(bias, activate(rows) if index else rows, weight.t())
    return rows


def worth_choosing(flags: Tensor) -> Tensor | None:
    """The rows whose flag is not 0 (NaN is not); None if they are so many that all are as cheap."""
    rows = flags.nonzero().flatten()
    return rows if len(rows) < WORTH_IT * len(flags) else None


def _only(rows: Tensor | None, *tensors: Tensor) -> list[Tensor]:
    return [one if rows is None else one.index_select(0, rows) for one in tensors]


def _relu_backward(delta: Tensor, output: Tensor) -> None:
    torch.ops.aten.threshold_backward.grad_input(delta, output, 0, grad_input=delta)


def _tanh_backward(delta: Tensor, output: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(delta, output, grad_input=delta)
