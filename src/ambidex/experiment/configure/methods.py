"""The methods that a run may choose by name: what they are called, how they are drawn, what they train with.

Another one takes its place with ``METHODS.register(Method(...))``: configurations, the command line and the
report know it from then on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ambidex.common.registry import Registry
from ambidex.experiment.configure.fits import make_fit

if TYPE_CHECKING:
    from ambidex.experiment.configure.config import RunConfig
    from ambidex.symmetry import SymmetryGroup

PLAIN = "plain"
"""What the method without symmetries is called too, since an algorithm need not be PPO."""

Dash = Literal["solid", "dot", "dash"]


@dataclass(frozen=True)
class Method:
    """A way to learn.

    :param name: on the command line, in configurations and in the names of directories
    :param label: what people call it
    :param colours: of its lines, on a light and on a dark page, such as ``"#1f5fd6"``
    :param arguments: keyword arguments of the run's algorithm, such as `SymmetricPPO`, from its configuration
        and the robot's symmetries
    :param needs_symmetries: whether it learns from them, rather than only being measured by them
    :param fits: whether it fits action maps, so that the settings ``fit`` and ``form`` count
    :param dash: of its lines
    :param settings: what it takes of the settings that are not for every method; None where it may take any
    :param wrap: puts a wrapper around environments, for training (a VecEnv) and afterwards (a Gymnasium
        environment) alike, from them, a run's configuration and the robot's symmetries
    """

    name: str
    label: str
    colours: tuple[str, str]
    arguments: Callable[[RunConfig, SymmetryGroup], Mapping[str, Any]]
    needs_symmetries: bool = True
    fits: bool = False
    dash: Dash = "solid"
    settings: tuple[str, ...] | None = None
    wrap: Callable[[Any, RunConfig, SymmetryGroup], Any] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise ValueError(
                f"method {self.name!r}: a name has small letters, digits and dashes, a letter first"
            )
        for colour in self.colours:
            if not re.fullmatch(r"#[0-9a-f]{6}", colour):
                raise ValueError(f"method {self.name!r}: the colour {colour!r} is not like '#1f5fd6'")


_OF_LOSSES = ("policy_weight", "value_weight", "symmetry_samples")


def _no_loss(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    return {}


def _mirror(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    from ambidex.learn import MSL

    h = config.hyperparameters
    return {"loss": MSL(policy_weight=h.policy_weight, value_weight=h.value_weight)}


def _proximal(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    from ambidex.learn import PSL

    h = config.hyperparameters
    return {"loss": PSL(policy_weight=h.policy_weight, value_weight=h.value_weight)}


def _adaptive(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    from ambidex.learn import ASL

    h = config.hyperparameters
    dead_zone = {
        symmetry.name: h.dead_zone_rotations if symmetry.kind == "rotation" else h.dead_zone_reflections
        for symmetry in group
    }
    loss = ASL(
        policy_weight=h.policy_weight,
        value_weight=h.value_weight,
        max_shift=h.max_shift,
        dead_zone=dead_zone,
        value_gate=h.value_gate,
        history=h.history,
        fit=None if h.form is None else make_fit(h.fit, h.form, h),
    )
    return {"loss": loss}


def _augmented(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    from ambidex.learn import Augmentation

    h = config.hyperparameters
    loss = Augmentation(policy_weight=h.policy_weight, value_weight=h.value_weight, denominator=h.denominator)
    return {"loss": loss}


def _equivariant(config: RunConfig, group: SymmetryGroup) -> dict[str, Any]:
    h = config.hyperparameters
    return {
        "policy": "EquivariantMlpPolicy",
        "policy_kwargs": {
            "symmetries": group,
            "relax": h.relax,
            "relax_from": h.relax_from,
            "relax_penalty": h.relax_penalty,
        },
    }


def _canonical_frame(env: Any, config: RunConfig, group: SymmetryGroup) -> Any:
    from ambidex.learn import CanonicalFrame

    h = config.hyperparameters
    return CanonicalFrame(env, group, by=h.frame_by, margin=h.frame_margin)


# The paper's colours: ASL blue, PSL red, MSL green, PPO dotted black.
BASELINE = Method(
    name="ppo",
    label="PPO",
    colours=("#16181d", "#eceef2"),
    arguments=_no_loss,
    needs_symmetries=False,
    dash="dot",
    settings=(),
)
DEFAULT = Method(
    name="asl",
    label="ASL",
    colours=("#1f5fd6", "#74a9ff"),
    arguments=_adaptive,
    fits=True,
    settings=(
        *_OF_LOSSES,
        "max_shift",
        "dead_zone_reflections",
        "dead_zone_rotations",
        "value_gate",
        "history",
        "form",
        "fit",
    ),
)
EQUIVARIANT = Method(
    name="equivariant",
    label="Equivariant",
    colours=("#8250df", "#c297ff"),
    arguments=_equivariant,
    settings=("relax", "relax_from", "relax_penalty"),
)
METHODS: Registry[Method] = Registry(
    "method",
    [
        BASELINE,
        Method(
            name="msl",
            label="MSL",
            colours=("#1a7f37", "#5bd47b"),
            arguments=_mirror,
            settings=_OF_LOSSES,
        ),
        Method(
            name="psl",
            label="PSL",
            colours=("#cf222e", "#ff8078"),
            arguments=_proximal,
            settings=_OF_LOSSES,
        ),
        DEFAULT,
        Method(
            name="augment",
            label="Augmentation",
            colours=("#b35900", "#f0a04b"),
            arguments=_augmented,
            settings=(*_OF_LOSSES, "denominator"),
        ),
        EQUIVARIANT,
        Method(
            name="relabel",
            label="Relabeling",
            colours=("#bf5700", "#ffa657"),
            arguments=_no_loss,
            settings=("frame_by", "frame_margin"),
            wrap=_canonical_frame,
        ),
    ],
)


def takers(setting: str) -> list[str]:
    """The methods that a setting is for; none where it is for all of them."""
    return [method.name for method in METHODS if method.settings is not None and setting in method.settings]


def method_called(name: str) -> Method:
    """The method of this name."""
    return METHODS.get(BASELINE.name if name == PLAIN else name)
