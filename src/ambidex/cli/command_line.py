"""The command line: parses, calls, prints. Each verb imports what it needs when it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ambidex.cli import runs as experiment_verbs

app = typer.Typer(
    name="ambidex",
    help="Symmetry learning for imperfect robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(experiment_verbs.app)

CHECK_FAILED = 1
WRONG_USAGE = 2


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from ambidex import __version__

        print(f"ambidex {__version__}")
        raise typer.Exit


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


@app.command()
def lint(
    description: Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")],
    env: Annotated[
        str | None, typer.Option(help="Also check the spaces of this Gymnasium environment.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a description by algebra; exit status 1 if anything is wrong with it.

    Example: ambidex lint my-robot.yaml --env Ant-v5
    """
    from ambidex.symmetry import lint_file

    environment = None
    if env is not None:
        from ambidex.envs.making import make

        environment = make(env)
    findings = lint_file(description, environment)
    if as_json:
        import json

        print(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        for finding in findings:
            print(finding)
        print(f"{description}: {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
    if findings:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def describe(
    description: Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")],
    figure: Annotated[Path | None, typer.Option(help="Also draw the maps into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a description's transforms do to which joint, in words, as JSON or as a figure.

    Example: ambidex describe ant --figure ant.png
    """
    from ambidex.symmetry import load
    from ambidex.symmetry.show.account import describe as in_words
    from ambidex.symmetry.show.account import description_data

    group = load(description)
    if as_json:
        import json

        print(json.dumps(description_data(group), indent=2))
    else:
        print(in_words(group))
    if figure is not None:
        from ambidex.symmetry.show.picture import save_figure

        save_figure(group, figure)


@app.command()
def derive(
    model: Annotated[Path, typer.Argument(help="A robot model: MJCF or URDF.")],
    plane: Annotated[str | None, typer.Option(help="A plane of reflection: xz, yz, y=x, m60 ...")] = None,
    rotation: Annotated[str | None, typer.Option(help="An axis and degrees: z:90.")] = None,
    near: Annotated[float, typer.Option(help="How far off an image may be, of the robot's size.")] = 1e-3,
    ignore: Annotated[list[str] | None, typer.Option(help="A joint or body that needs no image.")] = None,
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
    """Derive a description from a robot model, and report what in the model is not symmetric.

    Without --plane and --rotation all usual ones are tried. Exit status 1 if what was asked for does not
    hold, or nothing does.

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
        print(json.dumps(derived.as_dict(), indent=2))
    else:
        print(derived)
    if out is not None and derived.group is not None:
        derived.save(out)
        print(f"written: {out}", file=sys.stderr)
    if not derived.holds:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def verify(
    description: Annotated[str, typer.Argument(help="A YAML file, or a name of the catalog such as ant.")],
    env: Annotated[str, typer.Option(help="The Gymnasium environment to hold it against.")],
    scenario: Annotated[str | None, typer.Option(help="Of our environments: the scenario.")] = None,
    states: Annotated[int, typer.Option(help="How many states to visit.")] = 64,
    seed: Annotated[int, typer.Option(help="Of the starts and the actions.")] = 0,
    every_element: Annotated[bool, typer.Option("--all", help="List the elements that hold too.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw all scores into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold a description against a simulator; exit status 1 if any of it is broken.

    Imperfect (the robot itself is not symmetric) is no failure: that is what ASL is for.

    Example: ambidex verify ant --env ambidex/Ant-v0 --figure ant.png
    """
    from ambidex.envs.making import make
    from ambidex.verification import verify as hold_against
    from ambidex.verification.words import in_words

    environment = make(env) if scenario is None else make(env, scenario=scenario)
    found = hold_against(description, environment, states=states, seed=seed, progress=True)
    environment.close()
    print(json.dumps(found.as_dict(), indent=2) if as_json else in_words(found, every_element=every_element))
    if figure is not None:
        from ambidex.verification.picture import save_figure

        save_figure(found, figure)
    if found.is_broken:
        raise typer.Exit(CHECK_FAILED)


@app.command(name="scenarios")
def list_scenarios(as_json: AsJson = False) -> None:
    """List the scenarios of the benchmark, each in words.

    Example: ambidex scenarios --json
    """
    import json

    from ambidex.envs import scenarios

    if as_json:
        found = [scenarios.get(name).model_dump(mode="json") for name in scenarios.names()]
        print(json.dumps(found, indent=2))
        return
    for name in scenarios.names():
        print(_entry(name, scenarios.get(name).description))


def _entry(name: str, words: str) -> str:
    """A name in the left column, words wrapped in the right."""
    import shutil
    import textwrap

    column = " " * 18
    width = min(shutil.get_terminal_size().columns, 110)
    lines = textwrap.fill(words, width, initial_indent=column, subsequent_indent=column)
    return name.ljust(len(column)) + lines.removeprefix(column)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the runs and the page are kept.")] = Path("demo"),
) -> None:
    """Two minutes: a rusty triangle robot, PPO against ASL, and what ASL found out about the rust.

    Example: ambidex demo --out demo
    """
    from ambidex.cli.runs import print_table
    from ambidex.experiment.demo import demonstrate
    from ambidex.experiment.one_run.progress import Console
    from ambidex.report import write_report

    print("A triangle robot: limb 1 is rusty and needs double the torque, limb 2 triple. Nobody tells ASL.")
    shown = demonstrate(out, lambda config: Console(config.title, config.steps))
    print("\nreturn, the mean of three seeds:")
    print_table(
        ["training steps", *(f"{steps:,}" for steps in shown.returns["ppo"])],
        [
            [method.upper(), *(f"{value:.1f}" for value in values.values())]
            for method, values in shown.returns.items()
        ],
    )
    print("\ntorque ratios that ASL learned:")
    print_table(
        ["", "mean", "of each seed", "true"],
        [
            [
                ratio.limbs,
                f"{ratio.mean:.2f}",
                " ".join(f"{m:.2f}" for m in ratio.learned),
                f"{ratio.true:.2f}",
            ]
            for ratio in shown.ratios
        ],
    )
    page = write_report(shown.directories, out / "report.html")["page"]
    print(f"the report: {page}")


@app.command()
def report(
    directories: Annotated[list[Path], typer.Argument(help="Run directories, or directories of them.")],
    out: Annotated[Path, typer.Option(help="The HTML page.")] = Path("report.html"),
    tables: Annotated[Path | None, typer.Option(help="Also write tables here: Markdown, LaTeX, CSV.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write figures here: PNG and SVG.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Report runs on one HTML page that opens from disk, beside the paper's figures.

    Example: ambidex report runs --out report.html --tables tables --figures figures
    """
    from ambidex.report import write_report

    written = write_report(directories, out, tables=tables, figures=figures, seed=seed)
    if as_json:
        import json

        print(json.dumps(written, indent=2))
        return
    for path in (*written["tables"], *written["figures"], written["page"]):
        print(path)
    absent = len(written["missing"]) + len(written["unreadable"])
    if absent:
        print(f"runs missing, unfinished or unreadable: {absent}; the page lists them")


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
        int | None, typer.Option(min=1, help="Of a run: how many states to visit; 4096 by default.")
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
            help="For transitions: the range to which the robot clips its commands, if the log has them as "
            "they were before."
        ),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="For a .zip: the class that saved it.")] = "PPO",
    trust: Annotated[bool, typer.Option("--trust", help="For a .zip: run the code pickled in it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which actuator is off, by how much and how surely, and what the symmetry was worth.

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
        found = diagnose_run(target, states=states or STATES, observations=observations)
    if as_json:
        print(json.dumps(found.as_dict(), indent=2))
    else:
        from ambidex.diagnosis.words import in_words

        print(in_words(found))
    if figure is not None:
        from ambidex.diagnosis.picture import save_figure

        save_figure(found, figure)


def main() -> None:
    """Run the command line; wrong input ends in one clear line and exit status 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"ambidex: {error}", file=sys.stderr)
        sys.exit(WRONG_USAGE)


if __name__ == "__main__":
    main()
