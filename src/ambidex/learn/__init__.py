"""LEARN: fit the symmetry to the policy, and the policy to the symmetry."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ambidex.learn.action_maps import ActionMap as ActionMap
    from ambidex.learn.calibrated import CalibratedFit as CalibratedFit
    from ambidex.learn.calibration import Calibration as Calibration
    from ambidex.learn.calibration import calibrate as calibrate
    from ambidex.learn.identification import Identification as Identification
    from ambidex.learn.identification import identify as identify
    from ambidex.learn.methods import ASL as ASL
    from ambidex.learn.methods import MSL as MSL
    from ambidex.learn.methods import PSL as PSL
    from ambidex.learn.normalize import SymmetricVecNormalize as SymmetricVecNormalize
    from ambidex.learn.pairwise import PairwiseFit as PairwiseFit
    from ambidex.learn.ppo import SymmetricPPO as SymmetricPPO
    from ambidex.learn.prepared import NonFiniteLoss as NonFiniteLoss
    from ambidex.learn.transition_fit import TransitionFit as TransitionFit

# Loaded when first used, so that describing a loss does not import torch.
_HOME = {
    "ASL": "methods",
    "ActionMap": "action_maps",
    "CalibratedFit": "calibrated",
    "Calibration": "calibration",
    "Identification": "identification",
    "MSL": "methods",
    "NonFiniteLoss": "prepared",
    "PSL": "methods",
    "PairwiseFit": "pairwise",
    "SymmetricPPO": "ppo",
    "SymmetricVecNormalize": "normalize",
    "TransitionFit": "transition_fit",
    "calibrate": "calibration",
    "identify": "identification",
}

__all__ = [  # noqa: RUF022
    "SymmetricPPO", "MSL", "PSL", "ASL", "PairwiseFit", "CalibratedFit", "TransitionFit", "calibrate",
    "Calibration", "identify", "Identification", "ActionMap", "SymmetricVecNormalize", "NonFiniteLoss",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"ambidex.learn.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ambidex.learn' has no attribute {name!r}")
