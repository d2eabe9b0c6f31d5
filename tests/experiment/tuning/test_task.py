"""What a trial is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.tuning.search import steps_of
from ambidex.experiment.tuning.space import parse_space
from ambidex.experiment.tuning.task import Task


def write_evaluations(directory: Path, means: list[float]) -> None:
    directory.mkdir(parents=True)
    lines = ["iteration,steps,episode,goal,return,length"]
    for number, mean in enumerate(means, start=1):
        lines += [f"{number},{100 * number},{e},,{mean + d},10" for e, d in enumerate((-5.0, 5.0))]
    (directory / "evaluations.csv").write_text("\n".join(lines) + "\n")


def test_the_score_is_the_mean_over_robots_and_seeds_of_return_over_reference(tmp_path: Path) -> None:
    task = Task(("triangle", "A1.1"), "ppo", 900, seeds=2, references={"triangle": 50.0, "A1.1": 2000.0})
    runs = task.runs({"gamma": 0.9}, 300, tmp_path)
    assert [run.config.hyperparameters.gamma for run in runs] == [0.9] * 4
    assert {run.config.steps for run in runs} == {300}
    means = {  # after 100, 200 and 300 steps of 300
        ("triangle", 0): [10, 20, 30],
        ("A1.1", 0): [500],  # it collapsed, and goes on so
        ("triangle", 1): [30, 45],  # 30, 45, 45
        ("A1.1", 1): [1000, 2000, 900],
    }
    for run in runs:
        write_evaluations(run.directory, means[str(run.config.scenario), run.config.seed])
    returns = task.returns(runs)
    assert returns == {"triangle": 30.0, "A1.1": 900.0}  # (20 + 40) / 2, (500 + 1300) / 2
    assert task.score(returns) == pytest.approx((30 / 50 + 900 / 2000) / 2)


def test_a_single_robot_of_ones_own_is_scored_by_its_return() -> None:
    task = Task((), "equivariant", 900, overrides={"env": "Pendulum-v1", "symmetry": "pendulum-v1"})
    (config,) = task.configs({}, 900)
    assert (config.env, config.method, config.preset) == ("Pendulum-v1", "equivariant", "ambidex")
    assert task.score({"Pendulum-v1": -150.0}) == -150.0


@pytest.mark.parametrize(
    ("scenarios", "references", "message"),
    [
        (("triangle", "A1.1"), {"A1.1": 2183.0}, "--reference triangle=NUMBER"),
        (("triangle",), {"triangle": -1.0}, "reference of triangle is -1.0"),
        (("triangle", "triangle"), {"triangle": 1.0}, "given twice"),
    ],
)
def test_robots_that_cannot_be_compared_are_refused(
    scenarios: tuple[str, ...], references: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Task(scenarios, "ppo", 100, references=references)


def learned(config: RunConfig, directory: Path) -> None:
    """The evaluations of a run whose return is the number of its steps."""
    every = config.evaluation_every * config.iteration_steps
    directory.mkdir(parents=True)
    at = range(every, config.iterations * config.iteration_steps + 1, every)
    lines = ["iteration,steps,episode,goal,return,length", *(f"1,{steps},0,,{steps},10" for steps in at)]
    (directory / "evaluations.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("budget", [150_000, 166_000, 200_000, 230_000, 300_000, 400_000, 1_000_000])
def test_settings_are_compared_after_like_steps(budget: int, tmp_path: Path) -> None:
    task = Task(("A1.1",), "equivariant", budget)
    task.check(parse_space({"n_steps": [2048, 4096, 8192]}, "space.yaml"))
    for rung, (reached, apart) in enumerate(((1, 0.2), (3, 0.17), (9, 0.05))):
        returns = []
        for n_steps in (2048, 4096, 8192):
            steps = steps_of(rung, budget)
            runs = task.runs({"n_steps": n_steps}, steps, tmp_path / f"{rung}-{n_steps}")
            learned(runs[0].config, runs[0].directory)
            returns += task.returns(runs).values()
        ninths = range(max(1, reached - 2), reached + 1)
        expected = budget / 9 * sum(ninths) / len(ninths)
        assert returns == pytest.approx([expected] * 3, rel=apart)


def test_evaluations_may_be_counted_in_iterations() -> None:
    (config,) = Task(("A1.1",), "ppo", 400_000, overrides={"evaluation_every": 2}).configs({}, 400_000)
    assert config.evaluation_every == 2


def test_iterations_that_are_too_long_to_be_compared_are_refused() -> None:
    pendulum = {"env": "Pendulum-v1", "symmetry": "pendulum-v1", "num_envs": 8}
    space = parse_space({"n_steps": [512, 1024]}, "space.yaml")
    with pytest.raises(ValueError, match=r"varies n_steps.* 8,192 steps .* budget of 147,456 at least"):
        Task((), "ppo", 147_455, overrides=pendulum).check(space)
    Task((), "ppo", 147_456, overrides=pendulum).check(space)
    several = {"n_steps": [512, 1024], "num_envs": [1, 8]}
    with pytest.raises(ValueError, match=r"varies n_steps and num_envs.* 8,192 steps"):
        del pendulum["num_envs"]
        Task((), "ppo", 147_455, overrides=pendulum).check(parse_space(several, "space.yaml"))
    Task((), "ppo", 100, overrides=pendulum).check(parse_space({"gamma": [0.9, 0.99]}, "space.yaml"))


def test_a_description_of_another_robot_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(ValueError, match="has 3 elements, but the transforms act on 4"):
        Task((), "equivariant", 900, overrides={"env": "Pendulum-v1", "symmetry": "cartpole-v1"}).check({})


def test_a_reference_for_another_robot_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"--reference triangle-rsut=\.\.\.: this search is on triangle-rust"
    ):
        Task(("triangle-rust",), "ppo", 100, references={"triangle-rsut": 50.0})


def test_scenario_files_of_one_name_are_refused(tmp_path: Path) -> None:
    text = "limp: {env: ambidex/Triangle-v0, symmetry: triangle, description: a robot}\n"
    files = [tmp_path / folder / "limp.yaml" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text(text)
    names = tuple(map(str, files))
    with pytest.raises(ValueError, match="two scenario files have one name"):
        Task(names, "ppo", 100, references=dict.fromkeys(names, 50.0)).check({})
