"""`EquivariantMlp`: a module of its own, exact in both precisions, and the same as a dense one."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ambidex import EquivariantMlp
from ambidex.learn.networks.layers import TiedLayer
from ambidex.symmetry import SymmetryGroup, load
from tests.learn.networks.groups import GROUPS, by_key
from tests.subprocesses import said_by_python

ROUNDING = {torch.float32: 1e-6, torch.float64: 1e-12}


def inputs(group: SymmetryGroup, rows: int = 7, dtype: torch.dtype = torch.float64) -> Any:
    size = group.observation_size
    torch.manual_seed(1)
    if isinstance(size, dict):
        return {key: torch.randn(rows, width, dtype=dtype) for key, width in sorted(size.items())}
    return torch.randn(rows, size, dtype=dtype)


def vector(observation: Any) -> Tensor:
    if isinstance(observation, dict):
        return torch.cat([observation[key] for key in sorted(observation)], dim=1)
    assert isinstance(observation, Tensor)
    return observation


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", GROUPS)
def test_outputs_turn_with_inputs(name: str, dtype: torch.dtype) -> None:
    group = GROUPS[name]()
    torch.manual_seed(2)
    actor = EquivariantMlp(group, [32, 32], activation=nn.ELU).to(dtype)
    critic = EquivariantMlp(group, [32], output="invariant", activation=nn.Tanh).to(dtype)
    with torch.no_grad():
        for parameter in (*actor.parameters(), *critic.parameters()):
            parameter.normal_(std=0.3)  # anything, as after training
        observation = inputs(group, dtype=dtype)
        action, value = actor(vector(observation)), critic(vector(observation))
        assert float(action.std()) > 1e-3 and float(value.std()) > 1e-3
        for transform in group:
            image = vector(transform.observation(observation))
            error = (actor(image) - transform.action(action)).abs().max() / action.abs().max()
            assert float(error) < ROUNDING[dtype] * 2
            assert float((critic(image) - value).abs().max() / value.abs().max()) < ROUNDING[dtype] * 2


@pytest.mark.parametrize("name", ["ant", "triangle", "negated"])
def test_the_dense_network_is_plain_and_the_same(name: str) -> None:
    group = GROUPS[name]()
    mlp = EquivariantMlp(group, [30, 20]).double()
    dense = mlp.dense()
    assert [type(module) for module in dense] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    observation = vector(inputs(group))
    assert torch.equal(dense(observation), mlp(observation))


@pytest.mark.filterwarnings("ignore")  # of torch.jit and torch.onnx, about themselves
def test_the_dense_network_is_scripted_and_exported_to_onnx(tmp_path: Path) -> None:
    """Plain layers, which any runtime knows, and as symmetric there."""
    onnxruntime = pytest.importorskip("onnxruntime")
    group = load("ant")
    mlp = EquivariantMlp(group, [32, 16], activation=nn.ELU)
    observation = inputs(group, dtype=torch.float32)
    expected = mlp(observation).detach()
    scripted = torch.jit.script(mlp.dense())
    torch.testing.assert_close(scripted(observation), expected)
    path = tmp_path / "policy.onnx"
    batch = {"input": {0: torch.export.Dim("batch")}}
    torch.onnx.export(
        mlp.dense(), (observation,), str(path), dynamo=True, verbose=False, dynamic_shapes=batch
    )
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (name,) = [one.name for one in session.get_inputs()]

    def run(rows: Tensor) -> Tensor:
        return torch.from_numpy(session.run(None, {name: rows.numpy()})[0])

    torch.testing.assert_close(run(observation), expected, rtol=1e-5, atol=1e-6)
    for transform in group:
        image = run(transform.observation(observation))
        torch.testing.assert_close(image, transform.action(expected), rtol=1e-4, atol=1e-5)


def test_it_needs_no_stable_baselines3() -> None:
    """Where none can be imported, the network is made and trained all the same."""
    program = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "from ambidex import EquivariantMlp, load\n"
        "import torch\n"
        "mlp = EquivariantMlp(load('ant'), [16])\n"
        "mlp(torch.zeros(2, 28)).sum().backward()\n"
        "mlp.dense()\n"
        "print('made')"
    )
    assert said_by_python(program) == "made"


def test_widths_are_rounded_up_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ambidex"):
        mlp = EquivariantMlp(load("ant"), [250, 256])
    assert [layer.shape for layer in mlp if isinstance(layer, TiedLayer)] == [(256, 28), (256, 256), (8, 256)]
    assert caplog.messages == [
        "hidden layers of [250, 256] units are rounded up to [256, 256], multiples of the group's 8 elements"
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="ambidex"):
        EquivariantMlp(load("ant"), [256, 256])
    assert caplog.messages == []


def test_an_eighth_of_the_parameters() -> None:
    mlp = EquivariantMlp(load("ant"), [256, 256], output="invariant")
    plain = 28 * 256 + 256 + 256 * 256 + 256 + 256 + 1
    assert sum(parameter.numel() for parameter in mlp.parameters()) == (plain - 1) // 8 + 1


def test_saved_parameters_are_the_tied_ones_alone() -> None:
    first, second = (EquivariantMlp(by_key(), [8]) for _ in range(2))
    buffer = io.BytesIO()
    torch.save(first.state_dict(), buffer)
    buffer.seek(0)
    second.load_state_dict(torch.load(buffer, weights_only=True))
    observation = vector(inputs(by_key(), dtype=torch.float32))
    assert torch.equal(first(observation), second(observation))
    assert set(first.state_dict()) == {"0.weight", "0.bias", "2.weight", "2.bias"}


def test_gradients_of_gradients_exist() -> None:
    """As trust regions need them."""
    mlp = EquivariantMlp(load("triangle"), [12, 12], activation=nn.Tanh).double()
    parameters = list(mlp.parameters())
    loss = mlp(vector(inputs(load("triangle")))).square().mean()
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    again = torch.autograd.grad(sum(gradient.square().sum() for gradient in gradients), parameters)
    assert all(bool(gradient.abs().sum() > 0) for gradient in again if gradient.numel())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"hidden": []}, "at least one hidden layer"),
        ({"hidden": [8, 0]}, "at least one unit"),
        ({"output": "value"}, "'action' or 'invariant', got 'value'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        EquivariantMlp(load("ant"), **arguments)
