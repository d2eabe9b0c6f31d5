"""The parameters of actor and critic, as the dense layers that the passes by hand take."""

from __future__ import annotations

import torch
from torch import Tensor

from ambidex.learn.networks.layers import TiedLayer
from ambidex.learn.networks.log_std import TiedLogStd
from ambidex.learn.update.fast.adam import FlatAdam, InPlaceAdam
from ambidex.learn.update.fast.plain_mlp import Dense, Layer


class DenseLayers:
    """Weights and biases with places for their gradients: where the optimiser has them, or, of tied layers,
    what these expand into.

    :param layers: of the policy
    :param adam: the optimiser that holds their parameters
    :param penalty: of the squares of all untied parameters of tied layers
    """

    def __init__(self, layers: list[Layer], adam: FlatAdam | InPlaceAdam, penalty: float = 0.0) -> None:
        self.dense: list[Dense] = []
        self.gradients: list[Dense] = []
        self._tied: list[tuple[TiedLayer, list[Tensor], list[Tensor], Dense, Dense]] = []
        self._free: list[tuple[Tensor, Tensor]] = []
        self._penalty = penalty
        for layer in layers:
            own = [adam.parameters[parameter] for parameter in layer.parameters()]
            by_own = [adam.gradients[parameter] for parameter in layer.parameters()]
            if isinstance(layer, TiedLayer):
                whole = layer.expand(own)
                by_whole = torch.empty_like(whole[0]), torch.empty_like(whole[1])
                self._tied.append((layer, own, by_own, whole, by_whole))
                self._free += [
                    (adam.parameters[free], adam.gradients[free]) for free in layer.free() if penalty
                ]
            else:
                whole, by_whole = (own[0], own[1]), (by_own[0], by_own[1])
            self.dense.append(whole)
            self.gradients.append(by_whole)

    def expand(self) -> None:
        """Bring the dense layers to what the parameters are now."""
        for layer, own, _, whole, _ in self._tied:
            layer.expand(own, out=whole)

    def fold(self) -> None:
        """Bring the gradients to the parameters, the penalty's included."""
        for layer, _, by_own, _, by_whole in self._tied:
            layer.fold(*by_whole, out=by_own)
        for free, by_free in self._free:
            by_free.add_(free, alpha=2 * self._penalty)


class DenseLogStd:
    """The log-std of each action with a place for its gradient.

    :param log_std: of the policy
    :param adam: the optimiser that holds its parameter
    """

    def __init__(self, log_std: Tensor | TiedLogStd, adam: FlatAdam) -> None:
        self._tied = log_std if isinstance(log_std, TiedLogStd) else None
        parameter = log_std.tied if isinstance(log_std, TiedLogStd) else log_std
        self._own, self._by_own = adam.parameters[parameter], adam.gradients[parameter]
        self.dense = self._own if self._tied is None else self._tied.expand(self._own)
        self.gradient = self._by_own if self._tied is None else torch.empty_like(self.dense)

    def expand(self) -> None:
        if self._tied is not None:
            self.dense.copy_(self._tied.expand(self._own))

    def fold(self) -> None:
        if self._tied is not None:
            self._by_own.copy_(self._tied.fold(self.gradient))
