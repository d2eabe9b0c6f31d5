"""Tied layers against the formulas written as loops, autograd, and the average over the group."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ambidex.learn.networks.layers import FirstLayer, HiddenLayer, OutputLayer, TiedLayer, invariant_basis
from ambidex.learn.networks.log_std import TiedLogStd, noise_of_orbits
from ambidex.learn.networks.representation import Representation
from ambidex.symmetry import MatrixMap, Symmetry, SymmetryGroup
from tests.learn.networks.groups import GROUPS, ORTHOGONAL, index, rotation

KINDS = ("first", "hidden", "output", "value")


def layer_of(kind: str, group: Representation, relax: str | None = None) -> TiedLayer:
    torch.manual_seed(3)
    if kind == "first":
        return FirstLayer(group, group.observation, 3, relax).double()  # type: ignore[arg-type]
    if kind == "hidden":
        return HiddenLayer(group, 3, 2, relax).double()  # type: ignore[arg-type]
    matrices = group.action if kind == "output" else np.ones((len(group), 1, 1))
    return OutputLayer(group, matrices, 3, relax).double()  # type: ignore[arg-type]


def regular(group: Representation, element: int, channels: int) -> Tensor:
    """What an element does to the copies of a hidden layer: z_k becomes z_(g k)."""
    matrix = torch.zeros(len(group), len(group), dtype=torch.float64)
    for k in range(len(group)):
        matrix[group.table[element, k], k] = 1
    return torch.kron(matrix, torch.eye(channels, dtype=torch.float64))


def sides(kind: str, group: Representation, element: int) -> tuple[Tensor, Tensor]:
    """rho_out(h) and rho_in(h) of the layers of `layer_of`."""
    if kind == "first":
        return regular(group, element, 3), torch.from_numpy(group.observation[element])
    if kind == "hidden":
        return regular(group, element, 2), regular(group, element, 3)
    out = torch.from_numpy(group.action[element]) if kind == "output" else torch.eye(1, dtype=torch.float64)
    return out, regular(group, element, 3)


def spelled_out(kind: str, layer: TiedLayer, group: Representation) -> tuple[Tensor, Tensor]:
    """The dense weight and bias, block by block from the formulas."""
    n = len(group)
    weight, bias = layer.weight.detach(), layer.bias.detach()
    blocks = []
    for h in range(n):
        if kind == "first":  # z_h = W rho(h^-1) x + b
            blocks.append(weight @ torch.from_numpy(np.linalg.inv(group.observation[h])))
        elif kind == "hidden":  # z'_h = sum_k W[h^-1 k] z_k + b
            row = [weight[:, group.table[group.inverses[h], k]] for k in range(n)]
            blocks.append(torch.cat(row, dim=1))
        else:  # y = sum_h rho(h) V z_h + b
            blocks.append(torch.from_numpy(group.action[h]) @ weight if kind == "output" else weight)
    if kind in ("first", "hidden"):
        return torch.cat(blocks), torch.cat([bias] * n)
    return torch.cat(blocks, dim=1), layer.expand()[1].detach()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GROUPS)
def test_expansion_is_the_formula_and_equivariant(name: str, kind: str) -> None:
    group = Representation.of(GROUPS[name]())
    layer = layer_of(kind, group)
    weight, bias = layer.expand()
    expected_weight, expected_bias = spelled_out(kind, layer, group)
    assert torch.allclose(weight, expected_weight, atol=1e-12)
    assert torch.allclose(bias, expected_bias, atol=1e-12)
    for element in range(0, len(group), max(1, len(group) // 8)):
        out, into = sides(kind, group, element)
        assert torch.allclose(out @ weight, weight @ into, atol=1e-12)
        assert torch.allclose(out @ bias, bias, atol=1e-12)


@pytest.mark.parametrize("relax", [None, "biases", "weights"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ant", "skewed", "by key", "negated", "five legs"])
def test_fold_is_the_gradient_through_the_expansion(name: str, kind: str, relax: str | None) -> None:
    layer = layer_of(kind, Representation.of(GROUPS[name]()), relax)
    weight, bias = layer.expand()
    by_weight, by_bias = torch.randn_like(weight), torch.randn_like(bias)
    parameters = list(layer.parameters())
    expected = torch.autograd.grad((weight * by_weight).sum() + (bias * by_bias).sum(), parameters)
    folded = layer.fold(by_weight, by_bias)
    into = [torch.full_like(parameter, torch.nan) for parameter in parameters]
    layer.fold(by_weight, by_bias, out=[part.detach() for part in into])
    assert len(folded) == len(parameters) == 2 + {None: 0, "biases": 1, "weights": 2}[relax]
    for gradient, written, reference in zip(folded, into, expected, strict=True):
        assert torch.allclose(gradient, reference, atol=1e-12)
        assert torch.allclose(written, reference, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ORTHOGONAL)
def test_the_folded_gradient_is_the_average_of_a_plain_one_over_the_group(name: str, kind: str) -> None:
    """A plain layer's gradient, projected onto equivariant weights by a loop over the elements; each
    parameter stands n times in the weight, hence the factor n."""
    group = Representation.of(GROUPS[name]())
    layer, n = layer_of(kind, group), len(group)
    plain = torch.nn.Linear(layer.shape[1], layer.shape[0]).double()
    plain(torch.randn(5, layer.shape[1], dtype=torch.float64)).square().sum().backward()
    by_weight, by_bias = plain.weight.grad, plain.bias.grad
    assert by_weight is not None and by_bias is not None
    mean_weight, mean_bias = torch.zeros_like(by_weight), torch.zeros_like(by_bias)
    for element in range(n):
        out, into = sides(kind, group, element)
        mean_weight += out.t() @ by_weight @ into / n  # orthogonal, so that the transpose is the inverse
        mean_bias += out.t() @ by_bias / n
    weight, bias = layer.expand(list(layer.fold(by_weight, by_bias)))
    assert torch.allclose(weight, n * mean_weight, atol=1e-9)
    assert torch.allclose(bias, (n if kind in ("first", "hidden") else 1) * mean_bias, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_expansion_into_buffers_and_from_other_values(kind: str) -> None:
    layer = layer_of(kind, Representation.of(GROUPS["ant"]()), "weights")
    values = [torch.randn_like(parameter) for parameter in layer.parameters()]
    buffers = tuple(torch.full_like(dense, torch.nan).detach() for dense in layer.expand())
    layer.expand(values, (buffers[0], buffers[1]))
    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), values, strict=True):
            parameter.copy_(value)
    for buffer, dense in zip(buffers, layer.expand(), strict=True):
        assert torch.equal(buffer, dense)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_start_within_the_range_of_a_dense_layer(kind: str) -> None:
    group = Representation.of(GROUPS["ant"]())
    torch.manual_seed(0)
    layer: TiedLayer
    if kind == "first":
        layer = FirstLayer(group, group.observation, 32)
    elif kind == "hidden":
        layer = HiddenLayer(group, 32, 32)
    else:
        layer = OutputLayer(group, group.action if kind == "output" else np.ones((8, 1, 1)), 32)
    bound = 1 / np.sqrt(layer.shape[1])
    largest = float(layer.expand()[0].detach().abs().max())
    assert (0.9 if kind != "value" else 0.7) * bound < largest <= bound * (1 + 1e-6)


def test_biases_that_no_element_changes() -> None:
    ant, negated = (Representation.of(GROUPS[name]()) for name in ("ant", "negated"))
    assert invariant_basis(negated.action).shape == (1, 0)
    basis = invariant_basis(ant.action)
    for matrix in ant.action:
        assert np.allclose(matrix @ basis, basis)
    assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]))
    assert basis.shape[1] == round(np.trace(ant.action, axis1=1, axis2=2).mean())  # by its character


def test_log_std_is_one_number_for_each_orbit() -> None:
    log_std = TiedLogStd(Representation.of(GROUPS["ant"]()), start=-1.0)
    with torch.no_grad():
        log_std.tied.copy_(torch.tensor([-1.0, 0.5]))
    assert log_std.expand().tolist() == [-1.0, 0.5] * 4
    assert log_std.fold(torch.arange(8.0)).tolist() == [0 + 2 + 4 + 6, 1 + 3 + 5 + 7]


def test_log_std_follows_known_ratios() -> None:
    """Actuators of strengths 1, 2 and 1/2: their standard deviations have these ratios."""
    log_std = TiedLogStd(Representation.of(GROUPS["skewed"]()))
    assert torch.allclose(log_std.expand().exp(), torch.tensor([1.0, 2.0, 0.5]))
    gradient = torch.autograd.grad(log_std.expand() @ torch.arange(3.0), log_std.tied)[0]
    assert torch.equal(log_std.fold(torch.arange(3.0)), gradient)


def test_noise_that_a_skew_matrix_would_mix_is_refused() -> None:
    axes = np.array([[1.0, 0.4], [0.0, 0.7]])
    turn = MatrixMap(axes @ rotation(120) @ np.linalg.inv(axes))
    group = SymmetryGroup.from_generators([Symmetry.from_maps("turn", index([1, 2, 0]), turn)])
    with pytest.raises(ValueError, match="the actions 0 and 1 by matrices that are not orthogonal"):
        noise_of_orbits(Representation.of(group).action)
    turned = Symmetry.from_maps("turn", index([1, 2, 0]), MatrixMap(rotation(120)))
    orbit, offset = noise_of_orbits(Representation.of(SymmetryGroup.from_generators([turned])).action)
    assert orbit.tolist() == [0, 0] and offset.tolist() == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ant", "skewed"])
def test_turned_weights_are_those_seen_by_a_turned_robot(name: str, kind: str) -> None:
    group = Representation.of(GROUPS[name]())
    layer = layer_of(kind, group)
    weight, bias = torch.randn(layer.shape).double(), torch.randn(layer.shape[0]).double()
    for element in range(len(group)):
        out, into = sides(kind, group, element)
        turned_weight, turned_bias = layer.turned(weight, bias, element)
        assert torch.allclose(out @ turned_weight, weight @ into, atol=1e-12)
        assert torch.allclose(out @ turned_bias, bias, atol=1e-12)
