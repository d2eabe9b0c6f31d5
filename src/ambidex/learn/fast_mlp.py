"""A forward and a backward pass through linear layers, by hand, into buffers that are allocated once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ambidex.learn.plain_mlp import Activation


class FastMlp:
    """The chain rule for linear layers with an activation between them.

    :param layers: weight (out, in) and bias (out) of each layer
    :param gradients: where the gradient of each of these tensors belongs
    :param activation: between layers
    :param rows: the most rows of one pass
    """

    def __init__(
        self,
        layers: list[tuple[Tensor, Tensor]],
        gradients: Mapping[Tensor, Tensor],
        activation: Activation,
        rows: int,
    ) -> None:
        self._layers = layers
        self._gradients = [(gradients[weight], gradients[bias]) for weight, bias in layers]
        self._activate = torch.relu_ if activation == "relu" else torch.tanh_
        self._activate_backward = _relu_backward if activation == "relu" else _tanh_backward
        self._outputs = [bias.new_empty(rows, len(bias)) for _, bias in layers]
        self._deltas = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._inputs: list[Tensor] = []

    def forward(self, rows: Tensor) -> Tensor:
        """(rows, in) to (rows, out); the result is overwritten by the next pass."""
        self._inputs = []
        for (weight, bias), buffer in zip(self._layers, self._outputs, strict=True):
            if self._inputs:
                self._activate(rows)
            self._inputs.append(rows)
            rows = torch.addmm(bias, rows, weight.t(), out=buffer[: len(rows)])
        return rows

    def backward(self, delta: Tensor) -> None:
        """Write the gradients of all parameters.

        :param delta: (rows, out) the gradient by what the last `forward` returned
        """
        for index in reversed(range(len(self._layers))):
            weight_gradient, bias_gradient = self._gradients[index]
            torch.mm(delta.t(), self._inputs[index], out=weight_gradient)
            torch.sum(delta, dim=0, out=bias_gradient)
            if index > 0:
                weight, _ = self._layers[index]
                delta = torch.mm(delta, weight, out=self._deltas[index - 1][: len(delta)])
                self._activate_backward(delta, self._inputs[index])


def _relu_backward(delta: Tensor, output: Tensor) -> None:
    torch.ops.aten.threshold_backward.grad_input(delta, output, 0, grad_input=delta)


def _tanh_backward(delta: Tensor, output: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(delta, output, grad_input=delta)
