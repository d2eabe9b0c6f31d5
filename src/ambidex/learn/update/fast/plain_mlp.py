"""Plain policies: an MLP actor-critic with a Gaussian on the CPU, weights tied or not, as lists of layers.

Most robots are trained with exactly such a policy. Knowing that it is nothing more lets the roll-out and the
update skip what a general policy needs: feature extractors, distribution objects, autograd.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from torch import Tensor, nn

from ambidex.learn.networks.actuated import canonical_kind
from ambidex.learn.networks.layers import TiedLayer
from ambidex.learn.networks.log_std import TiedLogStd
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy

Activation = Literal["relu", "tanh"]
ACTIVATIONS: dict[type[nn.Module], Activation] = {nn.ReLU: "relu", nn.Tanh: "tanh"}


Layer = nn.Linear | TiedLayer
Dense = tuple[Tensor, Tensor]
"""Weight (out, in) and bias (out)."""


@dataclass(frozen=True)
class PlainMlp:
    """A plain policy as the modules that hold its parameters.

    :param actor: the layers from the observation to the mean action
    :param critic: the layers from the observation to the value
    :param activation: between layers
    :param log_std: one per action element, or what expands into that
    """

    actor: list[Layer]
    critic: list[Layer]
    activation: Activation
    log_std: Tensor | TiedLogStd

    @classmethod
    def of(cls, policy: Any) -> PlainMlp:
        """The layers of a policy to which `why_not_plain` does not object."""
        actor, critic = _networks(policy)
        between = [module for module in (*actor, *critic) if not isinstance(module, Layer)]
        return cls(
            actor=[module for module in actor if isinstance(module, Layer)],
            critic=[module for module in critic if isinstance(module, Layer)],
            activation=ACTIVATIONS[type(between[0])] if between else "relu",
            log_std=getattr(policy, "tied_log_std", None) or policy.log_std,
        )

    @torch.no_grad()
    def dense_log_std(self) -> Tensor:
        return self.log_std.expand() if isinstance(self.log_std, TiedLogStd) else self.log_std.detach()


@torch.no_grad()
def dense(layers: list[Layer]) -> list[Dense]:
    """The weights and biases of these layers as they are now."""
    return [
        layer.expand() if isinstance(layer, TiedLayer) else (layer.weight.detach(), layer.bias.detach())
        for layer in layers
    ]


def why_not_plain(policy: Any) -> str | None:
    """Why the shortcuts for plain policies do not hold for this one, in words; None if they do."""
    if canonical_kind(policy) not in (ActorCriticPolicy, EquivariantActorCriticPolicy):
        return f"the policy is a {type(policy).__name__}, not Stable-Baselines3's ActorCriticPolicy itself"
    if policy.use_sde:
        return "the policy uses state-dependent exploration"
    if type(policy.action_dist) is not DiagGaussianDistribution:
        return f"the action distribution is a {type(policy.action_dist).__name__}, not a diagonal Gaussian"
    extractors = policy.features_extractor_class, type(policy.mlp_extractor)
    if extractors != (FlattenExtractor, MlpExtractor):
        return "the policy has a feature extractor of its own"
    return why_not_dense(policy, _networks(policy), policy.parameters())


def why_not_dense(
    policy: BasePolicy, networks: Iterable[list[nn.Module]], parameters: Iterable[Tensor]
) -> str | None:
    """Why these networks of a policy, with these parameters, are not dense layers with one activation."""
    if not isinstance(policy.observation_space, spaces.Box):
        return f"the observations are a {type(policy.observation_space).__name__}, not a Box"
    if policy.normalize_images and is_image_space(policy.observation_space):
        return "the observations are images"
    if policy.device.type != "cpu":
        return f"the policy is on {policy.device}, not on the CPU"
    parameters = list(parameters)
    if not all(parameter.requires_grad for parameter in parameters):
        return "some of the policy's parameters are frozen"
    dtypes = {parameter.dtype for parameter in parameters}
    if len(dtypes) > 1 or not dtypes <= {torch.float32, torch.float64}:
        return f"the policy's parameters are of type {', '.join(map(str, dtypes))}"
    between = {type(module) for network in networks for module in network}
    between = {kind for kind in between if not issubclass(kind, Layer)}
    if len(between) > 1 or not between <= set(ACTIVATIONS):
        names = ", ".join(sorted(kind.__name__ for kind in between))
        return f"the hidden layers are followed by {names}, not by ReLU or Tanh"
    return None


def _networks(policy: ActorCriticPolicy) -> tuple[list[nn.Module], list[nn.Module]]:
    extractor = policy.mlp_extractor
    return [*extractor.policy_net, policy.action_net], [*extractor.value_net, policy.value_net]
