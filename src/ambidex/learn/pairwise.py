"""The paper's fit, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

from ambidex.learn.protocol import FitState
from ambidex.symmetry import SymmetryGroup


@dataclass(frozen=True)
class PairwiseFit:
    """The paper's symmetry fitting."""

    form: str = "mx+b"

    def start(self, group: SymmetryGroup) -> FitState:
        raise NotImplementedError
