"""Which settings runs do not share, and whether that forbids to compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Config = Mapping[str, Any]

SHARED = (
    "steps",
    "evaluation_every",
    "evaluation_episodes",
    "n_steps",
    "num_envs",
    "batch_size",
    "n_epochs",
    "learning_rate",
    "gamma",
    "gae_lambda",
    "clip_range",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
    "net_arch",
    "activation",
    "log_std_init",
    "std_floor",
    "desired_kl",
    "ortho_init",
    "rounds",
    "normalize",
    "normalize_advantage",
    "target_kl",
    "n_critic_updates",
)
"""What means the same in every method: the algorithms' own, and how long and how often is measured."""


def differing(configs: Sequence[Config]) -> list[str]:
    """The settings, save the seed and the preset's name, that some of one method's runs have otherwise."""
    flat = [_flat(config) for config in configs]
    keys = {key for config in flat for key in config} - {"seed", "preset"}
    return sorted(key for key in keys if any(config.get(key) != flat[0].get(key) for config in flat))


def differing_between(methods: Sequence[Sequence[Config]]) -> list[str]:
    """The shared settings that some methods have otherwise than others."""
    return [key for key in SHARED if len(_distinct(key, methods)) > 1]


def _distinct(key: str, methods: Sequence[Sequence[Config]]) -> set[frozenset[str]]:
    """The values of a setting, method by method, each combination once; a method without any has none."""
    flat = [[_flat(config) for config in configs] for configs in methods]
    values = (frozenset(str(config[key]) for config in configs if key in config) for configs in flat)
    return {value for value in values if value}


def _flat(config: Config) -> dict[str, Any]:
    hyperparameters = config.get("hyperparameters") or {}
    return {**{key: value for key, value in config.items() if key != "hyperparameters"}, **hyperparameters}
