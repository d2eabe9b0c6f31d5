"""Search spaces as data."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.tuning.space import (
    Choice,
    Range,
    as_data,
    default_space,
    parse_space,
    read_space,
    stored_of,
    values_of,
)
from ambidex.experiment.tuning.task import Task


def test_a_space_is_ranges_and_choices(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(
        "learning_rate: {low: 1.0e-4, high: 1.0e-3, log: true}\nn_epochs: {low: 5, high: 20}\n"
        "net_arch: [[64, 64], [128]]\nvalue_gate: [null, 1.5]\n"
    )
    space = read_space(file)
    assert space == {
        "learning_rate": Range(1e-4, 1e-3, log=True),
        "n_epochs": Range(5, 20),
        "net_arch": Choice(([64, 64], [128])),
        "value_gate": Choice((None, 1.5)),
    }
    assert parse_space(as_data(space), "again") == space
    stored = {"learning_rate": 2e-4, "net_arch": "[64, 64]", "value_gate": "null"}
    assert values_of(stored, space) == {"learning_rate": 2e-4, "net_arch": [64, 64], "value_gate": None}


def test_the_package_s_space_holds_the_preset_and_only_values_that_runs_take() -> None:
    space = default_space()
    preset = resolve("A1.1", "equivariant", {}).hyperparameters
    assert stored_of(preset, space) is not None
    Task(("A1.1",), "equivariant", 400_000).check(space)


def test_a_configuration_outside_of_the_space_is_not_held() -> None:
    preset = resolve("A1.1", "equivariant", {}).hyperparameters
    held = {"n_epochs": Range(5, 20), "net_arch": Choice(([256, 256],))}
    assert stored_of(preset, held) == {"n_epochs": 10, "net_arch": "[256, 256]"}
    assert stored_of(preset, held | {"learning_rate": Range(1e-5, 1e-4)}) is None
    assert stored_of(preset, held | {"desired_kl": Choice((None,))}) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "expected names"),
        ({"learning_rat": [1]}, "'learning_rate'"),
        ({"gamma": 0.9}, "'gamma' is a list of choices"),
        ({"gamma": {"low": 0.9}}, "'gamma' is a list of choices"),
        ({"gamma": {"low": 0.9, "high": 0.5}}, "from a lower to a higher"),
        ({"gamma": {"low": 0, "high": 0.5, "log": True}}, "with log above 0"),
        ({"gamma": {"low": "a", "high": "b"}}, "are numbers"),
        ({"n_steps": {"low": 100, "high": 800.5}}, "'n_steps' is a whole number"),
        ({"n_steps": {"low": "1e2", "high": float("inf")}}, "'n_steps' is a whole number"),
        ({"gamma": {"low": 0, "high": 10**400}}, r"space\.yaml: a number is larger"),
        ({"gamma": [10**400, 1]}, r"space\.yaml: a number is larger"),
        ({"gamma": []}, "are none"),
        ({"gamma": [0.9, 0.9]}, "given twice"),
        ({"ent_coef": [0, 0.0]}, "given twice"),
        ({"learning_rate": [datetime.date(2024, 1, 1)]}, "are numbers, texts"),
    ],
)
def test_a_space_that_cannot_be_meant_is_refused(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_space(values, "space.yaml")


def test_values_that_no_run_takes_are_refused_before_anything_is_trained() -> None:
    with pytest.raises(ValueError, match=r"gamma = 1\.5: .*gamma"):
        Task(("triangle",), "ppo", 100).check({"gamma": Range(0.9, 1.5)})


def test_numbers_are_the_same_however_they_are_written() -> None:
    space = parse_space({"ent_coef": [0, 0.01], "learning_rate": ["1e-4", "3e-4"]}, "test")
    preset = resolve("A1.1", "equivariant", {}).hyperparameters  # 0.0 and 0.0003
    stored = stored_of(preset, space)
    assert stored == {"ent_coef": "0", "learning_rate": '"3e-4"'}
    (config,) = Task(("A1.1",), "equivariant", 100).configs(values_of(stored, space), 100)
    assert (config.hyperparameters.ent_coef, config.hyperparameters.learning_rate) == (0.0, 3e-4)
    assert parse_space({"learning_rate": {"low": "1e-4", "high": 1}}, "test") == {
        "learning_rate": Range(1e-4, 1)
    }
    assert Choice((True, None)).stored(1) is None


def test_a_whole_number_stays_one_however_its_range_is_written() -> None:
    space = parse_space({"n_steps": {"low": "1e2", "high": 8e2, "log": True}}, "test")
    assert space == {"n_steps": Range(100, 800, log=True)}
    assert all(isinstance(end, int) for end in space["n_steps"].ends())


def test_a_range_of_other_numbers_is_not_whole_however_it_is_written() -> None:
    (part,) = parse_space({"log_std_init": {"low": -2, "high": 0}}, "test").values()
    assert part.stored(-0.5) == -0.5
    assert all(isinstance(end, float) for end in part.ends())


def test_a_range_of_whole_numbers_holds_no_others() -> None:
    assert Range(0, 1).stored(0.5) is None
    assert Range(0, 1).stored(1.0) == 1
    assert Range(0.0, 1.0).stored(0.5) == 0.5
