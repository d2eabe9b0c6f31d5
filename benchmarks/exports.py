"""What the exported module for rsl_rl costs, beside a bare gather and concatenate of the same batch.

    OMP_NUM_THREADS=1 python benchmarks/exports.py

24,576 observations of 48 elements, mirrored once. Two ways to write the bare one: indexing, as people do,
and ``index_select``, which is the quickest that torch has; neither changes a sign.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from timing import interleaved, ratio, spread

from ambidex.symmetry import Symmetry, SymmetryGroup
from ambidex.symmetry.files.export.module import export_module

ROWS, SIZE, ACTIONS, ROUNDS = 24_576, 48, 12, 200


def mirror(size: int) -> tuple[list[int], list[int]]:
    """Each element changes places with its neighbour; every third pair changes sign."""
    return [i ^ 1 for i in range(size)], [-1 if i // 2 % 3 == 0 else 1 for i in range(size)]


def main() -> None:
    obs_indices, obs_multipliers = mirror(SIZE)
    act_indices, act_multipliers = mirror(ACTIONS)
    symmetry = Symmetry(
        "xz",
        obs_indices=obs_indices,
        obs_multipliers=obs_multipliers,
        act_indices=act_indices,
        act_multipliers=act_multipliers,
    )
    with tempfile.TemporaryDirectory() as folder:
        export_module(SymmetryGroup([symmetry]), Path(folder) / "exported.py", "rsl_rl")
        sys.path.insert(0, folder)
        augment = importlib.import_module("exported").augment
    batch, indices = torch.randn(ROWS, SIZE), torch.tensor(obs_indices)
    seconds = interleaved(
        {
            "exported": lambda: augment(obs=batch),
            "bare indexing": lambda: torch.cat([batch, batch[:, indices]]),
            "bare index_select": lambda: torch.cat([batch, batch.index_select(1, indices)]),
        },
        ROUNDS,
    )
    for name, times in seconds.items():
        line = f"{name:18} {1000 * np.median(times):6.2f} ms"
        if name != "exported":
            low, high = spread(seconds, "exported", name)
            line += f"   exported / this: {ratio(seconds, 'exported', name):.2f} ({low:.2f} to {high:.2f})"
        print(line)


if __name__ == "__main__":
    main()
