"""Does a learning rate that follows the KL divergence learn better than one that falls to zero?

    OMP_NUM_THREADS=1 python benchmarks/learning_rate.py --seeds 10 --steps 12800 --out results/learning-rate

The equivariant policy with fitted actuators on the rusty triangle, from a low and from a high rate: constant,
falling linearly to zero at the end of the training, or at most it, as ``desired_kl`` chooses. Prints and
writes what `families.py` does.
"""

from __future__ import annotations

from typing import Any

import families
import triangle
from stable_baselines3.common.utils import LinearSchedule

DESIRED_KL = 0.015
RATES = {"3e-4": 3e-4, "3e-3": 3e-3}
WAYS = ("constant", "to zero", "desired KL")


def options(way: str, rate: float) -> dict[str, Any]:
    if way == "to zero":
        return {"learning_rate": LinearSchedule(rate, 0.0, 1.0)}
    return {"learning_rate": rate, "desired_kl": DESIRED_KL if way == "desired KL" else None}


def curve(name: str, seed: int, steps: int) -> list[float]:
    rate, way = name.split(maxsplit=1)
    measured = triangle.Curve(families.SCENARIO)
    triangle.train(
        4,
        measured,
        scenario=families.SCENARIO,
        seed=seed,
        steps=steps,
        fast=True,
        batch_size=64,
        n_epochs=10,
        **families.FAMILIES["equivariant, actuators"] | options(way, RATES[rate]),
    )
    return [value for _, value in measured.points]


def main() -> None:
    curves, out = families.table([f"{rate} {way}" for rate in RATES for way in WAYS], curve, __doc__)
    if out is not None:
        families.draw(curves, out.with_suffix(".png"), panels=list(RATES))


if __name__ == "__main__":
    main()
