"""`EquivariantSACPolicy`: an equivariant tanh-Gaussian actor with invariant critics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor, FlattenExtractor
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.sac.policies import Actor, SACPolicy
from torch import Tensor, nn
from torch.nn import functional

from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.networks.layers import TiedLayer
from ambidex.learn.networks.mlp import hidden_layers, output_layer
from ambidex.learn.networks.policy import refuse_unsymmetric
from ambidex.learn.networks.representation import Representation
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.off_policy.canonical import canonical_range
from ambidex.learn.spaces import check_actions, check_observations
from ambidex.symmetry import SymmetryGroup

Dense = tuple[Tensor, Tensor]


class _Expansion(torch.autograd.Function):
    """`TiedLayer.expand`, whose gradient is `TiedLayer.fold`. It is linear and keeps no tensor."""

    @staticmethod
    def forward(ctx: Any, layer: TiedLayer, *parameters: Tensor) -> Dense:
        ctx.layer = layer
        return layer.expand(parameters)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight, bias = gradients
        return None, *ctx.layer.fold(weight.contiguous(), bias)


class TiedStack(nn.Sequential):
    """Tied layers and activations, whose dense weights may be kept for several passes."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__(*modules)
        self._dense: list[Dense] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy keeps no dense weights: nobody would renew them."""
        return self.__dict__ | {"_dense": None}

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._dense = None

    def expand(self) -> list[Dense]:
        """The dense weight and bias of each tied layer."""
        return [
            _Expansion.apply(module, *module.parameters())  # type: ignore[no-untyped-call]
            for module in self
            if isinstance(module, TiedLayer)
        ]

    def forward(self, rows: Tensor) -> Tensor:
        dense = iter(self.expand() if self._dense is None else self._dense)
        for module in self:
            rows = functional.linear(rows, *next(dense)) if isinstance(module, TiedLayer) else module(rows)
        return rows


@contextmanager
def expanded(module: nn.Module, *, with_gradient: bool = True) -> Iterator[None]:
    """Expand every tied layer once for all passes within; no parameter may change meanwhile.

    :param with_gradient: whether the parameters get a gradient from these passes
    """
    stacks = [part for part in module.modules() if isinstance(part, TiedStack)]
    try:
        with torch.set_grad_enabled(with_gradient and torch.is_grad_enabled()):
            for stack in stacks:
                stack._dense = stack.expand()
        yield
    finally:
        for stack in stacks:
            stack._dense = None


class EquivariantActor(Actor):
    """Stable-Baselines3's SAC actor, whose mean turns as the scaled actions do and whose standard deviation
    is permuted with them: ``pi(g(a) | f(s)) == pi(a | s)``."""

    def __init__(self, *args: Any, representation: Representation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widths = self.net_arch
        self.representation = representation
        self.latent_pi = TiedStack(*hidden_layers(representation, widths, self.activation_fn))
        self.mu = TiedStack(output_layer(representation, widths, representation.action))
        deviations = output_layer(representation, widths, np.abs(representation.action))
        self.log_std = TiedStack(deviations)  # type: ignore[assignment]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"representation": self.representation}


class InvariantCritic(ContinuousCritic):
    """Stable-Baselines3's twin critics with ``Q(f(s), g(a)) == Q(s, a)`` each."""

    def __init__(self, *args: Any, representation: Representation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        joined = replace(representation, observation=_side_by_side(representation))
        widths: Sequence[int] = kwargs["net_arch"]
        activation: type[nn.Module] = kwargs["activation_fn"]
        self.q_networks = []
        for index in range(self.n_critics):
            layers = hidden_layers(joined, widths, activation)
            network = TiedStack(*layers, output_layer(joined, widths, None))
            setattr(self, f"qf{index}", network)
            self.q_networks.append(network)


def _side_by_side(group: Representation) -> np.ndarray:
    """How the group acts on (s, b)."""
    n, o, a = len(group), group.observation.shape[-1], group.action.shape[-1]
    joined = np.zeros((n, o + a, o + a))
    joined[:, :o, :o], joined[:, o:, o:] = group.observation, group.action
    return joined


class EquivariantSACPolicy(SACPolicy):
    """``pi(g(a) | f(s)) == pi(a | s)`` and ``Q(f(s), g(a)) == Q(s, a)`` for every transform of a closed
    group, from the first step and after every update.

    ``SAC(EquivariantSACPolicy, env, policy_kwargs=dict(symmetries=group))``. Observations are vectors or a
    Dict of vectors. The group exchanges actions and changes their signs, and nothing else, in units of their
    ranges: tanh bends each action on its own.

    :param symmetries: the closed group (`SymmetryGroup.from_generators`)
    :param net_arch: as Stable-Baselines3 takes it, at least one hidden layer each; widths are rounded up to a
        multiple of the number of elements, the identity included
    :param activation_fn: between layers, elementwise
    :param use_sde: only False
    """

    actor: EquivariantActor
    critic: InvariantCritic
    critic_target: InvariantCritic

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Box,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.ReLU,
        use_sde: bool = False,
        features_extractor_class: type[BaseFeaturesExtractor] | None = None,
        *,
        symmetries: SymmetryGroup | None = None,
        **kwargs: Any,
    ) -> None:
        plain = CombinedExtractor if isinstance(observation_space, spaces.Dict) else FlattenExtractor
        other_features = features_extractor_class not in (None, plain)
        refuse_unsymmetric(symmetries, use_sde, other_features, "SymmetricSAC")
        assert symmetries is not None
        self.symmetries = symmetries
        check_observations(observation_space, symmetries)
        check_actions(action_space, symmetries)
        actions = ActionRange.of(action_space)
        if isinstance(self, Actuated):  # whose range of canonical commands the group maps to itself
            actions = canonical_range(symmetries, action_space)
        refuse_inexact(symmetries, actions, "an equivariant policy")
        keys = list(observation_space.spaces) if isinstance(observation_space, spaces.Dict) else None
        given = Representation.of(symmetries, keys)
        scaled = np.round([actions.scaled(matrix)[0] for matrix in given.action])
        self.representation = replace(given, action=scaled)
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch,
            activation_fn,
            use_sde,
            features_extractor_class=plain,
            **kwargs,
        )

    def make_actor(self, features_extractor: BaseFeaturesExtractor | None = None) -> EquivariantActor:
        kwargs = self._update_features_extractor(self.actor_kwargs, features_extractor)
        return EquivariantActor(**kwargs, representation=self.representation).to(self.device)

    def make_critic(self, features_extractor: BaseFeaturesExtractor | None = None) -> InvariantCritic:
        kwargs = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return InvariantCritic(**kwargs, representation=self.representation).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"symmetries": self.symmetries}


def refuse_inexact(group: SymmetryGroup, actions: ActionRange, what: str) -> None:
    """Refuse maps that tanh does not commute with."""
    for transform in group:
        for element in np.flatnonzero(~actions.is_exact(transform.action_map.matrix)):
            raise ValueError(
                f"transform {transform.name!r}, action {element}: in units of its range it is not one other "
                f"action or its negative, so that tanh, which bends each action on its own, would break "
                f"{what}; make the ranges of exchanged actions equal and the multipliers 1 or -1"
            )
