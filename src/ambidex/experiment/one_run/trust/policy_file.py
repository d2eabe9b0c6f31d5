"""Policy files: parameters with the hash of themselves and of the run that wrote them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common.files import Arrays, read_noted_arrays, write_arrays
from ambidex.experiment.one_run.trust.identity import Identity


def path_of(directory: Path, which: str) -> Path:
    return directory / f"policy-{which}.safetensors"


def write(directory: Path, which: str, arrays: Arrays, identity: Identity) -> None:
    """Write the best or the last policy of a run."""
    note = json.dumps({"sha256": _hash(arrays), **identity.hashes}, sort_keys=True)
    write_arrays(path_of(directory, which), arrays, note=note)


def read(directory: Path, which: str, about: Mapping[str, Any], identity: Identity) -> Arrays:
    """The parameters, refused if they are not those that this run wrote.

    A run from before there were hashes has none to hold them against.

    :param about: its `run.json`
    :param identity: what the directory holds now
    """
    path = path_of(directory, which)
    arrays, note = read_noted_arrays(path)
    try:
        noted = None if note is None else dict(json.loads(note))
    except (ValueError, TypeError):
        noted = None
    if noted is None:
        if about.get("hashes") is None:
            return arrays
        raise ValueError(f"{path} is not the file that the run wrote: its hash is missing")
    if noted.get("sha256") != _hash(arrays):
        raise ValueError(f"{path} is not what the run wrote: its parameters differ from their hash")
    identity.require_hashes(directory, noted, path.name)
    return arrays


def require_fitting(path: Path, arrays: Arrays, expected: Mapping[str, Any]) -> None:
    """Refuse parameters that are not those of this network, before torch does on many lines.

    :param expected: the network's own tensors by name
    """
    for name, tensor in expected.items():
        if name not in arrays:
            raise ValueError(f"{path} lacks {name!r}, which the run's configuration calls for")
        shape = tuple(tensor.shape)
        if arrays[name].shape != shape:
            raise ValueError(f"{path}: {name!r} has the shape {arrays[name].shape}, the network's is {shape}")
        if arrays[name].dtype != tensor.numpy(force=True).dtype:
            raise ValueError(f"{path}: {name!r} holds {arrays[name].dtype}, not {tensor.dtype}")
    foreign = [name for name in arrays if name not in expected]
    if foreign:
        raise ValueError(f"{path} holds {foreign[0]!r}, for which the run's network has no place")


def _hash(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(json.dumps([name, str(array.dtype), arrays[name].shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
