"""The last batches of observations, whose spread tells how far apart two states are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ambidex.learn.losses.gates import mean_absolute_deviation


class ObservationWindow:
    """Keeps the observations of the last batches, the current one included.

    :param batches: how many, the longest k_t in use
    """

    def __init__(self, batches: int) -> None:
        self._capacity = batches
        self._batches: list[npt.NDArray[np.float32]] = []
        self._deviations: dict[int, Tensor] = {}  # of the batches as they are now

    def append(self, observations: Tensor) -> None:
        """:param observations: (T, o)"""
        self._batches.append(observations.detach().cpu().numpy().astype(np.float32))
        del self._batches[: -self._capacity]
        self._deviations = {}

    def deviation(self, batches: int) -> Tensor:
        """MAD over the last ``batches`` batches: (o,)."""
        if batches not in self._deviations:
            rows = torch.from_numpy(np.concatenate(self._batches[-batches:]))
            self._deviations[batches] = mean_absolute_deviation(rows)
        return self._deviations[batches]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        if not self._batches:
            return {}
        return {
            "observations": np.concatenate(self._batches),
            "lengths": np.array([len(batch) for batch in self._batches], dtype=np.int64),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_deviations"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _deviations={})

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._deviations = {}
        if not state:
            self._batches = []
            return
        ends = np.cumsum(state["lengths"])[:-1]
        self._batches = [batch.copy() for batch in np.split(state["observations"], ends)]
