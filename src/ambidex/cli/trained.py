"""What a finished run is for: evaluate, play, export."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

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
    target: Annotated[
        str, typer.Argument(help="A run directory, or a description: a YAML file or a name of the catalog.")
    ],
    onnx: Annotated[Path | None, typer.Option(help="Of a run: the file to write.")] = None,
    policy: Which = "best",
    to: Annotated[
        Literal["rsl_rl", "cusrl", "numpy", "jax", "torch"] | None,
        typer.Option(help="Of a description: what to write a module for."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --to: the module to write.")] = None,
    elements: Annotated[
        list[str] | None, typer.Option("--element", help="With --to: only this transform; may be repeated.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", help="For rsl_rl: the observations' group, policy by default; may be repeated."
        ),
    ] = None,
    pass_through: Annotated[
        list[str] | None,
        typer.Option(help="For rsl_rl: a group that no transform changes; may be repeated."),
    ] = None,
) -> None:
    """Write a trained policy as ONNX, or a description as a Python module for other code.

    The policy is written with its clipping and checked against the original. The module needs nothing of this
    package; what lint finds in the description is printed and stands in the module's header.

    Example: ambidex export runs/limping --onnx limping.onnx

    Example: ambidex export my-robot.yaml --to rsl_rl --out my_robot_symmetry.py --pass-through images
    """
    if (onnx is None) == (to is None):
        raise ValueError("give either --onnx FILE for a run, or --to and --out for a description")
    if to is not None:
        from ambidex.symmetry.files.export.module import export_module

        if out is None:
            raise ValueError(f"--to {to}: give --out, such as --out my_robot_symmetry.py")
        findings = export_module(
            target, out, to, elements=elements, groups=groups or (), pass_through=pass_through or ()
        )
        for finding in findings:
            print(finding, file=sys.stderr)
        print(f"{out}: for {to}; lint has {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
        return
    from ambidex.experiment.trained.export import export as write_onnx

    assert onnx is not None
    try:
        exported = write_onnx(Path(target), onnx, policy)
    except ArithmeticError as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    compared = f"{exported.observations} observations"
    print(f"{onnx}: equal to the policy within {exported.difference:.1e} on {compared}")
