"""The paper's hyperparameters per scenario and method, and ours for the triangle, as data."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ambidex.common.yaml import read_yaml
from ambidex.experiment.configure.config import RunConfig, merge, parse
from ambidex.experiment.configure.fits import FITS, default_fit
from ambidex.experiment.configure.methods import DEFAULT, METHODS

_DISABLED = "disabled"


def configure(file: Path | None, assignments: Sequence[str], **options: Any) -> RunConfig:
    """A run from a YAML file, ``key=value`` assignments and options, the later ones winning.

    :param file: values by name, as `run.json` shows them under "config"
    :param assignments: such as ``learning_rate=1e-4`` or ``net_arch=[64, 64]``; values are read as YAML
    :param options: further values; those that are None are left to the file and the preset
    """
    values = _read_file(file) if file is not None else {}
    values |= read_assignments(assignments)
    values |= {key: value for key, value in options.items() if value is not None}
    scenario = values.pop("scenario", None)
    return resolve(scenario, values.pop("method", DEFAULT.name), values)


def read_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """``["gamma=0.9", "net_arch=[64, 64]"]`` as values by name."""
    values = {}
    for assignment in assignments:
        key, separator, value = assignment.partition("=")
        if not separator:
            raise ValueError(f"{assignment!r} is not of the form key=value, such as learning_rate=1e-4")
        values[key.strip()] = read_yaml(f"the value of {assignment!r}", value)
    return values


def _read_file(path: Path) -> dict[str, Any]:
    values = read_yaml(str(path), path.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a mapping of names to values")
    return values


def resolve(scenario: str | None, method: str, overrides: Mapping[str, Any]) -> RunConfig:
    """The preset of a scenario and method with ``overrides`` on top, checked.

    :param scenario: its name; None for a Gymnasium id, which ``overrides`` then holds as ``env``
    :param method: the name of one of `METHODS`
    :param overrides: values by name, of the run or of its hyperparameters
    """
    fits = METHODS.get(method).fits
    base: dict[str, Any] = {"scenario": scenario, "method": method, "hyperparameters": {}}
    preset = _preset(scenario, method)
    if fits:
        preset |= _fit(preset, merge({}, overrides)["hyperparameters"])
    return parse(RunConfig, merge(merge(base, preset), overrides))


def _fit(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is fitted where the preset has no form: who names a fit wants one, and so does a new robot."""
    if preset.get("form") is not None:
        return {}
    if "form" in preset:
        return {"form": "mx"} if "fit" in given else {}
    fit = FITS.get(given["fit"]) if "fit" in given else default_fit()
    return {"fit": fit.name, "form": fit.form}


def _preset(scenario: str | None, method: str) -> dict[str, Any]:
    """Empty for a robot that no table knows."""
    ours = _package_presets().get(scenario or "")
    if ours is not None:
        return {**ours["common"], **ours.get(method, {})}
    for_any_robot: dict[str, Any] = _package_presets()["any robot"].get(method, {})
    return (_from_paper(scenario, method) if scenario is not None else {}) | for_any_robot


def _from_paper(scenario: str, method: str) -> dict[str, Any]:
    """A row of the paper's table; variants such as ``A2.2-authors`` share the row of ``A2.2``."""
    row = _paper_table().get(scenario.partition("-")[0])
    if row is None:
        return {}
    values: dict[str, Any] = {"steps": int(row["total_timesteps"])}
    if f"{method}_policy_weight" not in row:
        return values
    values["policy_weight"] = float(row[f"{method}_policy_weight"])
    values["value_weight"] = float(row[f"{method}_value_weight"])
    if f"{method}_form" in row:
        form, value_gate = row[f"{method}_form"], row[f"{method}_k_v"]
        values |= {
            "form": None if form == _DISABLED else form,
            "max_shift": float(row[f"{method}_k_s"]),
            "dead_zone_reflections": float(row[f"{method}_k_d_reflections"]),
            "dead_zone_rotations": float(row[f"{method}_k_d_rotations"]),
            "value_gate": None if value_gate == _DISABLED else float(value_gate),
        }
    return values


@cache
def _paper_table() -> dict[str, dict[str, str]]:
    text = resources.files("ambidex.experiment.configure").joinpath("hyperparameters.csv").read_text()
    return {row["scenario"]: row for row in csv.DictReader(text.splitlines())}


@cache
def _package_presets() -> dict[str, dict[str, Any]]:
    presets: dict[str, dict[str, Any]] = read_yaml(
        "presets.yaml", resources.files("ambidex.experiment.configure").joinpath("presets.yaml").read_text()
    )
    return presets
