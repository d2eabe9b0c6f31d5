"""What may be varied, and how far: a search space as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambidex.common.reading import read_text
from ambidex.common.yaml import read_yaml
from ambidex.experiment.configure.config import Hyperparameters, check_keys

if TYPE_CHECKING:
    import optuna

_RANGE_KEYS = {"low", "high", "log"}


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, whole ones if both are of that type; ``log``: by factors."""

    low: float
    high: float
    log: bool = False

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: optuna.Trial, name: str) -> Any:
        if self._is_whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high

    def stored(self, value: Any) -> Any:
        """What the study keeps for a value; None where the value is not in the range."""
        if not _is_number(value) or not self.low <= value <= self.high:
            return None
        return value if not self._is_whole else int(value) if value == int(value) else None

    def value(self, stored: Any) -> Any:
        return stored


@dataclass(frozen=True)
class Choice:
    """One of some values; the study keeps them as JSON, so that lists can be chosen too."""

    values: tuple[Any, ...]

    def suggest(self, trial: optuna.Trial, name: str) -> Any:
        return self.value(trial.suggest_categorical(name, [json.dumps(value) for value in self.values]))

    def ends(self) -> tuple[Any, ...]:
        return self.values

    def stored(self, value: Any) -> Any:
        alike = [one for one in self.values if _compared(one) == _compared(value)]
        return json.dumps(alike[0]) if alike else None

    def value(self, stored: Any) -> Any:
        return json.loads(stored)


Space = Mapping[str, Range | Choice]


def default_space() -> dict[str, Range | Choice]:
    """The one that ships."""
    text = resources.files("ambidex.experiment.tuning").joinpath("space.yaml").read_text(encoding="utf-8")
    return parse_space(read_yaml("space.yaml", text), "space.yaml")


def read_space(path: Path) -> dict[str, Range | Choice]:
    """A space from a YAML file of names of hyperparameters, each with a range or a list of choices."""
    return parse_space(read_yaml(str(path), read_text(path)), str(path))


def parse_space(values: Any, source: str) -> dict[str, Range | Choice]:
    """A space from plain values.

    :param source: what errors call it
    """
    if not isinstance(values, Mapping) or not values:
        raise ValueError(
            f"{source}: expected names of hyperparameters, each with a range or a list of choices"
        )
    check_keys(values, set(Hyperparameters.model_fields), source)
    try:
        return {name: _parse(name, entry, source) for name, entry in values.items()}
    except OverflowError:
        raise ValueError(f"{source}: a number is larger than any that can be reckoned with") from None


def as_data(space: Space) -> dict[str, Any]:
    """The space as `parse_space` reads it."""
    return {
        name: list(part.values)
        if isinstance(part, Choice)
        else {"low": part.low, "high": part.high, "log": part.log}
        for name, part in space.items()
    }


def values_of(stored: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """The values of hyperparameters from what the study keeps."""
    return {name: space[name].value(value) for name, value in stored.items()}


def stored_of(hyperparameters: Hyperparameters, space: Space) -> dict[str, Any] | None:
    """What the study would keep for a configuration; None where the space does not hold it."""
    found = {name: part.stored(getattr(hyperparameters, name)) for name, part in space.items()}
    return None if any(value is None for value in found.values()) else found


def _parse(name: str, entry: Any, source: str) -> Range | Choice:
    if isinstance(entry, list):
        try:
            different = {json.dumps(_compared(value)) for value in entry}
        except TypeError:
            raise ValueError(
                f"{source}: the choices of {name!r} are numbers, texts, true, false, null or lists of these"
            ) from None
        if len(different) < max(len(entry), 1):
            raise ValueError(f"{source}: the choices of {name!r} are none, or one is given twice")
        return Choice(tuple(entry))
    if not isinstance(entry, Mapping) or not {"low", "high"} <= set(entry) <= _RANGE_KEYS:
        raise ValueError(
            f"{source}: {name!r} is a list of choices, or has low, high and perhaps log; got {entry!r}"
        )
    low, high, log = _read_number(entry["low"]), _read_number(entry["high"]), entry.get("log", False)
    if not (_is_number(low) and _is_number(high) and isinstance(log, bool)):
        raise ValueError(
            f"{source}: the ends of {name!r} are numbers and log is true or false; got {entry!r}"
        )
    if not low < high or (log and low <= 0):
        raise ValueError(
            f"{source}: {name!r} goes from a lower to a higher number, with log above 0; got {entry!r}"
        )
    if Hyperparameters.model_fields[name].annotation in (int, int | None):
        if not (float(low).is_integer() and float(high).is_integer()):
            raise ValueError(f"{source}: {name!r} is a whole number, and so are its ends; got {entry!r}")
        return Range(int(low), int(high), log)
    return Range(float(low), float(high), log)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_number(value: Any) -> Any:
    """YAML reads ``1e-4`` as a text, which settings take for the number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _compared(value: Any) -> Any:
    """A value as it is compared: 0 is 0.0, ``1e-4`` its number, a tuple a list."""
    if isinstance(value, list | tuple):
        return [_compared(part) for part in value]
    read = _read_number(value)
    return float(read) if _is_number(read) else ("a value", read) if isinstance(read, bool) else read
