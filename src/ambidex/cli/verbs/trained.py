"""What a finished run is for: evaluate, play, export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ambidex.cli.options import (
    AsJson,
    EnvironmentArguments,
    RunDirectory,
    Trust,
    Which,
    named_values,
    print_json,
    print_table,
    say,
)

app = typer.Typer()

SCALE = """How symmetric the policy is, whatever the robot: 0 is symmetric.
  canonical, equivariance: in units of the action's own spread; 1 is as far as two of its actions usually are
  gait: from -2 (only the other joint moves) to 2 (only this joint moves)"""


@app.command()
def evaluate(
    directory: Annotated[
        Path,
        typer.Argument(
            help="A run directory, as `ambidex train` writes it; or the file of a policy that was trained "
            "anywhere: .onnx, TorchScript, a .zip of Stable-Baselines3."
        ),
    ],
    policy: Which = "best",
    episodes: Annotated[int | None, typer.Option(min=1, help="How many; as in training by default.")] = None,
    env: Annotated[
        str | None, typer.Option(help="On this environment instead of the run's own, also module:Id-v0.")
    ] = None,
    env_args: EnvironmentArguments = None,
    symmetry: Annotated[
        str | None, typer.Option(help="For a file: a description's file or catalog name.")
    ] = None,
    observations: Annotated[
        Path | None,
        typer.Option(help="For a file: a log of observations as the policy takes them: .npz, .csv."),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME",
            help="For a file: a group of observations that it takes; may be repeated.",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, help="For a file: exit status 1 if any measure is past this.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="For a file: also draw it into this one.")] = None,
    algorithm: Annotated[str, typer.Option(help="For a .zip: the class that saved it.")] = "PPO",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run the code in a .zip or TorchScript, or the module of a run's environment."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a trained policy: its return and its symmetry.

    Of a run: deterministic episodes, per goal. Of a policy's file: how symmetric it is in self-symmetric
    states, over visited states and in its gait, per joint, by a description and a log of observations,
    whatever its training logged.

    Example: ambidex evaluate runs/limping --episodes 64 --env-arg friction=0.5

    Example: ambidex evaluate policy.onnx --symmetry my-robot.yaml --observations log.npz --threshold 0.2
    """
    if directory.is_file():
        from ambidex.cli.verbs.policy_files import evaluate_file

        if episodes is not None:
            raise ValueError(f"--episodes is for a run; {directory} is asked about the observations of a log")
        evaluate_file(
            directory,
            symmetry=symmetry,
            observations=observations,
            groups=groups or (),
            threshold=threshold,
            figure=figure,
            algorithm=algorithm,
            trust=trust,
            as_json=as_json,
        )
        return
    if directory.suffix and not directory.exists():
        raise ValueError(f"there is no file {directory}")
    for option, given in {
        "--symmetry": symmetry,
        "--observations": observations,
        "--group": groups or None,
        "--threshold": threshold,
        "--figure": figure,
    }.items():
        if given is not None:
            raise ValueError(f"{option} is for the file of a policy, and {directory} is a run")
    from dataclasses import asdict

    from ambidex.experiment.trained import evaluate as evaluation

    chosen: dict[str, Any] = {
        "which": policy,
        "episodes": episodes,
        "env": env,
        "env_args": named_values(env_args),
        "trust": trust,
    }
    rows = evaluation.summary(evaluation.evaluate(directory, **chosen))
    symmetries = evaluation.measure_symmetry(directory, **chosen)
    if as_json:
        found = {"goals": rows, "symmetry": [asdict(measured) for measured in symmetries]}
        print_json(found, indent=None)
        return
    print_table(
        ["goal", "episodes", "mean return", "lowest", "highest", "mean length"],
        [
            ["all" if goal is None else goal, count, *(f"{value:,.1f}" for value in values)]
            for goal, count, *values in (row.values() for row in rows)
        ],
    )
    if symmetries:
        print(f"\n{SCALE}")
    for measured in symmetries:
        say(f"\nsymmetry under {measured.transform}, per action 0 to {len(measured.gait) - 1}")
        for what in ("canonical", "equivariance", "gait"):
            print(f"  {what:<14}" + " ".join(f"{value:6.2f}" for value in getattr(measured, what)))


@app.command()
def play(
    directory: RunDirectory,
    video: Annotated[Path, typer.Option(help="An .mp4 file, or an animated picture: .gif or .webp.")],
    policy: Which = "best",
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of the film.")] = 10.0,
    fps: Annotated[int, typer.Option(min=1, help="Frames per second.")] = 30,
    width: Annotated[int | None, typer.Option(min=16, help="In pixels; as it is drawn by default.")] = None,
    trust: Trust = False,
) -> None:
    """Film a trained policy; needs no screen.

    Example: ambidex play runs/limping --video limping.mp4

    Example: ambidex play runs/limping --video limping.gif --seconds 6 --fps 12 --width 240
    """
    from ambidex.experiment.trained.play import play as film

    frames = film(
        directory, video, which=policy, seconds=seconds, frames_per_second=fps, width=width, trust=trust
    )
    say(f"{video}: {frames} frames")


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
        list[str] | None,
        typer.Option("--element", metavar="NAME", help="With --to: only this transform; may be repeated."),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME",
            help="For rsl_rl: the observations' group, policy by default; may be repeated.",
        ),
    ] = None,
    pass_through: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For rsl_rl: a group that no transform changes; may be repeated."),
    ] = None,
    trust: Trust = False,
) -> None:
    """Write a policy as ONNX, or a description as Python.

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
            say(finding, to_stderr=True)
        say(f"{out}: for {to}; lint has {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
        return
    from ambidex.experiment.trained.export import export as write_onnx

    assert onnx is not None
    exported = write_onnx(Path(target), onnx, policy, trust=trust)
    compared = f"{exported.observations} observations"
    say(f"{onnx}: equal to the policy within {exported.difference:.1e} on {compared}")
    for side in ("observation", "action"):
        about = exported.signature[side]
        inside = [name for name in ("normalization", "actuators") if about.get(name) == "in the file"]
        note = f", {' and '.join(inside)} in the file" if inside else ""
        say(f"  {side}: {about['type']}[{', '.join(map(str, about['shape']))}]{note}")
