"""The paper's 2D robot."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ambidex.envs.triangle.robot import TriangleEnv as TriangleEnv
    from ambidex.envs.triangle.robot import TriangleVecEnv as TriangleVecEnv


def __getattr__(name: str) -> Any:
    # Loaded when first used: scenarios read the perturbations in this folder, and the robot reads scenarios.
    if name in ("TriangleEnv", "TriangleVecEnv"):
        return getattr(importlib.import_module("ambidex.envs.triangle.robot"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
