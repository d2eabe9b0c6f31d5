"""What does each part buy? All families on the ant under the same settings of PPO, as results/ has them.

    python results/families.py --out results/families/families.png
    python results/families.py --sum

Prints a table for each scenario, in Markdown: the return on the way, the mean of the seeds, and the highest
mean of five evaluations within 1.5 million steps, the lowest and the highest seed in brackets; or only the
highest means, all scenarios in one table. Draws the curves.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.report import load_runs
from ambidex.report.statistics import best_place

RESULTS = Path(__file__).parents[1] / "results"
SCENARIOS = {
    "A1.1": "the ideal ant (A1.1)",
    "A4.1": "heavy feet (A4.1)",
    "A3.1": "commands reach the motors times 0.3 to 1.7 (A3.1)",
}
FAMILIES = {
    "PPO": "families/plain/{}/ppo",
    "augmentation": "families/losses/{}/augment",
    "MSL": "families/losses/{}/msl",
    "PSL": "families/losses/{}/psl",
    "ASL": "families/losses/{}/asl",
    "equivariant": "families/strict/{}/equivariant",
    "equivariant, actuators": "{}/equivariant",
    "equivariant, actuators, relaxed": "families/relaxed/{}/equivariant",
}
STYLES = {"PPO": ":", "equivariant, actuators": "--"}  # where nothing is fitted, both curves are one
STEPS = 1_504_000
"""Up to here; longer runs, which the table of scenarios has, are cut off."""
SHOWN = (245_760, 491_520, 737_280, 983_040, 1_228_800, 1_474_560)


def curves(folder: Path) -> tuple[FloatArray, FloatArray] | None:
    """Steps, and for each seed the returns, as far as the shortest run goes; None without runs.

    A run that collapsed stands for one that goes on as it ended.
    """
    runs = load_runs([folder]).runs if folder.is_dir() else []
    known = [(run.status, run.returns) for run in runs if run.returns is not None]
    if not known:
        return None
    ends = [series.steps for status, series in known if status != "collapsed"]
    shortest = min(ends or [series.steps for _, series in known], key=len)
    steps = shortest[shortest <= STEPS]
    return steps, np.array([np.interp(steps, series.steps, series.values) for _, series in known])


def highest_mean(returns: FloatArray) -> FloatArray:
    """Of each seed, in the five evaluations in which their mean is highest."""
    highest: FloatArray = returns[:, best_place(returns.mean(axis=0))].mean(axis=1)
    return highest


def row(family: str, steps: FloatArray, returns: FloatArray) -> str:
    mean, highest = returns.mean(axis=0), highest_mean(returns)
    cells = [f"{mean[steps == at][0]:.0f}" if at in steps else "" for at in SHOWN]
    seeds = f" ({highest.min():.0f}, {highest.max():.0f})" if len(highest) > 1 else ""
    return f"| {family} | {len(returns)} | {' | '.join(cells)} | {highest.mean():.0f}{seeds} |"


def print_sum() -> None:
    print(f"| | {' | '.join(FAMILIES)} |")
    print("|---" * (len(FAMILIES) + 1) + "|")
    for scenario, name in SCENARIOS.items():
        found = [curves(RESULTS / place.format(scenario)) for place in FAMILIES.values()]
        means = ["" if known is None else f"{highest_mean(known[1]).mean():.0f}" for known in found]
        best = max(means, key=lambda mean: float(mean or 0))
        print(f"| {name} | {' | '.join(f'**{mean}**' if mean == best else mean for mean in means)} |")


def main() -> None:
    from matplotlib import pyplot

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="a figure")
    parser.add_argument("--sum", action="store_true", help="only the highest means, in one table")
    arguments = parser.parse_args()
    if arguments.sum:
        print_sum()
        return
    figure, panels = pyplot.subplots(1, len(SCENARIOS), figsize=(13, 4.5), sharey=True, layout="constrained")
    for scenario, axes in zip(SCENARIOS, panels, strict=True):
        shown = " | ".join(f"{at / 1e6:.2f}M" for at in SHOWN)
        print(f"| {scenario}, return at | seeds | {shown} | highest |")
        print("|---" * (len(SHOWN) + 3) + "|")
        for number, (family, place) in enumerate(FAMILIES.items()):
            known = curves(RESULTS / place.format(scenario))
            if known is None:
                continue
            steps, returns = known
            print(row(family, steps, returns))
            look = {"color": f"C{number}", "linestyle": STYLES.get(family, "-")}
            axes.plot(steps / 1e6, returns.mean(axis=0), label=family, **look)
            if len(returns) > 1:
                axes.fill_between(
                    steps / 1e6, returns.min(axis=0), returns.max(axis=0), color=f"C{number}", alpha=0.15
                )
        print()
        axes.set(xlabel="million steps", title=scenario, ylim=(0, None))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("return, mean of the seeds (shade: lowest to highest)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    if arguments.out is not None:
        figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()
