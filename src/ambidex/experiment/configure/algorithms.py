"""The algorithms that a run may choose by name: their classes, what they take, and how a run goes on.

Another one takes its place with ``ALGORITHMS.register(Algorithm(...))``: configurations, checkpoints, the
command line and the report know it from then on. What it needs it says there: its settings, by the names
that they have as keywords of its class (a field of `Hyperparameters` each), how many steps one of its rounds
takes, and by its `loop` how rounds are made. What it keeps between rounds beyond policy, optimisers and
variables (`_get_torch_save_params`), such as a replay buffer, its loop stores (`Loop.keep`). Its presets
stand in `algorithms.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ambidex.common.registry import Registry
from ambidex.experiment.configure.methods import BASELINE, METHODS, Method

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

    from ambidex.experiment.configure.config import Hyperparameters
    from ambidex.experiment.one_run.loops import Loop


EVERY_METHOD = "every method"


@dataclass(frozen=True)
class Algorithm:
    """A learner.

    :param name: on the command line and in configurations
    :param label: what people call it
    :param model: its class, imported when it is asked for
    :param hyperparameters: the settings that it takes, fields of `Hyperparameters` and keywords of its class;
        one that is None is left to the class
    :param round_steps: the steps of all environments together in one round, which is what lies between two
        updates
    :param loop: how a run makes its rounds
    :param policy_arguments: what its policies take from the settings
    :param refused: the methods that it does not serve, and why
    :param logged: the columns of `progress.csv` that it logs under other names than PPO
    :param adapted: what it makes of the arguments of a method
    :param tunes_entropy: whether ``ent_coef`` may be ``auto``
    :param only_boxes: whether it has no use for discrete actions
    :param unused: settings that it does nothing with, for each method or for `EVERY_METHOD`
    """

    name: str
    label: str
    model: Callable[[], type[BaseAlgorithm]]
    hyperparameters: tuple[str, ...]
    round_steps: Callable[[Hyperparameters], int]
    loop: Callable[[], type[Loop]]
    policy_arguments: Callable[[Hyperparameters], dict[str, Any]]
    refused: Mapping[str, str] = field(default_factory=dict)
    logged: Mapping[str, str] = field(default_factory=dict)
    adapted: Callable[[dict[str, Any]], dict[str, Any]] = lambda arguments: arguments
    tunes_entropy: bool = False
    only_boxes: bool = False
    unused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]*", self.name):
            raise ValueError(f"algorithm {self.name!r}: a name has small letters and digits, a letter first")

    def refuse_method(self, method: Method) -> None:
        """Raise a ValueError where a method is none for this algorithm."""
        if method.name in self.refused:
            raise ValueError(
                f"method {method.name!r} is not for algorithm {self.name!r}: {self.refused[method.name]}"
            )

    def why_not_setting(self, name: str, method: str) -> str | None:
        """Why a setting of `Hyperparameters` is not for this algorithm and method; None if it may be."""
        if name in settings_of_algorithms() - set(self.hyperparameters):
            takers = [other.name for other in ALGORITHMS if name in other.hyperparameters]
            return f"algorithm {self.name!r} takes no {name}, which is for {' and '.join(takers)}"
        if name in self.unused.get(EVERY_METHOD, ()):
            return f"algorithm {self.name!r} takes no {name}"
        if name in self.unused.get(method, ()):
            return f"method {method!r} of algorithm {self.name!r} takes no {name}"
        return None

    def arguments(self, hyperparameters: Hyperparameters) -> dict[str, Any]:
        """Its own settings, as keywords of its class."""
        values = {name: getattr(hyperparameters, name) for name in self.hyperparameters}
        return {name: value for name, value in values.items() if value is not None}

    def way(self, method: str) -> str:
        """What a run is called among others of its scenario: ``msl``; ``a2c-msl`` and, without a method of
        its own, ``a2c``.
        """
        if self.name == PPO.name:
            return method
        return self.name if method == BASELINE.name else f"{self.name}-{method}"


def split_way(way: str) -> tuple[Algorithm, str] | None:
    """The algorithm and the method of `Algorithm.way`; None for a name that nothing here has."""
    if way in METHODS:
        return PPO, way
    name, _, method = way.partition("-")
    method = method or BASELINE.name
    return (ALGORITHMS.get(name), method) if name in ALGORITHMS and method in METHODS else None


def way_label(way: str) -> str:
    """ASL for ``asl``, A2C for ``a2c``, A2C ASL for ``a2c-asl``; an unknown name stays as it is."""
    found = split_way(way)
    if found is None:
        return way
    algorithm, method = found
    label = METHODS.get(method).label
    if algorithm is PPO:
        return label
    return algorithm.label if method == BASELINE.name else f"{algorithm.label} {label}"


def plain_way(way: str) -> str:
    """The same algorithm without symmetries, with which a way is compared; PPO for an unknown name."""
    found = split_way(way)
    return (PPO if found is None else found[0]).way(BASELINE.name)


def _ppo() -> type[BaseAlgorithm]:
    from ambidex.learn import SymmetricPPO

    return SymmetricPPO


def _a2c() -> type[BaseAlgorithm]:
    from ambidex.learn import SymmetricA2C

    return SymmetricA2C


def _trpo() -> type[BaseAlgorithm]:
    try:
        from ambidex.learn import SymmetricTRPO
    except ImportError as error:  # an extra that is not installed, which its own words name
        raise ValueError(str(error)) from None
    return SymmetricTRPO


def _sac() -> type[BaseAlgorithm]:
    from ambidex.learn import SymmetricSAC

    return SymmetricSAC


def _whole_rollout(hyperparameters: Hyperparameters) -> int:
    return hyperparameters.n_steps * hyperparameters.num_envs


def _on_policy() -> type[Loop]:
    from ambidex.experiment.one_run.loops import OnPolicyLoop

    return OnPolicyLoop


def _off_policy() -> type[Loop]:
    from ambidex.experiment.one_run.off_policy_loop import OffPolicyLoop

    return OffPolicyLoop


def _between_updates(hyperparameters: Hyperparameters) -> int:
    return hyperparameters.train_freq * hyperparameters.num_envs


def _for_a_replay(arguments: dict[str, Any]) -> dict[str, Any]:
    """Augmentation is a matter of the replay there, and equivariance exact."""
    from ambidex.learn import Augmentation, SymmetricReplayBuffer

    own = dict(arguments)
    if isinstance(own.get("loss"), Augmentation):
        own["loss"] = None
        own["replay_buffer_class"] = SymmetricReplayBuffer
    if "policy_kwargs" in own:
        kwargs = dict(own["policy_kwargs"])
        relaxed = [kwargs.pop(name, None) for name in ("relax", "relax_from", "relax_penalty")]
        if any(relaxed):
            raise ValueError("algorithm 'sac' has no relaxed networks; leave relax and what goes with it out")
        own["policy_kwargs"] = kwargs
    return own


def activation(hyperparameters: Hyperparameters) -> Any:
    """The module between the layers of a network."""
    from torch import nn

    return {"relu": nn.ReLU, "tanh": nn.Tanh, "elu": nn.ELU}[hyperparameters.activation]


def _actor_critic(hyperparameters: Hyperparameters) -> dict[str, Any]:
    layers = list(hyperparameters.net_arch)
    return {
        "net_arch": {"pi": layers, "vf": layers},
        "activation_fn": activation(hyperparameters),
        "log_std_init": hyperparameters.log_std_init,
        "ortho_init": hyperparameters.ortho_init,
    }


def _actor_and_critics(hyperparameters: Hyperparameters) -> dict[str, Any]:
    layers = list(hyperparameters.net_arch)
    return {"net_arch": {"pi": layers, "qf": layers}, "activation_fn": activation(hyperparameters)}


_ROLLOUT = ("learning_rate", "n_steps", "gamma", "gae_lambda", "normalize_advantage", "fast")
_LOSS = ("ent_coef", "vf_coef", "max_grad_norm")
PPO = Algorithm(
    name="ppo",
    label="PPO",
    model=_ppo,
    hyperparameters=(*_ROLLOUT, *_LOSS, "batch_size", "n_epochs", "clip_range", "desired_kl", "std_floor"),
    round_steps=_whole_rollout,
    loop=_on_policy,
    policy_arguments=_actor_critic,
)
ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    [
        PPO,
        Algorithm(
            name="a2c",
            label="A2C",
            model=_a2c,
            hyperparameters=(
                *_ROLLOUT,
                *_LOSS,
                "use_rms_prop",
                "rms_prop_eps",
                "symmetry_clip_range",
                "fit_states",
            ),
            round_steps=_whole_rollout,
            loop=_on_policy,
            policy_arguments=_actor_critic,
            logged={"policy_loss": "train/policy_loss"},
        ),
        Algorithm(
            name="trpo",
            label="TRPO",
            model=_trpo,
            hyperparameters=(
                *_ROLLOUT,
                "batch_size",
                "target_kl",
                "cg_max_steps",
                "cg_damping",
                "line_search_shrinking_factor",
                "line_search_max_iter",
                "n_critic_updates",
                "sub_sampling_factor",
                "symmetry_clip_range",
            ),
            round_steps=_whole_rollout,
            loop=_on_policy,
            policy_arguments=_actor_critic,
            logged={"approx_kl": "train/kl_divergence_loss"},
        ),
        Algorithm(
            name="sac",
            label="SAC",
            model=_sac,
            hyperparameters=(
                "learning_rate",
                "gamma",
                "batch_size",
                "ent_coef",
                "buffer_size",
                "learning_starts",
                "tau",
                "train_freq",
                "gradient_steps",
                "fit_interval",
                "symmetry_clip_range",
                "fast",
            ),
            round_steps=_between_updates,
            loop=_off_policy,
            policy_arguments=_actor_and_critics,
            refused={
                "psl": "its ratio compares the policy with the one that made the roll-out, and a replay "
                "buffer holds actions of many policies; use msl or asl"
            },
            logged={"policy_loss": "train/actor_loss", "value_loss": "train/critic_loss"},
            adapted=_for_a_replay,
            tunes_entropy=True,
            only_boxes=True,
            unused={
                EVERY_METHOD: ("log_std_init", "ortho_init"),
                "augment": ("policy_weight", "value_weight", "denominator", "symmetry_samples"),
            },
        ),
    ],
)


def settings_of_algorithms() -> set[str]:
    """Every setting that some algorithms take and others may not."""
    return {name for algorithm in ALGORITHMS for name in algorithm.hyperparameters}
