"""A description against a simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli.options import (
    CHECK_FAILED,
    AsJson,
    Description,
    EnvironmentArguments,
    named_values,
    print_json,
    say,
    whole_number,
)

app = typer.Typer()


@app.command()
def verify(
    description: Description,
    env: Annotated[
        str, typer.Option(help="The Gymnasium environment to hold it against, also module:Id-v0.")
    ],
    env_args: EnvironmentArguments = None,
    scenario: Annotated[str | None, typer.Option(help="Of our environments: the scenario.")] = None,
    states: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="How many states to visit.")
    ] = 64,
    seed: Annotated[int, typer.Option(help="Of the starts and the actions.")] = 0,
    every_element: Annotated[bool, typer.Option("--all", help="List the elements that hold too.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw all scores into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold a description against a simulator.

    Exit status 1 if any of it is broken. Imperfect (the robot itself is not symmetric) is no failure: that is
    what ASL is for.

    Example: ambidex verify ant --env ambidex/Ant-v0 --figure ant.png
    """
    from ambidex.envs.making import make
    from ambidex.verification import verify as hold_against
    from ambidex.verification.words import in_words

    options = (named_values(env_args) or {}) | ({} if scenario is None else {"scenario": scenario})
    environment = make(env, **options)
    found = hold_against(description, environment, states=states, seed=seed, progress=True)
    environment.close()
    if as_json:
        print_json(found.as_dict())
    else:
        say(in_words(found, every_element=every_element))
    if figure is not None:
        from ambidex.verification.picture import save_figure

        save_figure(found, figure)
    if found.is_broken:
        raise typer.Exit(CHECK_FAILED)
