"""Interleaved CPU timing: the only way to compare two things on a machine that others use too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402, the threads are counted when numpy and torch load
import torch  # noqa: E402

torch.set_num_threads(1)


def interleaved(blocks: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, np.ndarray]:
    """The CPU seconds of every block, once per round, the blocks one after the other within a round.

    The first round allocates and loads; medians are not moved by it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in range(rounds):
        for name, block in blocks.items():
            start = time.process_time()
            block()
            seconds[name].append(time.process_time() - start)
    return {name: np.array(times) for name, times in seconds.items()}


def ratio(seconds: Mapping[str, np.ndarray], name: str, reference: str) -> float:
    """The median over the rounds of the ratio within a round."""
    return float(np.median(seconds[name] / seconds[reference]))


def spread(seconds: Mapping[str, np.ndarray], name: str, reference: str) -> tuple[float, float]:
    ratios = seconds[name] / seconds[reference]
    return float(ratios.min()), float(ratios.max())
