"""The benchmark's scenarios: a robot, what is wrong with it, and which goals it trains for, as data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError

import ambidex.envs.triangle.perturbations  # noqa: F401  (so that scenario files may name its kinds)
from ambidex.common.reading import read_text
from ambidex.common.words import suggestion
from ambidex.common.yaml import read_yaml
from ambidex.envs.perturbations import Perturbation, parse

ALL_GOALS = tuple(range(8))

Goals = Annotated[tuple[Annotated[int, Field(ge=0, le=7)], ...], Field(min_length=1)]
AnyPerturbation = Annotated[SerializeAsAny[Perturbation], BeforeValidator(parse)]


class Scenario(BaseModel):
    """One experiment of the benchmark.

    :param env: the Gymnasium id of the robot
    :param symmetry: the catalog name (or file) of the robot's symmetry description
    :param description: the scenario in words
    :param train_goals: the goals of training episodes, in their order (the ant)
    :param evaluation_goals: the goals of evaluation episodes (the ant)
    :param must_progress: whether an episode ends when the ant no longer moves toward its goal
    :param perturbations: what differs from the ideal robot, applied in this order
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    env: str
    symmetry: str
    description: str
    train_goals: Goals = ALL_GOALS
    evaluation_goals: Goals = ALL_GOALS
    must_progress: bool = False
    perturbations: tuple[AnyPerturbation, ...] = ()


def names() -> list[str]:
    """The names of the package's scenarios, in the paper's order."""
    return list(_catalog())


def get(name: str) -> Scenario:
    """A scenario of the package by its name, or the one in a user's YAML file by its path."""
    if name.endswith((".yaml", ".yml")):
        return _only_one(Path(name))
    try:
        return _catalog()[name]
    except KeyError:
        hint = suggestion(name, _catalog(), likeness=0.3)
        raise ValueError(
            f"no scenario is called {name!r}{hint or ';'} `ambidex scenarios` lists them"
        ) from None


def read(text: str, source: str) -> dict[str, Scenario]:
    """The scenarios of a YAML text: a mapping from each name to the scenario's fields.

    :param source: what errors call the text, such as the file's name
    """
    entries = read_yaml(source, text)
    if not isinstance(entries, dict) or not all(isinstance(fields, dict) for fields in entries.values()):
        raise ValueError(f"{source}: a scenario file maps each scenario's name to its fields")
    return {str(name): _scenario(str(name), fields, source) for name, fields in entries.items()}


def _scenario(name: str, fields: dict[str, Any], source: str) -> Scenario:
    if "name" in fields:
        raise ValueError(f"{source}: scenario {name!r} has its name already; remove the field 'name'")
    try:
        return Scenario.model_validate({"name": name, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{source}: scenario {name!r}, {where}: {first['msg']}") from None


def _only_one(path: Path) -> Scenario:
    scenarios = read(read_text(path), str(path))
    if len(scenarios) != 1:
        raise ValueError(f"{path}: expected one scenario, found {len(scenarios)}: {', '.join(scenarios)}")
    return next(iter(scenarios.values()))


@cache
def _catalog() -> dict[str, Scenario]:
    return {name: scenario for scenarios in _files() for name, scenario in scenarios.items()}


def _files() -> Iterator[dict[str, Scenario]]:
    folder = resources.files("ambidex.envs") / "data"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".yaml"):
            yield read(entry.read_text(encoding="utf-8"), entry.name)
