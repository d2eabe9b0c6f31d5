"""Symmetry learning for imperfect robots: the public names, loaded when they are first used.

Importing this also registers the environments, and keeps the names of modules that have moved.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ambidex import envs as envs
from ambidex import moved

__version__ = "0.1.0"

_HOME = {
    "Symmetry": "ambidex.symmetry",
    "SymmetryGroup": "ambidex.symmetry",
    "Finding": "ambidex.symmetry",
    "lint": "ambidex.symmetry",
    "load": "ambidex.symmetry",
    "save": "ambidex.symmetry",
    "derive": "ambidex.derivation.derive",
    "SymmetricPPO": "ambidex.learn",
    "SymmetricA2C": "ambidex.learn",
    "SymmetricTRPO": "ambidex.learn",
    "SymmetricSAC": "ambidex.learn",
    "SymmetricReplayBuffer": "ambidex.learn",
    "MSL": "ambidex.learn",
    "PSL": "ambidex.learn",
    "ASL": "ambidex.learn",
    "Augmentation": "ambidex.learn",
    "PairwiseFit": "ambidex.learn",
    "CalibratedFit": "ambidex.learn",
    "TransitionFit": "ambidex.learn",
    "calibrate": "ambidex.learn",
    "identify": "ambidex.learn",
    "ActionMap": "ambidex.learn",
    "SymmetricVecNormalize": "ambidex.learn",
    "EquivariantActorCriticPolicy": "ambidex.learn",
    "EquivariantSACPolicy": "ambidex.learn",
    "EquivariantMlp": "ambidex.learn",
    "CanonicalFrame": "ambidex.learn",
    "load_policy": "ambidex.experiment.trained.stored",
    "verify": "ambidex.verification",
    "MujocoSimulator": "ambidex.verification.simulators.mujoco",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from ambidex.derivation.derive import derive as derive
    from ambidex.experiment.trained.stored import load_policy as load_policy
    from ambidex.learn import ASL as ASL
    from ambidex.learn import MSL as MSL
    from ambidex.learn import PSL as PSL
    from ambidex.learn import ActionMap as ActionMap
    from ambidex.learn import Augmentation as Augmentation
    from ambidex.learn import CalibratedFit as CalibratedFit
    from ambidex.learn import CanonicalFrame as CanonicalFrame
    from ambidex.learn import EquivariantActorCriticPolicy as EquivariantActorCriticPolicy
    from ambidex.learn import EquivariantMlp as EquivariantMlp
    from ambidex.learn import EquivariantSACPolicy as EquivariantSACPolicy
    from ambidex.learn import PairwiseFit as PairwiseFit
    from ambidex.learn import SymmetricA2C as SymmetricA2C
    from ambidex.learn import SymmetricPPO as SymmetricPPO
    from ambidex.learn import SymmetricReplayBuffer as SymmetricReplayBuffer
    from ambidex.learn import SymmetricSAC as SymmetricSAC
    from ambidex.learn import SymmetricTRPO as SymmetricTRPO
    from ambidex.learn import SymmetricVecNormalize as SymmetricVecNormalize
    from ambidex.learn import TransitionFit as TransitionFit
    from ambidex.learn import calibrate as calibrate
    from ambidex.learn import identify as identify
    from ambidex.symmetry import Finding as Finding
    from ambidex.symmetry import Symmetry as Symmetry
    from ambidex.symmetry import SymmetryGroup as SymmetryGroup
    from ambidex.symmetry import lint as lint
    from ambidex.symmetry import load as load
    from ambidex.symmetry import save as save
    from ambidex.verification import verify as verify
    from ambidex.verification.simulators.mujoco import MujocoSimulator as MujocoSimulator

moved.install()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ambidex' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
