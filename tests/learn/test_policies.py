"""Policies beyond the plain MLP against an obvious loop: Stable-Baselines3's own methods, one transform at a
time, gradients by autograd, the parameters after a few minibatches."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from ambidex.learn import ASL, MSL, PSL, SymmetricPPO
from ambidex.symmetry import DictMap, IndexMap, MatrixMap, Symmetry, SymmetryGroup

CLIP_RANGE = 0.2
LOSSES = {
    "MSL": MSL(3.0, 0.4),
    "MSL original": MSL(3.0, 0.4, original=True),
    "PSL": PSL(0.9, 0.4),
    "ASL": ASL(0.9, 0.4, max_shift=0.5, dead_zone=0.8, value_gate=1.2, fit=None),
}


class Squares(BaseFeaturesExtractor):
    """Features that are learned, and are not a linear layer more of the network above."""

    def __init__(self, space: spaces.Box) -> None:
        super().__init__(space, 6)
        self.linear = torch.nn.Linear(space.shape[0], 6)

    def forward(self, observations: Tensor) -> Tensor:
        return self.linear(observations).square()


def box(size: int, dtype: Any = np.float32) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), dtype)


def rotation(degrees: float) -> list[list[float]]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [[c, -s], [s, c]]


def two(matrix: list[list[float]]) -> Any:
    """The same turn of two vectors."""
    return np.kron(np.eye(2), matrix)


LEGS = Symmetry("mirror", obs_indices=[1, 0, 2], obs_multipliers=[1, 1, -1],
                act_indices=[1, 0], act_multipliers=[-1, -1])  # fmt: skip
TURN = Symmetry("turn", obs_indices=[0, 2, 1], obs_multipliers=[1, -1, 1],
                act_indices=[1, 0], act_multipliers=[1, -1])  # fmt: skip
BY_KEY = Symmetry.from_maps(
    "mirror",
    DictMap({"legs": IndexMap([1, 0], [1, 1]), "body": IndexMap([0, 1, 2], [1, -1, 1])}),
    IndexMap([1, 0], [-1, -1]),
)
THIRDS = [
    Symmetry.from_maps(f"r{degrees}", MatrixMap(two(rotation(degrees))), MatrixMap(rotation(degrees)))
    for degrees in (120, 240)
]


@dataclass(frozen=True)
class Kind:
    """A kind of policy or transform, in a world of its own."""

    transforms: list[Symmetry]
    observations: spaces.Space[Any] = field(default_factory=lambda: box(3))
    policy: str = "MlpPolicy"
    losses: tuple[str, ...] = tuple(LOSSES)
    fast: bool | None = False
    options: dict[str, Any] = field(default_factory=dict)
    networks: dict[str, Any] = field(default_factory=dict)


EXTRACTOR = {"features_extractor_class": Squares}
KINDS = {
    "shared features": Kind([LEGS, TURN], networks=EXTRACTOR | {"share_features_extractor": True}),
    "separate features": Kind([LEGS, TURN], networks=EXTRACTOR | {"share_features_extractor": False}),
    "Dict": Kind([BY_KEY], spaces.Dict({"body": box(3), "legs": box(2)}), policy="MultiInputPolicy"),
    "gSDE": Kind([LEGS, TURN], losses=("MSL", "MSL original"), options={"use_sde": True}),
    "matrix": Kind(THIRDS, box(4)),
    "matrix, fast": Kind(THIRDS, box(4), fast=True),
    "float64 observations": Kind([LEGS, TURN], box(3, np.float64)),
    "float64 observations, fast": Kind([LEGS, TURN], box(3, np.float64), fast=True),
}


class Doubles(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Numbers that float32 does not hold."""

    def observation(self, observation: Any) -> Any:
        return observation.astype(np.float64) / 3


def ready(kind: Kind, loss: Any, world: type) -> SymmetricPPO:
    """A model with a finished roll-out of 24 states, whose policy moved before and is not the initial one."""

    def environment() -> Any:
        env = world(kind.observations, spaces.Box(-1, 1, (2,), np.float32))
        return Doubles(env) if getattr(kind.observations, "dtype", None) == np.float64 else env

    model = SymmetricPPO(
        kind.policy,
        DummyVecEnv([environment] * 2),
        symmetries=SymmetryGroup(kind.transforms),
        loss=loss,
        fast=kind.fast,
        n_steps=12,
        batch_size=8,
        n_epochs=2,
        learning_rate=0.1,
        ent_coef=0.01,
        seed=3,
        device="cpu",
        policy_kwargs={"net_arch": [7], "ortho_init": False, "log_std_init": -0.5, **kind.networks}
        | ({} if kind.fast else {"optimizer_class": torch.optim.SGD}),
        **kind.options,
    )
    _, callback = model._setup_learn(24)
    assert model.env is not None
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 12)
    return model


def states(model: SymmetricPPO) -> Any:
    """(T, ...) of one environment after the other."""
    buffer = model.rollout_buffer
    if isinstance(buffer.observations, dict):
        return {key: torch.as_tensor(np.concatenate([*part.swapaxes(0, 1)]))
                for key, part in buffer.observations.items()}  # fmt: skip
    return torch.as_tensor(np.concatenate([*buffer.observations.swapaxes(0, 1)]))


def of(observations: Any, rows: Any) -> Any:
    if isinstance(observations, dict):
        return {key: part[rows] for key, part in observations.items()}
    return observations[rows]


def joined(observations: Any) -> Tensor:
    if isinstance(observations, dict):
        return torch.cat([observations[key] for key in sorted(observations)], dim=1)
    return observations


def gaussian(policy: Any, observations: Any) -> Any:
    return policy.get_distribution(observations).distribution


def symmetry_loss(
    loss: Any, transform: Symmetry, policy: Any, old: Any, everything: Any, data: dict[str, Tensor], rows: Any
) -> Tensor:
    """The mean over the minibatch of w_pi L_pi + w_V L_V."""
    s = of(everything, rows)
    image = transform.observation(s)
    value_term = (policy.predict_values(image).flatten() - data["returns"][rows]) ** 2
    new = gaussian(policy, image).mean
    if isinstance(loss, MSL):
        mean = gaussian(policy, s).mean
        difference = mean - transform.action(new) if loss.original else transform.action(mean) - new
        return (loss.policy_weight * (difference**2).mean(dim=1) + loss.value_weight * value_term).mean()
    with torch.no_grad():
        before = gaussian(old, image)
        explored = gaussian(old, s).mean
    if isinstance(loss, PSL):
        wanted = transform.action(explored)
        ratio = (
            torch.minimum(
                gaussian(policy, image).log_prob(wanted).sum(dim=1).exp(), data["log_probs"][rows].exp()
            )
            / before.log_prob(wanted).sum(dim=1).exp()
        )
        policy_term = -torch.clamp(ratio, max=1 + CLIP_RANGE)
        return (loss.policy_weight * policy_term + loss.value_weight * value_term).mean()
    with torch.no_grad():
        actions = before.mean.shape[1]
        xi = (1 + CLIP_RANGE) ** (1 / actions) - 1
        shift = loss.max_shift * before.stddev * math.sqrt(-2 * math.log(1 / (1 + xi)))
        target = transform.action(gaussian(policy, s).mean)
        target = torch.minimum(torch.maximum(target, before.mean - shift), before.mean + shift)
        window = joined(everything)
        mad = (window - window.mean(dim=0)).abs().mean(dim=0)
        far = ((joined(s) - joined(image)).abs() / mad).mean(dim=1) > loss.dead_zone
        here, there = policy.predict_values(s).flatten(), policy.predict_values(image).flatten()
        gate = far & (torch.where(here >= 0, loss.value_gate * here, here / loss.value_gate) > there)
        sigma = gaussian(policy, s).stddev
    exponent = ((target - before.mean) ** 2 - (target - new) ** 2) / (2 * sigma**2)
    ratio = torch.exp(exponent.sum(dim=1))
    return (gate * (loss.value_weight * value_term - loss.policy_weight * ratio)).mean()


def train_by_hand(model: SymmetricPPO, loss: Any) -> None:
    policy = model.policy
    old = copy.deepcopy(policy) if isinstance(loss, PSL | ASL) else None
    data = {
        name: torch.as_tensor(np.concatenate([*getattr(model.rollout_buffer, name).swapaxes(0, 1)]))
        for name in ("actions", "log_probs", "advantages", "returns")
    }
    everything = states(model)
    for _ in range(model.n_epochs):
        for rows in np.split(np.random.permutation(24), 3):  # noqa: NPY002, as Stable-Baselines3 draws
            values, log_prob, entropy = policy.evaluate_actions(of(everything, rows), data["actions"][rows])
            advantages = data["advantages"][rows]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            ratio = torch.exp(log_prob - data["log_probs"][rows])
            clipped = torch.clamp(ratio, 1 - CLIP_RANGE, 1 + CLIP_RANGE)
            total = -torch.minimum(ratio * advantages, clipped * advantages).mean()
            total = total + model.vf_coef * ((values.flatten() - data["returns"][rows]) ** 2).mean()
            total = total - model.ent_coef * entropy.mean()
            if loss is not None:
                for transform in model.symmetries:
                    total = total + symmetry_loss(loss, transform, policy, old, everything, data, rows)
            policy.optimizer.zero_grad()
            total.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            policy.optimizer.step()


def furthest(one: SymmetricPPO, other: SymmetricPPO) -> float:
    pairs = zip(one.policy.parameters(), other.policy.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


@pytest.mark.parametrize(
    ("kind", "loss"), [(name, loss) for name, kind in KINDS.items() for loss in kind.losses]
)
def test_parameters_after_a_few_minibatches(world: type, kind: str, loss: str) -> None:
    model, expected, plain = (ready(KINDS[kind], LOSSES[loss], world) for _ in range(3))
    assert furthest(model, expected) == 0
    seeded: list[Callable[[], Any]] = [
        model.train,
        lambda: train_by_hand(expected, LOSSES[loss]),
        lambda: train_by_hand(plain, None),
    ]
    for train in seeded:
        np.random.seed(11)  # noqa: NPY002
        train()
    assert furthest(model, expected) < 2e-5
    assert furthest(plain, expected) > 2e-3  # the symmetry moves what is compared
