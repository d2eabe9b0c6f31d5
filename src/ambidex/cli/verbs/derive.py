"""From a robot model to a description."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import CHECK_FAILED, AsJson, print_json, say

app = typer.Typer()


@app.command()
def derive(
    model: Annotated[Path, typer.Argument(help="A robot model: MJCF or URDF.")],
    plane: Annotated[str | None, typer.Option(help="A plane of reflection: xz, yz, y=x, m60 ...")] = None,
    rotation: Annotated[str | None, typer.Option(help="An axis and degrees: z:90.")] = None,
    near: Annotated[float, typer.Option(help="How far off an image may be, of the robot's size.")] = 1e-3,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A joint or body that needs no image.")
    ] = None,
    floating: Annotated[
        bool | None, typer.Option("--floating/--fixed", help="The base; by default what the file says.")
    ] = None,
    layout: Annotated[
        str, typer.Option(help="What is observed: state (qpos, qvel) or locomotion.")
    ] = "state",
    history: Annotated[int, typer.Option(help="Of locomotion: the number of time steps.")] = 1,
    heights: Annotated[str | None, typer.Option(help="Of locomotion: a height map, as 17x11.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the description into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Derive a description from a robot model.

    It reports what in the model should be symmetric and is not. Without --plane and --rotation all usual ones
    are tried. Exit status 1 if what was asked for does not hold, or nothing does.

    Example: ambidex derive robot.xml --plane xz --out robot.yaml
    """
    from ambidex.derivation.derive import derive as derive_from
    from ambidex.derivation.locomotion import rows_and_columns

    derived = derive_from(
        model,
        plane=plane,
        rotation=rotation,
        near=near,
        ignore=ignore or (),
        floating=floating,
        layout=layout,
        history=history,
        heights=None if heights is None else rows_and_columns(heights),
    )
    if as_json:
        print_json(derived.as_dict())
    else:
        say(derived)
    if out is not None and derived.group is not None:
        derived.save(out)
        say(f"written: {out}", to_stderr=True)
    if not derived.holds:
        raise typer.Exit(CHECK_FAILED)
