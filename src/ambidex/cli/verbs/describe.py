"""Descriptions: lint, describe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import CHECK_FAILED, AsJson, Description, print_json, say

app = typer.Typer()


@app.command()
def lint(
    description: Annotated[
        str,
        typer.Argument(
            help="A YAML file, or a name of the catalog such as ant; or a mirror of other code: a file of "
            "signed index lists, of cusrl's tables or of the paper's authors, or module:function."
        ),
    ],
    env: Annotated[
        str | None, typer.Option(help="Also check the spaces of this Gymnasium environment.")
    ] = None,
    robot: Annotated[
        str | None,
        typer.Option(help="Hold it against this robot: a description that you trust, or a URDF or MJCF."),
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Import and run module:function.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a description by algebra.

    Exit status 1 if anything is wrong with it. With --robot, say which entries of a mirror disagree with the
    robot, and what they should be.

    Example: ambidex lint my-robot.yaml --env Ant-v5

    Example: ambidex lint cassie-lists.yaml --robot my-robot.yaml

    Example: ambidex lint my_task.symmetry:augment --trust --robot my-robot.yaml
    """
    from ambidex.symmetry import lint_file

    environment = None
    if env is not None:
        from ambidex.envs.making import make

        environment = make(env)
    trusted = None
    if robot is not None:
        from ambidex.derivation.robot import robot_group

        trusted = robot_group(robot)
    findings = lint_file(description, environment, robot=trusted, trust=trust)
    if as_json:
        print_json([finding.as_dict() for finding in findings])
    else:
        for finding in findings:
            say(finding)
        say(f"{description}: {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
    if findings:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def describe(
    description: Description,
    figure: Annotated[Path | None, typer.Option(help="Also draw the maps into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a description's transforms do to which joint.

    Example: ambidex describe ant --figure ant.png
    """
    from ambidex.symmetry import load
    from ambidex.symmetry.show.account import describe as in_words
    from ambidex.symmetry.show.account import description_data

    group = load(description)
    if as_json:
        print_json(description_data(group))
    else:
        say(in_words(group))
    if figure is not None:
        from ambidex.symmetry.show.picture import save_figure

        save_figure(group, figure)
