"""An equivariant actor and critic for rsl_rl 5.

``class_name="ambidex.learn.networks.rsl_rl:EquivariantModel"`` takes it. Three things have to keep the
symmetry: the network, the observations' normaliser, and the noise.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from rsl_rl.models import MLPModel
from rsl_rl.modules import EmpiricalNormalization
from rsl_rl.modules.distribution import GaussianDistribution
from rsl_rl.utils import resolve_nn_activation
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ambidex.common.arrays import FloatArray
from ambidex.learn.networks.log_std import noise_of_orbits
from ambidex.learn.networks.mlp import EquivariantMlp, dense
from ambidex.learn.networks.representation import Representation
from ambidex.symmetry import load
from ambidex.symmetry.on_vector import on_vector


class EquivariantModel(MLPModel):  # type: ignore[misc]
    """rsl_rl's ``MLPModel`` with ``pi(f(s)) == g(pi(s))``, or ``V(f(s)) == V(s)`` where it is the critic.

    :param symmetry: a closed description: its file, or a name of the catalog
    :param pass_through: groups of observations that no transform changes
    :param hidden_dims: each rounded up to a multiple of the number of elements, the identity included

    All others are those of ``MLPModel``; the distribution is ``GaussianDistribution``, one standard deviation
    for each orbit of actuators.
    """

    def __init__(
        self,
        obs: Any,
        obs_groups: dict[str, list[str]],
        obs_set: str,
        output_dim: int,
        hidden_dims: Sequence[int] = (256, 256, 256),
        activation: str = "elu",
        obs_normalization: bool = False,
        distribution_cfg: dict[str, Any] | None = None,
        *,
        symmetry: str,
        pass_through: Sequence[str] = (),
    ) -> None:
        super().__init__(
            obs, obs_groups, obs_set, output_dim, hidden_dims, activation, obs_normalization, distribution_cfg
        )
        sizes = {key: int(obs[key].shape[-1]) for key in self.obs_groups}
        group = on_vector(load(symmetry), sizes, pass_through)
        representation = Representation.of(group)
        output: Literal["action", "invariant"] = "invariant" if obs_set == "critic" else "action"
        outputs = 1 if output == "invariant" else group.action_size
        if output_dim != outputs:
            raise ValueError(
                f"{symmetry}: the {obs_set} is to have {output_dim} outputs, but {outputs} are described"
            )
        widths = [self.obs_dim if width == -1 else width for width in hidden_dims]
        self.mlp: nn.Sequential = EquivariantMlp(
            group, widths, output, type(resolve_nn_activation(activation))
        )
        if obs_normalization:
            self.obs_normalizer = SymmetricNormalization(representation.observation)
        if self.distribution is not None:
            _tie(self.distribution, representation)

    def as_jit(self) -> nn.Module:
        return MLPModel.as_jit(self._dense())  # type: ignore[no-any-return]

    def as_onnx(self, verbose: bool) -> nn.Module:
        return MLPModel.as_onnx(self._dense(), verbose)  # type: ignore[no-any-return]

    def _dense(self) -> EquivariantModel:
        """The same with plain layers only, to be exported."""
        plain = copy.copy(self)
        plain._modules = dict(self._modules)  # so that replacing one leaves this model as it is
        plain.mlp = dense(self.mlp)
        if self.obs_normalization:
            plain.obs_normalizer = EmpiricalNormalization(self.obs_dim)
            plain.obs_normalizer.load_state_dict(self.obs_normalizer.state_dict())
        return plain


class SymmetricNormalization(EmpiricalNormalization):  # type: ignore[misc]
    """Running statistics of a stream of observations and all their images, so that normalising commutes with
    every transform: elements of one orbit share one variance, and the mean is one that no transform changes.

    :param matrices: (n, observations, observations) how the group acts
    """

    def __init__(self, matrices: FloatArray) -> None:
        if not np.allclose(matrices @ matrices.transpose(0, 2, 1), np.eye(matrices.shape[-1])):
            raise ValueError(
                "the description multiplies observations by other numbers than 1 and -1, which running "
                "statistics cannot follow; use obs_normalization=False, or describe them in other units"
            )
        super().__init__(matrices.shape[-1])
        orbit, _ = noise_of_orbits(matrices)
        self.register_buffer("orbit", torch.from_numpy(orbit), persistent=False)
        self.register_buffer("unchanged", torch.from_numpy(matrices.mean(axis=0)).float(), persistent=False)

    @torch.jit.unused
    def update(self, x: Tensor) -> None:
        super().update(x)
        mean, variance = self._mean[0], self._var[0]
        kept = self.unchanged @ mean
        shared = self._shared(variance + (mean - kept).square())
        self._mean.copy_(kept)
        self._var.copy_(shared)
        self._std = torch.sqrt(self._var)

    def _shared(self, values: Tensor) -> Tensor:
        """The mean over each orbit."""
        sums = values.new_zeros(len(values)).index_add_(0, self.orbit, values)
        return (sums / torch.bincount(self.orbit, minlength=len(values)).clamp(min=1))[self.orbit]


class _Tied(nn.Module):
    """A standard deviation, or its logarithm, from one number per orbit of actuators."""

    def __init__(self, group: Representation, is_logarithm: bool) -> None:
        super().__init__()
        orbit, offset = noise_of_orbits(group.action)
        self.is_logarithm = is_logarithm
        self.register_buffer("orbit", torch.from_numpy(orbit), persistent=False)
        self.register_buffer("offset", torch.from_numpy(offset).float(), persistent=False)
        self.orbit: Tensor
        self.offset: Tensor

    def forward(self, tied: Tensor) -> Tensor:
        each = tied[self.orbit]
        return each + self.offset if self.is_logarithm else each * self.offset.exp()

    def right_inverse(self, each: Tensor) -> Tensor:
        tied = each - self.offset if self.is_logarithm else each / self.offset.exp()
        sums = tied.new_zeros(int(self.orbit.max()) + 1).index_add_(0, self.orbit, tied)
        return sums / torch.bincount(self.orbit)


def _tie(distribution: nn.Module, group: Representation) -> None:
    if type(distribution) is not GaussianDistribution:
        raise ValueError(
            f"{type(distribution).__name__} takes more from the network than a mean action; an equivariant "
            "model has the distribution GaussianDistribution"
        )
    is_logarithm = distribution.std_type == "log"
    name = "log_std_param" if is_logarithm else "std_param"
    parametrize.register_parametrization(distribution, name, _Tied(group, is_logarithm))
