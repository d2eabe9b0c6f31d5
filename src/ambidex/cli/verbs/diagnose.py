"""Which actuator is off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import AsJson, print_json, say, whole_number

app = typer.Typer()


@app.command()
def diagnose(
    target: Annotated[
        Path | None, typer.Argument(help="A run directory, or a .zip file of Stable-Baselines3.")
    ] = None,
    transitions: Annotated[
        Path | None,
        typer.Option(help="Logged (s, a, s') of a robot instead of a policy: .npz, .safetensors or .csv."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw the robot into this file.")] = None,
    states: Annotated[
        int | None,
        typer.Option(
            parser=whole_number, metavar="N", help="Of a run: how many states to visit; 4096 by default."
        ),
    ] = None,
    observations: Annotated[
        Path | None, typer.Option(help="Visited observations instead: .csv, .npz or .safetensors.")
    ] = None,
    symmetry: Annotated[
        str | None, typer.Option(help="For a .zip or transitions: a description's file or catalog name.")
    ] = None,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="For transitions: look for offsets; contacts cause false ones.")
    ] = False,
    clip: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="For transitions: the range to which the robot clips its commands, if the log has them as "
            "they were before.",
        ),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="For a .zip: the class that saved it.")] = "PPO",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Run the code pickled in a .zip, or the module of an environment that a run names.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say which actuator is off, by how much and how surely.

    Of a policy, also what the symmetry was worth.

    Example: ambidex diagnose runs/limping --figure limping.png

    Example: ambidex diagnose policy.zip --trust --symmetry ant --observations logged.csv

    Example: ambidex diagnose --transitions logged.npz --symmetry my-robot.yaml
    """
    from ambidex.diagnosis.motion import MotionDiagnosis, diagnose_transitions
    from ambidex.diagnosis.policy import STATES, PolicyDiagnosis, diagnose_run, diagnose_zip

    found: PolicyDiagnosis | MotionDiagnosis
    if target is not None and transitions is not None:
        raise ValueError(f"give either {target} or --transitions {transitions}, not both")
    if offsets and transitions is None:
        raise ValueError("--offsets is for --transitions; the diagnosis of a policy has offsets anyway")
    if clip is not None and transitions is None:
        raise ValueError("--clip is for --transitions; a policy's means are clipped to its own action box")
    if observations is not None and transitions is not None:
        raise ValueError("--observations is for a policy; --transitions has its own")
    is_run = target is not None and target.suffix != ".zip"
    if states is not None and (observations is not None or not is_run):
        raise ValueError("--states is for a run whose policy visits them; logged ones are taken as they are")
    if symmetry is not None and is_run:
        raise ValueError(f"--symmetry is for a .zip or --transitions; {target} has its own symmetry.yaml")
    if transitions is not None:
        if symmetry is None:
            raise ValueError(f"{transitions}: give --symmetry, which says what the arrays hold")
        found = diagnose_transitions(transitions, symmetry=symmetry, offsets=offsets, clip=clip)
    elif target is None:
        raise ValueError("give a run directory or a .zip file, or --transitions FILE with --symmetry")
    elif target.suffix == ".zip":
        if symmetry is None or observations is None:
            raise ValueError(f"{target}: give --symmetry and --observations, which a .zip does not hold")
        found = diagnose_zip(
            target, symmetry=symmetry, observations=observations, algorithm=algorithm, trust=trust
        )
    else:
        found = diagnose_run(target, states=states or STATES, observations=observations, trust=trust)
    if as_json:
        print_json(found.as_dict())
    else:
        from ambidex.diagnosis.words import in_words

        say(in_words(found))
    if figure is not None:
        from ambidex.diagnosis.picture import save_figure

        save_figure(found, figure)
