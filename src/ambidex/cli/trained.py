"""What a finished run is for: evaluate, play, export."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import CHECK_FAILED, AsJson, RunDirectory, Which, print_table

app = typer.Typer()


@app.command()
def evaluate(
    directory: RunDirectory,
    policy: Which = "best",
    episodes: Annotated[int | None, typer.Option(min=1, help="How many; as in training by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Deterministic episodes of a trained policy, per goal, and how symmetric the policy is.

    Example: ambidex evaluate runs/limping --episodes 64
    """
    from dataclasses import asdict

    from ambidex.experiment.trained import evaluate as evaluation

    rows = evaluation.summary(evaluation.evaluate(directory, which=policy, episodes=episodes))
    symmetries = evaluation.measure_symmetry(directory, which=policy, episodes=episodes)
    if as_json:
        print(json.dumps({"goals": rows, "symmetry": [asdict(measured) for measured in symmetries]}))
        return
    print_table(
        ["goal", "episodes", "mean return", "lowest", "highest", "mean length"],
        [
            ["all" if goal is None else goal, count, *(f"{value:,.1f}" for value in values)]
            for goal, count, *values in (row.values() for row in rows)
        ],
    )
    for measured in symmetries:
        print(
            f"\nsymmetry under {measured.isometry}: 0 is symmetric, per action 0 to {len(measured.gait) - 1}"
        )
        for what in ("canonical", "equivariance", "gait"):
            print(f"  {what:<14}" + " ".join(f"{value:6.2f}" for value in getattr(measured, what)))


@app.command()
def play(
    directory: RunDirectory,
    video: Annotated[Path, typer.Option(help="An .mp4 or .gif file.")],
    policy: Which = "best",
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of the film.")] = 10.0,
) -> None:
    """Film a trained policy; needs no screen.

    Example: ambidex play runs/limping --video limping.mp4
    """
    from ambidex.experiment.trained.play import play as film

    frames = film(directory, video, which=policy, seconds=seconds)
    print(f"{video}: {frames} frames")


@app.command()
def export(
    directory: RunDirectory,
    onnx: Annotated[Path, typer.Option(help="The file to write.")],
    policy: Which = "best",
) -> None:
    """Write a trained policy, clipping included, as ONNX, checked against the original.

    Example: ambidex export runs/limping --onnx limping.onnx
    """
    from ambidex.experiment.trained.export import export as write_onnx

    try:
        exported = write_onnx(directory, onnx, policy)
    except ArithmeticError as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    compared = f"{exported.observations} observations"
    print(f"{onnx}: equal to the policy within {exported.difference:.1e} on {compared}")
