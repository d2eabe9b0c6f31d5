"""Action maps of a policy that squashes: on scaled actions, and on the means that tanh makes them from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ambidex.actuators.action_map import ActionMap
from ambidex.learn.fits.bent import FormMap, bend
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.symmetry import Symmetry

END_OF_RANGE = 0.99  # a target beyond this share of a range is taken as this: tanh is all but flat there


class SquashedMaps:
    """g, or g-hat where it is fitted, of N transforms.

    :param transforms: as described, in units of the environment
    :param fitted: the estimators of those that are fitted, in the same units
    :param actions: the ranges
    :param like: a tensor of the policy's dtype and device
    """

    def __init__(
        self,
        transforms: Sequence[Symmetry],
        fitted: Mapping[str, ActionMap],
        actions: ActionRange,
        like: Tensor,
    ) -> None:
        found = [fitted.get(transform.name) for transform in transforms]
        given = [
            (transform.action_map.matrix, np.zeros(transform.action_map.size))
            if own is None
            else (own.matrix, own.biases)
            for transform, own in zip(transforms, found, strict=True)
        ]
        scaled = [actions.scaled(matrix, bias) for matrix, bias in given]
        bent = [isinstance(own, FormMap) for own in found]
        exact = np.stack([actions.is_exact(matrix, bias) for matrix, bias in given])
        exact &= ~np.array(bent)[:, None]
        # An exact element is 1 or -1 of another: rounded, so that rounding errors do not grow in training.
        matrices = [np.where(own[:, None], np.round(m), m) for own, (m, _) in zip(exact, scaled, strict=True)]
        self._transposed = like.new_tensor(np.stack(matrices).transpose(0, 2, 1))
        self._biases = like.new_tensor(np.stack([bias for _, bias in scaled]))[:, None]
        self._exact = torch.from_numpy(exact).to(like.device)
        self._all_exact = [bool(own.all()) for own in exact]
        self._bent = found if any(bent) else None
        self._centre, self._half = like.new_tensor(actions.centre), like.new_tensor(actions.half)

    def of_actions(self, scaled: Tensor, drawn: Sequence[int]) -> Tensor:
        """(B, n) to (B, K, n): the images of scaled actions, clipped to the range where they could leave it.

        :param drawn: the K transforms
        """
        images = self._unclipped(scaled, drawn)
        return images if self._is_exact(drawn) else images.clamp(-1, 1)

    def of_means(self, means: Tensor, drawn: Sequence[int]) -> Tensor:
        """(B, n) to (B, K, n): the images of means before squashing, with their gradient.

        An element that is another one or its negative is so before tanh too, since tanh is odd. Any other is
        mapped as the action that it becomes: ``atanh(g(tanh(mean)))``.
        """
        linear = torch.matmul(means, self._transposed[drawn]).transpose(0, 1)
        if self._is_exact(drawn):
            return linear
        squashed = self._unclipped(torch.tanh(means), drawn)
        return torch.where(
            self._exact[drawn], linear, torch.atanh(squashed.clamp(-END_OF_RANGE, END_OF_RANGE))
        )

    def _is_exact(self, drawn: Sequence[int]) -> bool:
        return all(self._all_exact[j] for j in drawn)

    def _unclipped(self, scaled: Tensor, drawn: Sequence[int]) -> Tensor:
        images = (torch.matmul(scaled, self._transposed[drawn]) + self._biases[drawn]).transpose(0, 1)
        if self._bent is None:
            return images
        bent: Tensor = bend([self._bent[j] for j in drawn], self._centre + self._half * images)
        return (bent - self._centre) / self._half
