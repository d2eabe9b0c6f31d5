"""How far the untied parameters of a relaxed network have led it away from its symmetry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ambidex.learn.networks.layers import TiedLayer


@dataclass(frozen=True)
class LayerRelaxation:
    """A dense layer W beside the tied one that it started as; 0 where it is equivariant.

    :param asymmetry: the norm of the part of weight and bias that is not equivariant, relative to the norm
        of the tied weight and bias
    :param by_transform: for each transform h the norm of ``W rho(h) - rho(h) W``, relative to the same norm
        (with ``rho(h)`` undone on the side of the outputs: the norm of ``rho(h)^-1 W rho(h) - W``)
    """

    asymmetry: float
    by_transform: dict[str, float]


@torch.no_grad()
def relaxation_of(layer: TiedLayer, names: Sequence[str]) -> LayerRelaxation:
    """:param names: of the elements of the group, the identity first"""
    tied_size = _norm(*layer.expand([layer.weight, layer.bias])) or 1.0
    weight = layer.weight.new_zeros(layer.shape) if layer.free_weight is None else layer.free_weight
    bias = layer.weight.new_zeros(layer.shape[0]) if layer.free_bias is None else layer.free_bias
    by_transform = {}
    mean_weight, mean_bias = weight / len(names), bias / len(names)
    for element, name in enumerate(names[1:], start=1):
        turned_weight, turned_bias = layer.turned(weight, bias, element)
        by_transform[name] = _norm(turned_weight - weight, turned_bias - bias) / tied_size
        mean_weight += turned_weight / len(names)
        mean_bias += turned_bias / len(names)
    return LayerRelaxation(_norm(weight - mean_weight, bias - mean_bias) / tied_size, by_transform)


def _norm(weight: Tensor, bias: Tensor) -> float:
    return math.hypot(float(weight.norm()), float(bias.norm()))
