"""What makes a run this run and no other: its configuration, its symmetries, its scenario."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ambidex.common.escaping import quoted
from ambidex.common.reading import read_bytes
from ambidex.common.words import listed
from ambidex.experiment.one_run.progress import Silent

COPIES = {"symmetry": "symmetry.yaml", "scenario": "scenario.yaml"}
_FREE = ("steps", "checkpoint_seconds")  # what may be changed and leads to the same bits
_SHOWN = 4
_ABSENT = "not given"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Identity:
    """A run as its checkpoints and policies remember it.

    :param config: as `run.json` has it, save the steps and how often checkpoints are written
    :param hashes: the sha256 of the configuration and of the copies of its files, None for a file that it
        does not have
    """

    config: Mapping[str, Any]
    hashes: Mapping[str, str | None]

    @classmethod
    def of(cls, config: Mapping[str, Any], copies: Mapping[str, bytes | None]) -> Identity:
        """:param config: as `run.json` has it
        :param copies: the contents of the files by the keys of `COPIES`
        """
        settings = {name: value for name, value in config.items() if name not in _FREE}
        hashes: dict[str, str | None] = {"config": sha256(json.dumps(settings, sort_keys=True).encode())}
        for name in COPIES:
            content = copies.get(name)
            hashes[name] = None if content is None else sha256(content)
        return cls(settings, hashes)

    @classmethod
    def found(cls, directory: Path, about: Mapping[str, Any]) -> Identity:
        """What a directory holds now.

        :param about: its `run.json`
        """
        paths = {name: directory / file for name, file in COPIES.items()}
        copies = {name: read_bytes(path) if path.is_file() else None for name, path in paths.items()}
        return cls.of(about["config"], copies)

    def as_state(self) -> dict[str, Any]:
        """For a checkpoint, which can say what was changed and not only that something was."""
        return {"config": dict(self.config), "hashes": dict(self.hashes)}

    def require(self, directory: Path, stored: Mapping[str, Any], what: str) -> None:
        """Refuse to go on from what another run wrote.

        :param stored: what `as_state` gave
        :param what: where it stands, for the error
        """
        changed = differences(self.config, stored["config"])
        if changed:
            raise ValueError(
                f"{directory}/run.json is not the run that wrote {what}: {listed(changed)}; "
                "put the old values back, or train another run in another directory"
            )
        self.require_hashes(directory, stored["hashes"], what)

    def require_hashes(self, directory: Path, hashes: Mapping[str, Any], what: str) -> None:
        """The same where only the hashes are known."""
        for name, file in COPIES.items():
            if self.hashes[name] == hashes.get(name):
                continue
            how = "is missing" if self.hashes[name] is None else "was changed"
            if hashes.get(name) is None:
                how = "was added"
            raise ValueError(f"{directory / file} {how} since {what} was written; put the old one back")
        if self.hashes["config"] != hashes.get("config"):
            raise ValueError(
                f"the configuration in {directory}/run.json was changed since {what} was written; "
                "put the old values back"
            )


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """What two configurations do not share, in words; the hyperparameters by their own names."""
    now, then = _flat(ours), _flat(theirs)
    names = [name for name in {**then, **now} if now.get(name, _ABSENT) != then.get(name, _ABSENT)]
    words = [
        f"{quoted(name)[1:-1]} is {quoted(now.get(name, _ABSENT))}, it was {quoted(then.get(name, _ABSENT))}"
        for name in names[:_SHOWN]
    ]
    return words + ([f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    nested = config.get("hyperparameters")
    flat = {name: value for name, value in config.items() if name not in ("hyperparameters", *_FREE)}
    return flat | (dict(nested) if isinstance(nested, Mapping) else {})


def verify(directory: Path, about: Mapping[str, Any]) -> Identity:
    """Refuse a directory whose configuration or description is not what the run started with.

    One that was written before there were hashes is said to be unverified.
    """
    found = Identity.found(directory, about)
    hashes = about.get("hashes")
    if hashes is None:
        _say_unverified(directory)
    else:
        found.require_hashes(directory, hashes, "the run")
    return found


@cache
def _say_unverified(directory: Path) -> None:
    Silent().warn(f"{directory} was written without hashes, so that its files cannot be verified")
