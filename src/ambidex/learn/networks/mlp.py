"""`EquivariantMlp`: a plain torch module, for whoever trains without Stable-Baselines3."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import nn

from ambidex.common.arrays import FloatArray
from ambidex.learn.networks.layers import FirstLayer, HiddenLayer, OutputLayer, Relax, TiedLayer
from ambidex.learn.networks.representation import Representation
from ambidex.symmetry.group import SymmetryGroup

logger = logging.getLogger(__name__)


class EquivariantMlp(nn.Sequential):
    """An MLP whose output turns with its input: ``mlp(f(s)) == g(mlp(s))``, or does not change at all.

    It has the parameters of an MLP that is smaller by the number of the group's elements, and computes what
    an MLP of the full width computes.

    :param group: a closed group; the input is the observation, for Dict observations the vectors of all keys
        in sorted order
    :param hidden: the widths of the hidden layers, each rounded up to a multiple of the number of elements,
        the identity included
    :param output: ``"action"``: the output transforms as the actions do; ``"invariant"``: one number that
        no transform changes, such as a value
    :param activation: between layers, elementwise
    """

    def __init__(
        self,
        group: SymmetryGroup,
        hidden: Sequence[int] = (256, 256),
        output: Literal["action", "invariant"] = "action",
        activation: type[nn.Module] = nn.ReLU,
    ) -> None:
        representation = Representation.of(group)
        if output not in ("action", "invariant"):
            raise ValueError(f"output is 'action' or 'invariant', got {output!r}")
        super().__init__(
            *hidden_layers(representation, hidden, activation),
            output_layer(representation, hidden, representation.action if output == "action" else None),
        )

    def dense(self) -> nn.Sequential:
        """A plain MLP that computes the same, to be exported."""
        return dense(self)


def hidden_layers(
    group: Representation, widths: Sequence[int], activation: type[nn.Module], relax: Relax | None = None
) -> list[nn.Module]:
    """The layers from the observation to the last hidden layer, each with its activation behind it."""
    channels = channels_of(widths, len(group))
    _say_rounding(widths, channels, len(group))
    layers: list[TiedLayer] = [FirstLayer(group, group.observation, channels[0], relax)]
    for below, above in itertools.pairwise(channels):
        layers.append(HiddenLayer(group, below, above, relax))
    return [module for layer in layers for module in (layer, activation())]


def output_layer(
    group: Representation, widths: Sequence[int], matrices: FloatArray | None, relax: Relax | None = None
) -> OutputLayer:
    """The layer behind `hidden_layers`.

    :param matrices: how the group acts on the outputs; None for one number that it does not change
    """
    trivial = np.ones((len(group), 1, 1))
    return OutputLayer(
        group, trivial if matrices is None else matrices, channels_of(widths, len(group))[-1], relax
    )


def channels_of(widths: Sequence[int], elements: int) -> list[int]:
    """How many channels each copy of a hidden layer has; a width that is no multiple is rounded up."""
    if not widths or min(widths) < 1:
        raise ValueError(
            "an equivariant network has at least one hidden layer, and each of them at least one unit; "
            f"got {list(widths)}"
        )
    return [-(-width // elements) for width in widths]


def _say_rounding(widths: Sequence[int], channels: Sequence[int], elements: int) -> None:
    rounded = [count * elements for count in channels]
    if rounded != list(widths):
        logger.info(
            "hidden layers of %s units are rounded up to %s, multiples of the group's %d elements",
            list(widths),
            rounded,
            elements,
        )


@torch.no_grad()
def dense(modules: nn.Sequential) -> nn.Sequential:
    """The same modules with plain linear layers in the place of tied ones."""
    plain: list[nn.Module] = []
    for module in modules:
        if isinstance(module, TiedLayer):
            weight, bias = module.expand()
            outputs, inputs = weight.shape
            linear = nn.Linear(inputs, outputs, device=weight.device, dtype=weight.dtype)
            linear.weight.copy_(weight)
            linear.bias.copy_(bias)
            module = linear
        plain.append(module)
    return nn.Sequential(*plain)
