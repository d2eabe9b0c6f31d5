"""Whether weak motors of a driven quadruped are found, and sound ones left alone.

A quadruped like the Go2 (`tests/actuators/quadruped.py`), driven by torques or by position targets: each
motor weakened in turn (to 0.5 and to 0.8), a payload beside the middle, one on a shank, an
encoder that reads 3 degrees too much, and nothing wrong at all. Found is a motor whose scale is off (as
`diagnose` says it); an alarm is false if the motor and its counterpart are sound; the ratio of a weak motor
to its counterpart should be its strength; intervals should hold the truth. A joint and its counterpart have
one interval, since the scale of one is the inverse of the other's: six to a robot.

`--robots 30` takes as many robots that are drawn at random instead, other masses, lengths, gains, friction
and noise, each with two weak motors (0.4 to 0.95), on which nothing was chosen.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/drives.py --out results/drives.csv
    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/drives.py --robots 30 --out results/drives-robots.csv
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ambidex import identify
from ambidex.diagnosis.diagnosis import actuators_of
from tests.actuators.quadruped import NAMES, USUAL, Build, Faults, Kind, group, logged

COUNTERPART = np.array([NAMES.index(name[0] + ("R" if name[1] == "L" else "L") + name[2:]) for name in NAMES])
LEFT = np.array([number for number, name in enumerate(NAMES) if name[1] == "L"])
COLUMNS = (
    "drive",
    "fault",
    "steps",
    "weak",
    "found",
    "false_alarms",
    "ratio",
    "true_ratio",
    "held_weak",
    "held_sound",
    "known",
    "largest",
)


def cases() -> Iterator[tuple[str, Faults]]:
    yield "none", Faults()
    yield "payload 3 kg", Faults(payload=3.0)
    yield "encoder FL.thigh 3 degrees", Faults(encoder={"FL.thigh": np.radians(3)})
    yield "FL shank carries 0.2 kg", Faults(payload=0.2, carrier="FL_calf", place=(0, 0, -0.1))
    for name in NAMES:
        for strength in (0.5, 0.8):
            yield f"{name} {strength}", Faults(strength={name: strength})


def drawn(count: int) -> Iterator[tuple[str, Faults, Build, int]]:
    """Robots with two weak motors, of different pairs."""
    for number in range(1000, 1000 + count):
        rng = np.random.default_rng(number)
        pairs = rng.choice(LEFT, 2, replace=False)
        weak = np.where(rng.random(2) < 0.5, pairs, COUNTERPART[pairs])
        strength = {NAMES[motor]: round(float(rng.uniform(0.4, 0.95)), 2) for motor in weak}
        name = ", ".join(f"{motor} {value}" for motor, value in strength.items())
        yield f"robot {number}: {name}", Faults(strength=strength), Build.drawn(number), number


def measured(
    kind: Kind, name: str, faults: Faults, build: Build, arrays: dict[str, np.ndarray], steps: int
) -> dict[str, object]:
    """One row of the table, from the first steps of a log."""
    scales = identify(group(kind, build.drive(kind)), **{key: array[:steps] for key, array in arrays.items()})
    strength = faults.strengths
    true = np.sqrt(strength[COUNTERPART] / strength)
    off = np.array([one.scale_is_off for one in actuators_of(scales)])
    low, high = scales.interval.scale.T
    known = scales.identifiable
    held = ((low <= true) & (true <= high) & known)[LEFT]
    weak_pair = (true != 1)[LEFT]
    weak, alike = strength < 1, true == 1
    ratio = scales.scale[COUNTERPART] / scales.scale
    return {
        "drive": kind,
        "fault": name,
        "steps": steps,
        "weak": int(weak.sum()),
        "found": int((off & weak).sum()),
        "false_alarms": int((off & alike).sum()),
        "ratio": " ".join(f"{one:.3f}" for one in ratio[weak]),
        "true_ratio": " ".join(f"{one:.2f}" for one in strength[weak]),
        "held_weak": int((held & weak_pair).sum()),
        "held_sound": int((held & ~weak_pair).sum()),
        "known": int(known[LEFT].sum()),
        "largest": f"{np.abs(np.log(scales.scale[known & alike])).max(initial=0):.3f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--drives", nargs="+", default=["position", "torque"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--faults", nargs="+", help="as in the table, such as 'FL.calf 0.5'; all by default")
    parser.add_argument("--robots", type=int, default=0, help="so many drawn at random instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    print(*COLUMNS, sep=", ")
    usual = [(name, faults, USUAL, options.seed) for name, faults in cases()]
    for kind in options.drives:
        for name, faults, build, seed in drawn(options.robots) if options.robots else usual:
            if options.faults and name not in options.faults:
                continue
            arrays = logged(kind, faults, max(options.sizes), seed=seed, build=build)
            for steps in options.sizes:
                rows.append(measured(kind, name, faults, build, arrays, steps))
                print(*rows[-1].values(), sep=", ", flush=True)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
