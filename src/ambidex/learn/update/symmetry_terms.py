"""What the symmetry adds to the loss of any actor-critic: the terms of images, their gates, the penalty."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from ambidex.learn.losses.constants import Outputs
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy
from ambidex.learn.update.iteration import SymmetryConstants
from ambidex.learn.update.minibatch import Minibatch


def symmetry_terms(
    constants: SymmetryConstants,
    minibatch: Minibatch,
    outputs: Tensor,
    values: Tensor,
    log_std: Tensor | None,
    advantages: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted policy and value terms of every sample and image, and which the value gate blocked.

    :param outputs: (B, 1 + K, n) means or log-probabilities of s and its images
    :param values: (B, 1 + K) V(s) and V(f(s))
    :param advantages: (B,) as they enter the algorithm's own loss
    """
    symmetric_values = values[:, 1:]
    if not constants.names:
        return symmetric_values, symmetric_values, symmetric_values
    gate, blocked = gate_of(constants, minibatch, values)
    policy_terms = symmetry_policy_terms(constants, minibatch, outputs, log_std, advantages)
    return policy_terms * gate, symmetry_value_terms(constants, minibatch, values) * gate, blocked


def gate_of(
    constants: SymmetryConstants, minibatch: Minibatch, values: Tensor
) -> tuple[Tensor | float, Tensor]:
    """What multiplies the terms of every sample and image, and which the value gate blocked: (B, K) each.

    :param values: (B, 1 + K) V(s) and V(f(s))
    """
    symmetric_values = values[:, 1:]
    if constants.gates is None:
        return 1.0, torch.zeros_like(symmetric_values)
    # A gate decides whether a term counts; through a gradient the networks would learn to close it.
    gates = constants.gates.of(minibatch)
    opened = gates.opened(values[:, :1].detach(), symmetric_values.detach())
    return gates.dead_zone * opened, (~opened).to(values.dtype)


def symmetry_policy_terms(
    constants: SymmetryConstants,
    minibatch: Minibatch,
    outputs: Tensor,
    log_std: Tensor | None,
    advantages: Tensor,
) -> Tensor:
    """The weighted policy terms before their gates, (B, K); see `symmetry_terms`."""
    said = Outputs(
        means=outputs[:, 0],
        symmetric_means=outputs[:, 1:],
        transformed=minibatch.images_of(constants.transformed(outputs[:, 0])),
        log_std=log_std,
        advantages=advantages,
    )
    # Of each image only the kind of loss that its transform has is not 0.
    terms = outputs.new_zeros((len(outputs), outputs.shape[1] - 1))
    for loss in constants.losses.values():
        terms = terms + loss.of(minibatch).terms(said)
    return terms


def symmetry_value_terms(constants: SymmetryConstants, minibatch: Minibatch, values: Tensor) -> Tensor:
    """The weighted value terms before their gates, (B, K); see `symmetry_terms`."""
    # eq:MSL_LV, eq:ASL_v_loss: the images learn the same value target.
    squares = (values[:, 1:] - constants.returns[minibatch.rows, None]).square()
    return minibatch.transforms(constants.value_weights) * squares


class GateLog:
    """Counts, for each transform, the samples that the value gate blocked."""

    def __init__(self, transforms: int, device: torch.device) -> None:
        self._blocked = torch.zeros(transforms, device=device)
        self._seen = torch.zeros(transforms, device=device)

    def add(self, blocked: Tensor, minibatch: Minibatch) -> None:
        """:param blocked: (B, K)"""
        if minibatch.images is None:
            self._blocked += blocked.sum(dim=0)
            self._seen += len(minibatch.rows)
        else:
            images = minibatch.images.flatten()
            self._blocked.index_add_(0, images, blocked.flatten().to(self._blocked.dtype))
            self._seen.index_add_(0, images, torch.ones_like(images, dtype=self._seen.dtype))

    def ratio(self) -> npt.NDArray[np.float64]:
        """(N,) the share of the samples seen."""
        return (self._blocked / self._seen.clamp(min=1)).double().cpu().numpy()


def relaxation_penalty(policy: ActorCriticPolicy) -> Tensor | float:
    """What an equivariant policy pays for the asymmetry that it was allowed."""
    if isinstance(policy, EquivariantActorCriticPolicy) and policy.relax_penalty:
        return policy.relaxation_penalty()
    return 0.0
