"""The one schema of `run.json`, `sweep.json` and `truth.json`, whichever verb reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ambidex.common.escaping import quoted
from ambidex.common.json import read_json

FORMAT = 1
MOST_STEPS = 10**15
_SHOWN = 3

Text = Annotated[str, StringConstraints(max_length=10_000)]
MethodName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=64)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Scalar = bool | int | float | Text | None
Plain = Scalar | list[Scalar] | dict[Text, Scalar | list[Scalar]]
CheckpointName = Annotated[str, StringConstraints(pattern=r"^[0-9]{6,12}$")]


def _not_zero(value: float) -> float:
    if value == 0:
        raise ValueError("a multiplier of 0 maps every action to none")
    return value


Multiplier = Annotated[float, AfterValidator(_not_zero)]


class _Checked(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class StoredConfig(_Checked):
    """What every verb may rely on; the values of a run that is built again are checked by its `RunConfig`.

    Further values are plain, so that runs of other versions can still be reported.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Plain]

    scenario: Text | None = None
    env: Text | None = None
    symmetry: Text | None = None
    algorithm: MethodName = "ppo"
    method: MethodName
    seed: int = Field(ge=0, lt=2**63)
    steps: int | None = Field(default=None, gt=0, le=MOST_STEPS)
    hyperparameters: dict[Text, Plain] = {}


class _Hashes(_Checked):
    config: Sha256
    symmetry: Sha256 | None
    scenario: Sha256 | None


class _Resumed(_Checked):
    time: Text
    steps: int = Field(ge=0, le=MOST_STEPS)
    versions: dict[Text, Text]
    commit: Text | None
    host: Text | None = None


class RunRecord(_Checked):
    """`run.json`; what another version wrote besides is not looked at."""

    model_config = ConfigDict(extra="ignore")

    format: Literal[1]
    status: Literal["running", "done", "failed", "collapsed"]
    config: StoredConfig
    steps: int = Field(ge=0, le=MOST_STEPS)
    iterations: int = Field(default=0, ge=0, le=MOST_STEPS)
    versions: dict[Text, Text] = {}
    commit: Text | None = None
    host: Text | None = None
    hardware: dict[Text, Scalar] = {}
    timings: dict[Text, Scalar] = {}
    command: Text = ""
    message: Text | None = None
    hashes: _Hashes | None = None
    checkpoints: list[CheckpointName] | None = Field(default=None, max_length=100)
    resumed: list[_Resumed] = []


class _Planned(_Checked):
    directory: Text
    config: StoredConfig


class Grid(_Checked):
    """`sweep.json`."""

    model_config = ConfigDict(extra="allow")

    runs: list[_Planned]


class _TrueMap(_Checked):
    multipliers: list[Multiplier]
    biases: list[float]


_Model = TypeVar("_Model", bound=BaseModel)


def read_record(path: Path) -> dict[str, Any]:
    """A checked `run.json`."""
    about = read_json(path)
    if not isinstance(about, dict):
        raise ValueError(f"{path} is not the record of a run")
    if about.get("format") != FORMAT:
        raise ValueError(
            f"{path} is of format {quoted(about.get('format'))}, this version reads format {FORMAT}"
        )
    for name, kind in {"config": dict, "status": str, "steps": int}.items():
        if not isinstance(about.get(name), kind):
            raise ValueError(f"{path} has no {name!r} as `ambidex train` writes it")
    config = about["config"]
    if not (config.get("scenario") or config.get("env")) or "method" not in config or "seed" not in config:
        raise ValueError(f"{path} does not name its scenario, method and seed")
    _check(path, RunRecord, about)
    return about


def read_grid(path: Path) -> dict[str, dict[str, Any]]:
    """The configurations in a checked `sweep.json` by their place, which lies within its directory."""
    content = read_json(path)
    _check(path, Grid, content)
    for entry in content["runs"]:
        place = PurePosixPath(entry["directory"])
        if place.is_absolute() or ".." in place.parts or "\x00" in entry["directory"]:
            raise ValueError(f"{path}: {quoted(entry['directory'])} lies outside of its directory")
    return {entry["directory"]: entry["config"] for entry in content["runs"]}


def read_truth(path: Path) -> dict[str, tuple[list[float], list[float]]]:
    """For each transform the true multipliers and biases in a checked `truth.json`, as many of either."""
    maps = read_json(path)
    wrong = f"{path} does not map transforms to their multipliers and biases"
    if not isinstance(maps, Mapping):
        raise ValueError(wrong)
    found = {}
    for name, map_ in maps.items():
        try:
            checked = _TrueMap.model_validate(map_)
        except ValidationError as error:
            raise ValueError(f"{wrong}: {_words(error)}") from None
        if len(checked.multipliers) != len(checked.biases):
            raise ValueError(f"{wrong}: {quoted(name)} has not as many biases as multipliers")
        found[str(name)] = (checked.multipliers, checked.biases)
    return found


def _check(path: Path, model: type[_Model], content: Any) -> _Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{path} is not as `ambidex` writes it: {_words(error)}") from None


def _words(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False)
    words = []
    for detail in details[:_SHOWN]:
        place = ".".join(quoted(part).strip("'") for part in detail["loc"][:6])
        words.append(f"{place}: {detail['msg']}, got {quoted(detail['input'])}")
    return "; ".join(words + ([f"{len(details) - _SHOWN} more"] if len(details) > _SHOWN else []))
