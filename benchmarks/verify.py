"""Detection power of `verify`: the weakest single wrong entry against the strongest residual of true tables.

Every sign and every exchange of two indices is made wrong, one at a time, in all seven transforms of the ant,
on both simulators. Wrong observations are judged offline from one recording, wrong actions are simulated.

    python benchmarks/verify.py
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import combinations

import gymnasium
import numpy as np

from ambidex.symmetry import IndexMap, Symmetry, load
from ambidex.verification import verify
from ambidex.verification.bench import IDENTITY, Bench, Branches
from ambidex.verification.scores import PLACED_THRESHOLD, STEP_THRESHOLD, scores, spread_of
from ambidex.verification.simulators.protocol import simulator_of

STATES = 64
GROUP = load("ant")


def wrong_tables(table: IndexMap) -> list[tuple[str, list[int], IndexMap]]:
    """Every wrong sign and wrong index, with the elements that it changes."""
    found = []
    for element in range(table.size):
        multipliers = table.multipliers.copy()
        multipliers[element] *= -1
        found.append(("sign", [element], IndexMap(table.indices, multipliers)))
    for first, second in combinations(range(table.size), 2):
        indices = table.indices.copy()
        indices[[first, second]] = indices[[second, first]]
        found.append(("index", [first, second], IndexMap(indices, table.multipliers)))
    return found


def step_score(symmetry: Symmetry, base: Branches, image: Branches, spread: np.ndarray) -> float:
    """The highest of what one step adds."""
    before = symmetry.observation(base.placed) - image.placed
    after = symmetry.observation(base.observations[:, 0]) - image.observations[:, 0]
    return float(np.nanmax(scores(after - before, spread)))


def measure(env_id: str) -> None:
    env = gymnasium.make(env_id)
    simulator = simulator_of(env)
    assert simulator is not None
    with getattr(simulator, "exact", nullcontext)():
        _measure(env_id, Bench(env, simulator, states=STATES, steps=1, seed=0))
    env.close()


def _measure(env_id: str, bench: Bench) -> None:
    base = bench.branch(IDENTITY, lambda action: action)
    images = {symmetry.name: bench.branch(symmetry.isometry, symmetry.action) for symmetry in GROUP}
    spread = spread_of(base.placed, base.observations, *(image.placed for image in images.values()))

    true_placed, true_step = 0.0, 0.0
    weakest: dict[tuple[str, str], tuple[float, str]] = {}
    counts = dict.fromkeys(
        (("observation", "sign"), ("observation", "index"), ("action", "sign"), ("action", "index")), 0
    )
    found = dict(counts)

    def note(side: str, kind: str, score: float, threshold: float, where: str) -> None:
        counts[side, kind] += 1
        found[side, kind] += score > threshold
        weakest[side, kind] = min(weakest.get((side, kind), (np.inf, "")), (score, where))

    for symmetry in GROUP:
        image = images[symmetry.name]
        placed = scores(symmetry.observation(base.placed) - image.placed, spread)
        true_placed = max(true_placed, float(placed.max()))
        true_step = max(true_step, step_score(symmetry, base, image, spread))
        for kind, elements, table in wrong_tables(symmetry.observation_map):
            score = scores(table(base.placed) - image.placed, spread)[elements].min()
            note("observation", kind, float(score), PLACED_THRESHOLD, f"{symmetry.name} {elements}")
        for kind, elements, table in wrong_tables(symmetry.action_map):
            came = bench.branch(symmetry.isometry, table)
            score = step_score(symmetry, base, came, spread)
            note("action", kind, score, STEP_THRESHOLD, f"{symmetry.name} {elements}")

    print(f"\n{env_id}, {STATES} states")
    print(f"{'wrong':<20}{'found':>14}{'weakest':>9}{'threshold':>11}{'true':>8}   weakest at")
    for (side, kind), count in counts.items():
        threshold, true = (
            (PLACED_THRESHOLD, true_placed) if side == "observation" else (STEP_THRESHOLD, true_step)
        )
        score, where = weakest[side, kind]
        share = f"{found[side, kind]} of {count}"
        print(f"{side + ' ' + kind:<20}{share:>14}{score:>9.3f}{threshold:>11.2f}{true:>8.4f}   {where}")


def duration(env_id: str, **options: str) -> None:
    env = gymnasium.make(env_id, **options)
    started = time.process_time()
    found = verify("ant", env)
    name = " ".join((env_id, *options.values()))
    print(f"{name:<28}{found.verdict:<12}{time.process_time() - started:5.1f} s of CPU time")
    env.close()


if __name__ == "__main__":
    print("detection power: scores of tables with one wrong entry beside the highest of the true tables")
    for ant in ("ambidex/Ant-v0", "ambidex/AntMujoco-v0"):
        measure(ant)
    print("\na whole check of the seven transforms")
    for ant in ("ambidex/Ant-v0", "ambidex/AntMujoco-v0"):
        duration(ant)
        for perturbed in ("A2.1", "A3.1", "A4.1", "A6.1"):
            duration(ant, scenario=perturbed)
