"""`EquivariantActorCriticPolicy`: a Stable-Baselines3 policy that has the robot's symmetry built in."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import (
    BaseFeaturesExtractor,
    CombinedExtractor,
    FlattenExtractor,
    MlpExtractor,
)
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.networks.layers import Relax, TiedLayer
from ambidex.learn.networks.log_std import TiedLogStd
from ambidex.learn.networks.mlp import hidden_layers, output_layer
from ambidex.learn.networks.relaxation import LayerRelaxation, relaxation_of
from ambidex.learn.networks.representation import Representation
from ambidex.learn.spaces import check_actions, check_observations, check_ranges
from ambidex.symmetry.group import SymmetryGroup


class EquivariantActorCriticPolicy(ActorCriticPolicy):
    """``pi(f(s)) == g(pi(s))`` and ``V(f(s)) == V(s)`` for every transform of a closed group, from the first
    step and after every update.

    ``PPO(EquivariantActorCriticPolicy, env, policy_kwargs=dict(symmetries=group, net_arch=[256, 256]))``.
    Observations are vectors or a Dict of vectors; actions a Box, or discrete ones that the group permutes.

    :param symmetries: the closed group (`SymmetryGroup.from_generators`)
    :param net_arch: as Stable-Baselines3 takes it, at least one hidden layer each; widths are rounded up to a
        multiple of the number of elements, the identity included
    :param activation_fn: between layers, elementwise
    :param ortho_init: only False: weights are drawn within 1 / sqrt(inputs), as PyTorch does by default
    :param use_sde: only False
    :param log_std_init: where the log-std of each orbit of actuators starts
    :param relax: what may lead away from the symmetry, starting at 0: None for nothing, ``"biases"`` for one
        bias per unit, ``"weights"`` for these and all weights
    :param relax_from: the training steps after which it may, in `SymmetricPPO`, `SymmetricA2C` and
        `SymmetricTRPO`; Stable-Baselines3's own algorithms do not wait
    :param relax_penalty: the weight of `relaxation_penalty`, which these add to their loss and
        Stable-Baselines3's own do not
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        ortho_init: bool = False,
        use_sde: bool = False,
        log_std_init: float = 0.0,
        features_extractor_class: type[BaseFeaturesExtractor] | None = None,
        *,
        symmetries: SymmetryGroup | None = None,
        relax: Relax | None = None,
        relax_from: int = 0,
        relax_penalty: float = 0.0,
        **kwargs: Any,
    ) -> None:
        plain = CombinedExtractor if isinstance(observation_space, spaces.Dict) else FlattenExtractor
        _refuse(
            symmetries,
            ortho_init,
            use_sde,
            features_extractor_class not in (None, plain),
            relax,
            relax_from,
            relax_penalty,
        )
        assert symmetries is not None
        self.symmetries = symmetries
        self.relax = relax
        self.relax_from = relax_from
        self.relax_penalty = relax_penalty
        keys = list(observation_space.spaces) if isinstance(observation_space, spaces.Dict) else None
        self.representation = Representation.of(symmetries, keys)
        check_observations(observation_space, symmetries)
        check_actions(action_space, symmetries)
        if not isinstance(self, Actuated):  # those may shift them
            check_ranges(action_space, symmetries)
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch,
            activation_fn,
            ortho_init,
            use_sde,
            log_std_init,
            features_extractor_class=plain,
            **kwargs,
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {
            "symmetries": self.symmetries,
            "relax": self.relax,
            "relax_from": self.relax_from,
            "relax_penalty": self.relax_penalty,
        }

    def _build(self, lr_schedule: Schedule) -> None:
        group, relax = self.representation, self.relax
        widths = self.net_arch
        actor, critic = (
            (widths.get("pi", []), widths.get("vf", [])) if isinstance(widths, dict) else (widths, widths)
        )
        self.mlp_extractor = MlpExtractor(self.features_dim, [], self.activation_fn, self.device)
        self.mlp_extractor.policy_net = nn.Sequential(*hidden_layers(group, actor, self.activation_fn, relax))
        self.mlp_extractor.value_net = nn.Sequential(*hidden_layers(group, critic, self.activation_fn, relax))
        action_net = output_layer(group, actor, group.action, relax)
        value_net = output_layer(group, critic, None, relax)
        self.mlp_extractor.latent_dim_pi = action_net.shape[1]
        self.mlp_extractor.latent_dim_vf = value_net.shape[1]
        self.action_net = action_net
        self.value_net = value_net  # type: ignore[assignment]
        gaussian = isinstance(self.action_dist, DiagGaussianDistribution)
        self.tied_log_std = TiedLogStd(group, self.log_std_init) if gaussian else None
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    @property
    def log_std(self) -> Tensor:  # type: ignore[override]
        """(actions,) the logarithm of each standard deviation."""
        if self.tied_log_std is None:
            raise AttributeError("discrete actions have no log_std")
        return self.tied_log_std.expand()

    def tied_layers(self) -> dict[str, list[TiedLayer]]:
        """Those of the actor and of the critic, from the observation to the output."""
        extractor = self.mlp_extractor
        networks = {
            "actor": [*extractor.policy_net, self.action_net],
            "critic": [*extractor.value_net, self.value_net],
        }
        return {
            name: [module for module in modules if isinstance(module, TiedLayer)]
            for name, modules in networks.items()
        }

    def hold_relaxation(self, steps: int) -> None:
        """After so many training steps: what is untied moves from `relax_from` on, and not before."""
        for layers in self.tied_layers().values():
            for layer in layers:
                layer.holds_free = steps < self.relax_from

    def relaxation(self) -> dict[str, LayerRelaxation]:
        """How far from equivariant each layer is: ``"actor 0"`` first, ``"critic 0"`` after the last."""
        return {
            f"{network} {index}": relaxation_of(layer, self.representation.names)
            for network, layers in self.tied_layers().items()
            for index, layer in enumerate(layers)
        }

    def relaxation_penalty(self) -> Tensor:
        """``relax_penalty`` times the sum of the squares of all untied parameters."""
        layers = [layer for own in self.tied_layers().values() for layer in own]
        free = [free.square().sum() for layer in layers for free in layer.free()]
        return self.relax_penalty * torch.stack(free).sum() if free else torch.zeros((), device=self.device)


POLICIES: dict[str, type[BasePolicy]] = {"EquivariantMlpPolicy": EquivariantActorCriticPolicy}
"""By the names that on-policy algorithms know besides Stable-Baselines3's."""


def refuse_unsymmetric(symmetries: object, use_sde: bool, other_features: bool, algorithm: str) -> None:
    """What no equivariant policy can work with.

    :param algorithm: the class of which the policy is, for the message
    """
    if symmetries is None:
        raise ValueError(
            "an equivariant policy needs the group; pass policy_kwargs=dict(symmetries=group), "
            f"or use {algorithm}(..., symmetries=group)"
        )
    if use_sde:
        raise ValueError(
            "use_sde=True draws its noise from the hidden units by a matrix that knows no symmetry; "
            "use use_sde=False"
        )
    if other_features:
        raise ValueError(
            "a features extractor of its own would break the symmetry before the first layer; leave "
            "features_extractor_class out"
        )


def _refuse(
    symmetries: object,
    ortho_init: bool,
    use_sde: bool,
    other_features: bool,
    relax: object,
    relax_from: object,
    relax_penalty: float,
) -> None:
    refuse_unsymmetric(symmetries, use_sde, other_features, "SymmetricPPO")
    if ortho_init:
        raise ValueError("tied weights do not make an orthogonal matrix; use ortho_init=False")
    if relax not in (None, "biases", "weights"):
        raise ValueError(f"relax is None, 'biases' or 'weights', got {relax!r}")
    if not isinstance(relax_from, int) or isinstance(relax_from, bool) or relax_from < 0:
        raise ValueError(f"relax_from is a number of training steps, at least 0, got {relax_from!r}")
    if relax_from and relax is None:
        raise ValueError("relax_from is for relax, which is not given; use relax='biases', or leave it out")
    if not 0 <= relax_penalty < float("inf"):
        raise ValueError(f"relax_penalty is a number of at least 0, got {relax_penalty!r}")
