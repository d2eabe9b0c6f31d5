"""Which way to use a symmetry learns best? The rusty triangle, all families under the same settings of PPO.

    OMP_NUM_THREADS=1 python benchmarks/families.py --seeds 10 --out results/families-triangle

Prints a table of the mean deterministic return (and its standard error) over the training, and writes it as
CSV beside a figure. The weights of the losses are the presets of ``triangle-rust``; nothing else differs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triangle

from ambidex import ASL, MSL, PSL, Augmentation, TransitionFit
from ambidex.common.files import write_text

SCENARIO = "triangle-rust"
ADAPTIVE = {"policy_weight": 0.3, "max_shift": 1.0, "dead_zone": 0.0, "value_gate": None}
FAMILIES: dict[str, dict[str, Any]] = {
    "PPO": {},
    "augmentation": {"loss": Augmentation()},
    "MSL": {"loss": MSL(policy_weight=0.1, value_weight=0.1)},
    "PSL": {"loss": PSL(policy_weight=0.01, value_weight=0.1)},
    "ASL": {"loss": ASL(**ADAPTIVE, fit=TransitionFit())},
    "equivariant": {"policy": "EquivariantMlpPolicy"},
    "MSL, actuators": {"loss": MSL(policy_weight=0.1, value_weight=0.1), "actuators": TransitionFit()},
    "equivariant, actuators": {"policy": "EquivariantMlpPolicy", "actuators": TransitionFit()},
}
CurveOf = Callable[[str, int, int], list[float]]
ROLLOUT = 256  # steps of all environments together
SHOWN = (1280, 3328, 6400, 12_800, 19_200, 25_600)


def curve(family: str, seed: int, steps: int) -> list[float]:
    measured = triangle.Curve(SCENARIO)
    triangle.train(
        4,
        measured,
        scenario=SCENARIO,
        seed=seed,
        steps=steps,
        fast=True,
        batch_size=64,
        n_epochs=10,
        learning_rate=3e-4,
        **FAMILIES[family],
    )
    return [value for _, value in measured.points]


def draw(curves: dict[str, np.ndarray], path: Path, *, panels: Sequence[str] = ("",)) -> None:
    """
    :param panels: beginnings of the families' names, each with a panel of its own
    """
    from matplotlib import pyplot

    width = 8 if len(panels) == 1 else 4.8 * len(panels)
    figure, row = pyplot.subplots(1, len(panels), figsize=(width, 4.5), sharey=True, squeeze=False)
    figure.set_layout_engine("constrained")
    colors: dict[str, str] = {}  # a way of learning has the same in every panel
    for axes, panel in zip(row[0], panels, strict=True):
        for family, returns in curves.items():
            if not family.startswith(panel):
                continue
            steps = ROLLOUT * np.arange(1, returns.shape[1] + 1)
            mean, error = returns.mean(axis=0), returns.std(axis=0, ddof=1) / np.sqrt(len(returns))
            name = family.removeprefix(panel).strip()
            label = f"{name} ({len(returns)} seeds)"
            line = ":" if name in ("PPO", "plain") else "-"
            color = colors.setdefault(name, f"C{len(colors)}")
            axes.plot(steps, mean, color=color, label=label, linestyle=line)
            axes.fill_between(steps, mean - error, mean + error, color=color, alpha=0.2, linewidth=0)
        axes.set(xlabel="training steps", ylim=(20, 50.5), title=panel)
        axes.legend(loc="lower right")
    row[0][0].set_ylabel("deterministic return")
    figure.suptitle("The rusty triangle: mean and standard error")
    figure.savefig(path, dpi=120)


def table(
    families: Sequence[str], curve_of: CurveOf, description: str
) -> tuple[dict[str, np.ndarray], Path | None]:
    """Train every family with so many seeds as the command line says, print the table and write it as CSV.

    :param curve_of: the returns of a family, seed and number of steps, one for every `ROLLOUT` steps
    :return: the curves, and where the command line wants them
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25_600)
    parser.add_argument("--only", default="", help="families whose name begins so")
    parser.add_argument("--out", type=Path, help="of a .csv and a .png file")
    parser.add_argument(
        "--curves", type=Path, help="a folder that keeps every curve, and spares those it has"
    )
    parser.add_argument("--kept", action="store_true", help="show what --curves has, and train nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["family,seeds," + ",".join(f"{steps},{steps} error" for steps in SHOWN)]
    curves: dict[str, np.ndarray] = {}
    for family in families:
        if not family.startswith(arguments.only):
            continue
        found = [
            kept(curve_of, family, seed, arguments.steps, arguments.curves, train=not arguments.kept)
            for seed in range(arguments.seeds)
        ]
        known = [one for one in found if one]
        if len(known) < 2:
            continue
        length = min(len(one) for one in known)
        returns = curves[family] = np.array([one[:length] for one in known])
        points = returns[:, [steps // ROLLOUT - 1 for steps in SHOWN if steps <= ROLLOUT * length]]
        errors = points.std(axis=0, ddof=1) / np.sqrt(len(points))
        pairs = list(zip(points.mean(axis=0), errors, strict=True))
        shown = "  ".join(f"{mean:5.1f} ± {error:.1f}" for mean, error in pairs)
        print(f"{family:<28}{len(points):>3} seeds  {shown}", flush=True)
        cells = [f"{mean:.2f},{error:.2f}" for mean, error in pairs] + [","] * (len(SHOWN) - len(pairs))
        lines.append(f'"{family}",{len(points)},' + ",".join(cells))
    if arguments.out is not None:
        write_text(arguments.out.with_suffix(".csv"), "\n".join(lines) + "\n")
    return curves, arguments.out


def kept(
    curve_of: CurveOf, family: str, seed: int, steps: int, folder: Path | None, *, train: bool = True
) -> list[float]:
    """A curve, from the folder where that has one as long, or at all if nothing is to be trained."""
    if folder is None:
        return curve_of(family, seed, steps)
    path = folder / f"{family.replace(', ', '-').replace(' ', '-')}-{seed}.json"
    found: list[float] = json.loads(path.read_text()) if path.exists() else []
    if train and len(found) < steps // ROLLOUT:
        found = curve_of(family, seed, steps)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(found))
    return found[: steps // ROLLOUT]


def main() -> None:
    curves, out = table(list(FAMILIES), curve, __doc__)
    if out is not None:
        draw(curves, out.with_suffix(".png"))


if __name__ == "__main__":
    main()
