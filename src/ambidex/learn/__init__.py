"""LEARN: fit the symmetry to the policy, and the policy to the symmetry."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ambidex.actuators.action_map import ActionMap as ActionMap
    from ambidex.actuators.calibration import Calibration as Calibration
    from ambidex.actuators.calibration import calibrate as calibrate
    from ambidex.actuators.identification import identify as identify
    from ambidex.actuators.scales import Identification as Identification
    from ambidex.learn.a2c import SymmetricA2C as SymmetricA2C
    from ambidex.learn.fits.calibrated import CalibratedFit as CalibratedFit
    from ambidex.learn.fits.pairwise import PairwiseFit as PairwiseFit
    from ambidex.learn.fits.transition import TransitionFit as TransitionFit
    from ambidex.learn.losses.adaptive import ASL as ASL
    from ambidex.learn.losses.augmentation import Augmentation as Augmentation
    from ambidex.learn.losses.mirror import MSL as MSL
    from ambidex.learn.losses.proximal import PSL as PSL
    from ambidex.learn.networks.mlp import EquivariantMlp as EquivariantMlp
    from ambidex.learn.networks.policy import EquivariantActorCriticPolicy as EquivariantActorCriticPolicy
    from ambidex.learn.normalize import SymmetricVecNormalize as SymmetricVecNormalize
    from ambidex.learn.off_policy.policy import EquivariantSACPolicy as EquivariantSACPolicy
    from ambidex.learn.off_policy.replay import SymmetricReplayBuffer as SymmetricReplayBuffer
    from ambidex.learn.off_policy.sac import SymmetricSAC as SymmetricSAC
    from ambidex.learn.ppo import SymmetricPPO as SymmetricPPO
    from ambidex.learn.relabel.frame import CanonicalFrame as CanonicalFrame
    from ambidex.learn.trpo import SymmetricTRPO as SymmetricTRPO
    from ambidex.learn.update.iteration import NonFiniteLoss as NonFiniteLoss

# Loaded when first used, so that describing a loss does not import torch.
_HOME = {
    "ASL": "ambidex.learn.losses.adaptive",
    "ActionMap": "ambidex.actuators.action_map",
    "Augmentation": "ambidex.learn.losses.augmentation",
    "CalibratedFit": "ambidex.learn.fits.calibrated",
    "Calibration": "ambidex.actuators.calibration",
    "CanonicalFrame": "ambidex.learn.relabel.frame",
    "EquivariantActorCriticPolicy": "ambidex.learn.networks.policy",
    "EquivariantMlp": "ambidex.learn.networks.mlp",
    "EquivariantSACPolicy": "ambidex.learn.off_policy.policy",
    "Identification": "ambidex.actuators.scales",
    "MSL": "ambidex.learn.losses.mirror",
    "NonFiniteLoss": "ambidex.learn.update.iteration",
    "PSL": "ambidex.learn.losses.proximal",
    "PairwiseFit": "ambidex.learn.fits.pairwise",
    "SymmetricA2C": "ambidex.learn.a2c",
    "SymmetricPPO": "ambidex.learn.ppo",
    "SymmetricReplayBuffer": "ambidex.learn.off_policy.replay",
    "SymmetricSAC": "ambidex.learn.off_policy.sac",
    "SymmetricTRPO": "ambidex.learn.trpo",
    "SymmetricVecNormalize": "ambidex.learn.normalize",
    "TransitionFit": "ambidex.learn.fits.transition",
    "calibrate": "ambidex.actuators.calibration",
    "identify": "ambidex.actuators.identification",
}

__all__ = [  # noqa: RUF022
    "SymmetricPPO", "SymmetricA2C", "SymmetricTRPO", "SymmetricSAC", "SymmetricReplayBuffer", "MSL", "PSL",
    "ASL", "Augmentation", "PairwiseFit", "CalibratedFit", "TransitionFit", "EquivariantActorCriticPolicy",
    "EquivariantSACPolicy", "EquivariantMlp", "CanonicalFrame", "calibrate", "Calibration", "identify",
    "Identification", "ActionMap", "SymmetricVecNormalize", "NonFiniteLoss",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ambidex.learn' has no attribute {name!r}")
