"""The passes by hand against autograd on a network of torch, with rows left out or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ambidex.learn.update.fast.mlp import FastMlp, worth_choosing
from ambidex.learn.update.fast.plain_mlp import Activation

ROWS = 12


def network(activation: type[nn.Module]) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(5, 9), activation(), nn.Linear(9, 7), activation(), nn.Linear(7, 3)
    ).double()


def by_hand(net: nn.Sequential, activation: Activation) -> tuple[FastMlp, dict[Any, Tensor]]:
    layers = [(module.weight.data, module.bias.data) for module in net if isinstance(module, nn.Linear)]
    gradients = {tensor: torch.full_like(tensor, torch.nan) for layer in layers for tensor in layer}
    places = [(gradients[weight], gradients[bias]) for weight, bias in layers]
    return FastMlp(layers, places, activation, ROWS), gradients


@pytest.mark.parametrize(("module", "activation"), [(nn.ReLU, "relu"), (nn.Tanh, "tanh")])
@pytest.mark.parametrize("left_out", ["none", "in both passes", "in the backward pass", "all"])
def test_passes(module: type[nn.Module], activation: Activation, left_out: str) -> None:
    net = network(module)
    mlp, gradients = by_hand(net, activation)
    rows, delta = torch.randn(ROWS, 5).double(), torch.randn(ROWS, 3).double()
    kept = torch.arange(0 if left_out == "all" else ROWS, dtype=torch.long)
    if left_out.startswith("in"):
        kept = torch.tensor([1, 4, 5, 10])
    delta[[row for row in range(ROWS) if row not in kept.tolist()]] = 0
    outputs = net(rows)
    outputs.backward(delta)

    if left_out == "in both passes":
        torch.testing.assert_close(mlp.forward(rows, kept), outputs.detach()[kept])
        mlp.backward(delta)
    else:
        torch.testing.assert_close(mlp.forward(rows), outputs.detach())
        mlp.backward(delta, None if left_out == "none" else kept)
    for parameter, found in zip(net.parameters(), gradients.values(), strict=True):
        torch.testing.assert_close(found, parameter.grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("forward", [True, False])
def test_a_nan_in_a_row_that_is_left_out_is_seen(forward: bool) -> None:
    mlp, gradients = by_hand(network(nn.ReLU), "relu")
    kept, delta = torch.tensor([0, 2]), torch.zeros(ROWS, 3).double()
    delta[7, 1] = torch.nan
    mlp.forward(torch.randn(ROWS, 5).double(), kept if forward else None)
    mlp.backward(delta, None if forward else kept)
    assert any(bool(gradient.isnan().any()) for gradient in gradients.values())


def test_what_is_worth_choosing() -> None:
    assert worth_choosing(torch.tensor([0.0, torch.nan, 1.0, 0.0, -2.0])).tolist() == [1, 2, 4]  # type: ignore[union-attr]
    assert worth_choosing(torch.ones(5)) is None
    flags = torch.ones(100)
    flags[3] = 0
    assert worth_choosing(flags) is None
    assert worth_choosing(torch.zeros(5)).tolist() == []  # type: ignore[union-attr]
