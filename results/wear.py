"""Return and fitted motors of a robot one of whose motors wears out, from runs, in one figure.

    ambidex train A1.1-wear --method equivariant --out runs/wear/fit
    ambidex train A1.1-wear --method equivariant --set fit_memory=100000 --out runs/wear/short-memory
    ambidex train A1.1-wear --method equivariant --set actuators=none --out runs/wear/no-fit
    python results/wear.py runs/wear/fit runs/wear/short-memory runs/wear/no-fit --out wear.png

The strength of the worn motor is read from the fit: what its counterparts need, over what it needs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.envs import scenarios
from ambidex.envs.perturbations import Wear, conditions_at
from ambidex.learn import TransitionFit
from ambidex.report import Run, load_runs
from ambidex.symmetry import load

COLOURS = ("#8250df", "#1f5fd6", "#57606a", "#b35900")


def worn(scenario: str) -> Wear:
    """The one wear of a scenario, which has one motor."""
    found = [one for one in scenarios.get(scenario).perturbations if isinstance(one, Wear)]
    if len(found) != 1 or len(found[0].actuators) != 1:
        raise ValueError(f"{scenario}: expected one motor that wears out")
    return found[0]


def fitted_gain(run: Run, motor: int) -> tuple[FloatArray, FloatArray] | None:
    """Steps, and the worn motor's gain beside that of its counterparts; None where nothing was fitted."""
    scales = {int(key[2]): series for key, series in run.metrics.items() if key[0] == "scale"}
    if motor not in scales:
        return None
    group = load(scenarios.get(run.config["scenario"]).symmetry)
    counterparts = {int(element.action_map.indices[motor]) for element in group} - {motor}
    others = [scales[counterpart].values for counterpart in counterparts]
    # A scale is what an actuator needs, the inverse of its gain.
    return scales[motor].steps, np.exp(np.mean(np.log(others), axis=0)) / scales[motor].values


def name_of(run: Run) -> str:
    h = run.config["hyperparameters"]
    if h["actuators"] is None:
        return "without a fit"
    memory = h.get("fit_memory") or TransitionFit.memory
    return f"a fit that remembers {memory / 1e6:g} million steps"


def draw(runs: list[Run], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    wear = worn(runs[0].config["scenario"])
    motor = wear.actuators[0]
    figure, (of_returns, of_gains) = plt.subplots(2, 1, figsize=(7, 6), sharex=True)
    for run, colour in zip(runs, COLOURS, strict=False):
        if run.returns is not None:
            of_returns.plot(run.returns.steps / 1e6, run.returns.values, color=colour, label=name_of(run))
        fitted = fitted_gain(run, motor)
        if fitted is not None:
            of_gains.plot(fitted[0] / 1e6, fitted[1], color=colour)
    steps = np.linspace(0, max(run.steps for run in runs), 400)
    true = [conditions_at([wear], int(step), actuators=motor + 1).gains[motor] for step in steps]
    of_gains.plot(steps / 1e6, true, "k:", label="true")
    of_returns.set_ylabel("return")
    of_gains.set_ylabel(f"strength of motor {motor}, fitted")
    of_gains.set_xlabel("million steps")
    of_gains.set_ylim(0, 1.2)
    for axis in (of_returns, of_gains):
        axis.axvspan(wear.schedule[0][0] / 1e6, wear.schedule[-1][0] / 1e6, color="0.93", zorder=0)
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    draw([load_runs([directory]).runs[0] for directory in given.runs], given.out)
