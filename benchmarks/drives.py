"""Whether weak motors of a driven quadruped are found, and sound ones left alone.

A quadruped like the Go2 (`tests/actuators/quadruped.py`), driven by torques or by position targets: each
motor of its left side weakened in turn, a payload beside the middle, an encoder that reads 3 degrees too
much, and nothing wrong at all. Found is a motor whose scale is off (as `diagnose` says it); an alarm is false
if the motor and its counterpart are sound; the ratio of a weak motor to its counterpart should be its
strength; intervals should hold the truth.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/drives.py --out results/drives.csv
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from ambidex import identify
from ambidex.diagnosis.diagnosis import actuators_of
from tests.actuators.quadruped import DRIVES, NAMES, Faults, Kind, group, logged

LEFT = [number for number, name in enumerate(NAMES) if name[1] == "L"]
COLUMNS = (
    "drive",
    "fault",
    "steps",
    "found",
    "false_alarms",
    "ratio",
    "true_ratio",
    "held",
    "known",
    "largest",
)


def cases(kind: Kind) -> list[tuple[str, Faults]]:
    found = [("none", Faults()), ("payload 3 kg", Faults(payload=3.0))]
    if kind == "position":
        found.append(("encoder FL.thigh 3 degrees", Faults(encoder={"FL.thigh": np.radians(3)})))
    for strength in (0.5, 0.8):
        found += [
            (f"{NAMES[number]} {strength}", Faults(strength={NAMES[number]: strength})) for number in LEFT
        ]
    return found


def measured(
    kind: Kind, name: str, faults: Faults, arrays: dict[str, np.ndarray], steps: int
) -> dict[str, object]:
    """One row of the table, from the first steps of a log."""
    scales = identify(group(kind, DRIVES[kind]), **{key: array[:steps] for key, array in arrays.items()})
    strength = faults.strengths
    counterpart = np.array(
        [NAMES.index(name[0] + ("R" if name[1] == "L" else "L") + name[2:]) for name in NAMES]
    )
    true = np.sqrt(strength[counterpart] / strength)
    off = np.array([one.scale_is_off for one in actuators_of(scales)])
    weak = np.abs(np.log(true)) > 0.01
    low, high = scales.interval.scale.T
    known = scales.identifiable
    ratio = scales.scale[counterpart] / scales.scale
    sound = known & ~weak
    return {
        "drive": kind,
        "fault": name,
        "steps": steps,
        "found": int((off & weak).sum() == weak.sum()) if weak.any() else "",
        "false_alarms": int((off & ~weak).sum()),
        "ratio": f"{ratio[strength < 1][0]:.3f}" if weak.any() else "",
        "true_ratio": f"{strength[strength < 1][0]:.3f}" if weak.any() else "",
        "held": int(((low <= true) & (true <= high) & known).sum()),
        "known": int(known.sum()),
        "largest": f"{np.abs(np.log(scales.scale[sound])).max():.3f}" if sound.any() else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--drives", nargs="+", default=["position", "torque"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--faults", nargs="+", help="as in the table, such as 'FL.calf 0.5'; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    print(*COLUMNS, sep=", ")
    for kind in options.drives:
        for name, faults in cases(kind):
            if options.faults and name not in options.faults:
                continue
            arrays = logged(kind, faults, max(options.sizes), seed=options.seed)
            for steps in options.sizes:
                rows.append(measured(kind, name, faults, arrays, steps))
                print(*rows[-1].values(), sep=", ", flush=True)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
