"""The command line: parses, calls, prints. Each verb imports what it needs when it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

app = typer.Typer(
    name="ambidex",
    help="Symmetry learning for imperfect robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

CHECK_FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130


class _SpreadingCommand(TyperCommand):
    """``--scenarios A B`` means ``--scenarios A --scenarios B``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        for arg in args:
            if arg.startswith("-"):
                option = arg
            elif option in ("--scenarios", "--methods") and spread[-1] != option:
                spread.append(option)
            spread.append(arg)
        return super().parse_args(ctx, spread)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from ambidex import __version__

        print(f"ambidex {__version__}")
        raise typer.Exit


RunDirectory = Annotated[Path, typer.Argument(help="A run directory, as `ambidex train` writes it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Which = Annotated[Literal["best", "last"], typer.Option("--policy", help="The policy to take.")]
Method = Literal["ppo", "msl", "psl", "asl"]


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
        import gymnasium

        import ambidex.envs  # noqa: F401

        environment = gymnasium.make(env)
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
    from ambidex.symmetry.describe import describe as in_words
    from ambidex.symmetry.describe import description_data

    group = load(description)
    if as_json:
        import json

        print(json.dumps(description_data(group), indent=2))
    else:
        print(in_words(group))
    if figure is not None:
        from ambidex.symmetry.figure import save_figure

        save_figure(group, figure)


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
def train(
    scenario: Annotated[str | None, typer.Argument(help="A scenario; none where --env is given.")] = None,
    method: Annotated[Method | None, typer.Option(help="asl by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="0 by default.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; the scenario's by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory; runs/SCENARIO/METHOD/seed-N.")] = None,
    env: Annotated[str | None, typer.Option(help="Any Gymnasium id, with --symmetry.")] = None,
    symmetry: Annotated[str | None, typer.Option(help="A symmetry file or catalog name.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of values by name.")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="key=value, repeatable.")] = None,
    symmetry_samples: Annotated[int | None, typer.Option(help="Transforms drawn per state.")] = None,
    fast: Annotated[bool | None, typer.Option(help="The hand-written update of plain MLPs.")] = None,
) -> None:
    """Train one run.

    Example: ambidex train A2.1 --method asl --steps 1000000 --set learning_rate=1e-4 --out runs/limping
    """
    from ambidex.experiment.presets import configure

    options = {"scenario": scenario, "method": method, "seed": seed, "steps": steps, "env": env}
    options |= {"symmetry": symmetry, "symmetry_samples": symmetry_samples, "fast": fast}
    chosen = configure(config, assignments or [], **options)
    directory = out or Path("runs") / chosen.directory
    from ambidex.experiment import run

    _attend(chosen, directory, lambda reporter: run.train(chosen, directory, reporter=reporter))


@app.command()
def resume(directory: RunDirectory) -> None:
    """Continue a run that was stopped, to the bit as if it had not been.

    Example: ambidex resume runs/limping
    """
    from ambidex.experiment import record, run

    chosen = record.read_config(directory)
    _attend(chosen, directory, lambda reporter: run.resume(directory, reporter=reporter))


def _attend(config: Any, directory: Path, work: Any) -> None:
    """Do the work of a run under a progress bar; a failed run ends with exit status 1."""
    from ambidex.experiment.progress import Console
    from ambidex.experiment.run import RunFailed

    try:
        with Console(config.title, config.steps) as reporter:
            work(reporter)
    except RunFailed as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    except KeyboardInterrupt:
        print(f"stopped; `ambidex resume {directory}` continues", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    print(f"done: {directory}")


@app.command()
def evaluate(
    directory: RunDirectory,
    policy: Which = "best",
    episodes: Annotated[int | None, typer.Option(help="How many; as in training by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Deterministic episodes of a trained policy, per goal.

    Example: ambidex evaluate runs/limping --episodes 64
    """
    from ambidex.experiment import evaluate as evaluation

    rows = evaluation.summary(evaluation.evaluate(directory, which=policy, episodes=episodes))
    if as_json:
        print(json.dumps(rows))
        return
    _print_table(
        ["goal", "episodes", "mean return", "lowest", "highest", "mean length"],
        [
            ["all" if goal is None else goal, count, *(f"{value:,.1f}" for value in values)]
            for goal, count, *values in (row.values() for row in rows)
        ],
    )


@app.command(cls=_SpreadingCommand)
def sweep(
    scenarios: Annotated[list[str], typer.Option(help="One or more scenarios.")],
    methods: Annotated[list[str], typer.Option(help="One or more of ppo, msl, psl, asl.")],
    out: Annotated[Path, typer.Option(help="Where the runs are kept.")],
    seeds: Annotated[int, typer.Option(help="How many seeds, counted from 0.")] = 1,
    steps: Annotated[int | None, typer.Option(help="Training steps; the scenario's by default.")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="key=value, repeatable.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Processes here, or Ray tasks.")] = "local",
    jobs: Annotated[int | None, typer.Option(help="Runs at once; one per core by default.")] = None,
) -> None:
    """Train a grid of runs; the same command again skips what is done and resumes what is not.

    Example: ambidex sweep --scenarios A1.1 A2.1 --methods ppo asl --seeds 12 --out runs
    """
    from ambidex.experiment import sweep as sweeping
    from ambidex.experiment.presets import read_assignments

    overrides = read_assignments(assignments or []) | ({} if steps is None else {"steps": steps})
    runs = sweeping.plan(scenarios, methods, range(seeds), out, overrides)
    print(f"{len(runs)} runs in {out}; `ambidex status {out}` shows how far they are")

    def say(outcome: sweeping.Outcome) -> None:
        print(f"{outcome.state}: {outcome.run.directory} {outcome.message or ''}".rstrip(), flush=True)

    outcomes = sweeping.sweep(runs, out, engine=engine, jobs=jobs, listener=say)
    if any(outcome.state == "failed" for outcome in outcomes):
        raise typer.Exit(CHECK_FAILED)


@app.command()
def status(
    directory: Annotated[Path, typer.Argument(help="A run directory, or one that holds many.")],
    as_json: AsJson = False,
) -> None:
    """How far runs are, how fast, and how long they still take.

    Example: ambidex status runs
    """
    from ambidex.experiment.status import status as read_status

    rows = read_status(directory)
    if as_json:
        print(json.dumps([row.as_json() for row in rows]))
        return
    _print_table(
        ["run", "state", "steps", "return", "steps/s", "left", ""],
        [[row.title, row.state, *row.figures(), row.message or ""] for row in rows],
    )


@app.command()
def play(
    directory: RunDirectory,
    video: Annotated[Path, typer.Option(help="An .mp4 or .gif file.")],
    policy: Which = "best",
    seconds: Annotated[float, typer.Option(help="Length of the film.")] = 10.0,
) -> None:
    """Film a trained policy; needs no screen.

    Example: ambidex play runs/limping --video limping.mp4
    """
    from ambidex.experiment.play import play as film

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
    from ambidex.experiment.export import export as write_onnx

    try:
        exported = write_onnx(directory, onnx, policy)
    except ArithmeticError as error:
        print(f"ambidex: {error}", file=sys.stderr)
        raise typer.Exit(CHECK_FAILED) from None
    compared = f"{exported.observations} observations"
    print(f"{onnx}: equal to the policy within {exported.difference:.1e} on {compared}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the runs and the page are kept.")] = Path("demo"),
) -> None:
    """Two minutes: a rusty triangle robot, PPO against ASL, and what ASL found out about the rust.

    Example: ambidex demo --out demo
    """
    from ambidex.experiment.demo import demonstrate
    from ambidex.experiment.progress import Console
    from ambidex.report import write_report

    print("A triangle robot: limb 1 is rusty and needs double the torque, limb 2 triple. Nobody tells ASL.")
    shown = demonstrate(out, lambda config: Console(config.title, config.steps))
    for method, value in shown.best_returns.items():
        print(f"best return of {method}: {value:.1f}")
    _print_table(
        ["torque of", "learned", "true"],
        [[ratio.limbs, f"{ratio.learned:.2f}", f"{ratio.true:.2f}"] for ratio in shown.ratios],
    )
    page = write_report(shown.directories, out / "report.html")["page"]
    print(f"the report: {page}")


def _print_table(columns: list[str], rows: list[list[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)


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
    target: Annotated[Path, typer.Argument(help="A run directory, or a .zip file of Stable-Baselines3.")],
    figure: Annotated[Path | None, typer.Option(help="Also draw the robot into this file.")] = None,
    states: Annotated[int, typer.Option(help="How many states to visit.")] = 4096,
    observations: Annotated[
        Path | None, typer.Option(help="Visited observations instead: .csv, .npz or .safetensors.")
    ] = None,
    symmetry: Annotated[str | None, typer.Option(help="For a .zip: a file or catalog name.")] = None,
    algorithm: Annotated[str, typer.Option(help="For a .zip: the class that saved it.")] = "PPO",
    trust: Annotated[bool, typer.Option("--trust", help="For a .zip: run the code pickled in it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which actuator is off, by how much and how surely, and what the symmetry was worth.

    Example: ambidex diagnose runs/limping --figure limping.png

    Example: ambidex diagnose policy.zip --trust --symmetry ant --observations logged.csv
    """
    from ambidex.report.diagnose import diagnose_run, diagnose_zip
    from ambidex.symmetry import load

    if target.suffix == ".zip":
        if symmetry is None or observations is None:
            raise ValueError(f"{target}: give --symmetry and --observations, which a .zip does not hold")
        found = diagnose_zip(
            target, symmetry=symmetry, observations=observations, algorithm=algorithm, trust=trust
        )
    else:
        found = diagnose_run(target, states=states, observations=observations)
    if as_json:
        print(json.dumps(found.as_dict(), indent=2))
    else:
        from ambidex.report.diagnose_words import in_words

        print(in_words(found))
    if figure is not None:
        from ambidex.report.diagnose_figure import save_figure

        save_figure(found, load(symmetry if symmetry is not None else str(target / "symmetry.yaml")), figure)


def main() -> None:
    """Run the command line; wrong input ends in one clear line and exit status 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"ambidex: {error}", file=sys.stderr)
        sys.exit(WRONG_USAGE)


if __name__ == "__main__":
    main()
