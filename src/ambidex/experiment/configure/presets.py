"""Where the values of a run come from: one configuration for every robot, or a table per scenario and method.

``ambidex`` is the first (`ambidex.yaml`), ``paper`` the second: the paper's own (`hyperparameters.csv`), and
ours for the triangle (`presets.yaml`). Algorithms that are not PPO have those of the zoo (`algorithms.yaml`).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ambidex.common.escaping import quoted
from ambidex.common.reading import read_text
from ambidex.common.words import listed
from ambidex.common.yaml import read_yaml
from ambidex.experiment.configure.algorithms import ALGORITHMS, PPO, Algorithm, settings_of_algorithms
from ambidex.experiment.configure.config import Preset, RunConfig, merge, parse
from ambidex.experiment.configure.fits import FITS, default_fit
from ambidex.experiment.configure.fittable import obstacle
from ambidex.experiment.configure.methods import DEFAULT, EQUIVARIANT, method_called, takers

_NAMES = ("scenario", "algorithm", "method", "preset", "env", "symmetry", "fit", "actuators")
_DISABLED = "disabled"
_NOT_SHARED = {"rounds", "evaluation_every", "metrics_every", "normalize", "log_std_init"}


def configure(file: Path | None, assignments: Sequence[str], **options: Any) -> RunConfig:
    """A run from a YAML file, ``key=value`` assignments and options, the later ones winning.

    :param file: values by name, as `run.json` shows them under "config"
    :param assignments: such as ``learning_rate=1e-4`` or ``net_arch=[64, 64]``; values are read as YAML
    :param options: further values; those that are None are left to the file and the preset
    """
    given = {key: value for key, value in options.items() if value is not None}
    typed = merge(merge({}, read_assignments(assignments)), given)
    values = merge(merge({}, _read_file(file) if file is not None else {}), typed)
    _require_names(values)
    scenario = values.pop("scenario", None)
    own_robot = scenario is None and values.get("env") is not None
    default = EQUIVARIANT if own_robot else DEFAULT
    method = values.pop("method", default.name)
    config = resolve(scenario, method, values)
    refuse_unused([method], typed)  # a file may serve several methods
    return config


def _require_names(values: Mapping[str, Any]) -> None:
    """What the preset is looked up by has to be a text; all else is checked with the whole."""
    nested = values.get("hyperparameters")
    flat = {**values, **nested} if isinstance(nested, Mapping) else values
    for key in _NAMES:
        if flat.get(key) is not None and not isinstance(flat[key], str):
            raise ValueError(f"{key}: expected a name, got {quoted(flat[key])}")


def read_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """``["gamma=0.9", "net_arch=[64, 64]"]`` as values by name; ``none`` is YAML's ``null``."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, value = assignment.partition("=")
        if not separator:
            raise ValueError(f"{assignment!r} is not of the form key=value, such as learning_rate=1e-4")
        is_none = value.strip().lower() == "none"
        values[key.strip()] = None if is_none else read_yaml(f"the value of {assignment!r}", value)
    return values


def _read_file(path: Path) -> dict[str, Any]:
    values = read_yaml(str(path), read_text(path))
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a mapping of names to values")
    return values


def resolve(scenario: str | None, method: str, overrides: Mapping[str, Any]) -> RunConfig:
    """The preset of a scenario, algorithm and method with ``overrides`` on top, checked.

    :param scenario: its name; None for a Gymnasium id, which ``overrides`` then holds as ``env``
    :param method: the name of one of `METHODS`
    :param overrides: values by name, of the run or of its hyperparameters; ``preset`` names another than
        `default_preset`
    """
    chosen = method_called(method)
    algorithm = ALGORITHMS.get(overrides.get("algorithm", PPO.name))
    given = merge({}, overrides)["hyperparameters"]
    _refuse_settings_of_others(algorithm, chosen.name, given)
    name = overrides.get("preset") or default_preset(scenario, chosen.name)
    base: dict[str, Any] = {"scenario": scenario, "method": chosen.name, "hyperparameters": {}}
    preset = _preset(scenario, chosen.name, name)
    if algorithm is not PPO:
        preset = _preset_of_algorithm(algorithm, scenario, chosen.name, preset)
    if chosen.fits:
        preset |= _fit(preset, given)
    values = merge(merge(base, preset), {**overrides, "preset": name})
    config = parse(RunConfig, values)
    left = [every for every in ("evaluation_every", "metrics_every") if every not in values]
    config = config.model_copy(
        update={every: config.scaled_iterations(getattr(config, every)) for every in left}
    )
    return config if "actuators" in given else _with_possible_actuators(config)


def refuse_unused(methods: Sequence[str], given: Mapping[str, Any]) -> None:
    """Raise a ValueError for a setting with which none of these methods does anything.

    :param given: values by name, as `resolve` takes them
    """
    for name in merge({}, given)["hyperparameters"]:
        own = [method_called(method) for method in methods]
        taken = any(method.settings is None or name in method.settings for method in own)
        if not taken and takers(name):
            raise ValueError(
                f"{'method' if len(own) == 1 else 'methods'} {listed([repr(one.name) for one in own])} "
                f"{'takes' if len(own) == 1 else 'take'} no {name}, which is for {listed(takers(name))}; "
                "leave it out"
            )


def default_preset(scenario: str | None, method: str) -> Preset | None:
    """``ambidex`` for a robot of one's own and for equivariant policies; None: the scenario's own table."""
    if scenario in _read_data("presets.yaml"):
        return None
    return "ambidex" if scenario is None or method == EQUIVARIANT.name else "paper"


def _with_possible_actuators(config: RunConfig) -> RunConfig:
    """Without the preset's actuators where the robot's description does not say what they move."""
    fit = config.hyperparameters.actuators
    if fit is None:
        return config
    from ambidex.experiment.configure.build import symmetry_source

    source = symmetry_source(config)
    if source is None or obstacle(fit, source) is None:
        return config
    without = config.hyperparameters.model_copy(update={"actuators": None})
    return config.model_copy(update={"hyperparameters": without})


def _refuse_settings_of_others(algorithm: Algorithm, method: str, given: Mapping[str, Any]) -> None:
    for name in given:
        if reason := algorithm.why_not_setting(name, method):
            raise ValueError(f"{reason}; leave it out")


def _fit(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is fitted where the preset has no form: who names a fit wants one, and so does a new robot."""
    if preset.get("form") is not None:
        return {}
    if "form" in preset:
        return {"form": "mx"} if "fit" in given else {}
    fit = FITS.get(given["fit"]) if "fit" in given else default_fit()
    return {"fit": fit.name, "form": fit.form}


def _preset(scenario: str | None, method: str, name: str | None) -> dict[str, Any]:
    common, own = _tables(scenario, method)
    if name != "ambidex":
        return common | own
    ours = _read_data("ambidex.yaml")
    return own | ours["common"] | ours.get(method, {})


def _preset_of_algorithm(
    algorithm: Algorithm, scenario: str | None, method: str, of_ppo: Mapping[str, Any]
) -> dict[str, Any]:
    """What its own table says, for any robot and for this one; of PPO's preset what all algorithms share."""
    table = _read_data("algorithms.yaml").get(algorithm.name, {})
    preset = {
        name: value for name, value in of_ppo.items() if name not in settings_of_algorithms() | _NOT_SHARED
    }
    for place in ("any robot", scenario or ""):
        own = table.get(place, {})
        preset |= {**own.get("common", {}), **own.get(method, {})}
    return preset


def _tables(scenario: str | None, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a scenario has for all methods and what it has for one; of an unknown robot hardly anything.

    Variants such as ``A2.2-authors`` share the paper's row of ``A2.2``.
    """
    tables = _read_data("presets.yaml")
    if scenario in tables:
        return tables[scenario]["common"], tables[scenario].get(method, {})
    own = tables["any robot"].get(method, {})
    row = _paper_table().get((scenario or "").partition("-")[0])
    if row is None:
        return {}, own
    return {"steps": int(row["total_timesteps"])}, own | _from_paper(row, method)


def _from_paper(row: Mapping[str, str], method: str) -> dict[str, Any]:
    """The values of a method in a row of the paper's table, where it has any."""
    if f"{method}_policy_weight" not in row:
        return {}
    values: dict[str, Any] = {
        "policy_weight": float(row[f"{method}_policy_weight"]),
        "value_weight": float(row[f"{method}_value_weight"]),
    }
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
def _read_data(file: str) -> dict[str, dict[str, Any]]:
    text = resources.files("ambidex.experiment.configure").joinpath(file).read_text(encoding="utf-8")
    values: dict[str, dict[str, Any]] = read_yaml(file, text)
    return values
