"""Going on from a checkpoint: only from one that the run wrote, and that holds what the run needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ambidex.common.escaping import sentence
from ambidex.common.files import Arrays
from ambidex.experiment.one_run import checkpoint, environment_state, record, snapshot
from ambidex.experiment.one_run.checkpoint import Checkpoint
from ambidex.experiment.one_run.metrics import COLUMNS
from ambidex.experiment.one_run.trust import policy_file
from ambidex.experiment.one_run.trust.identity import Identity

_MOMENTS = ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "square_avg", "grad_avg", "momentum_buffer")


def own_checkpoints(directory: Path, about: Mapping[str, Any]) -> list[str]:
    """The names that the record lists; of a run from before there was a list, all that are there."""
    names = about.get("checkpoints")
    if names is None:
        return [path.name for path in checkpoint.found(directory / "checkpoints")]
    return list(names)


def announce(directory: Path, names: list[str], iteration: int) -> list[str]:
    """List a checkpoint in the record before it is written, and refuse to write over one that is not listed.

    So a process that is killed at any moment leaves none behind that is not known to be the run's.
    """
    name = checkpoint.name_of(iteration)
    place = directory / "checkpoints" / name
    if name not in names and (place.exists() or place.is_symlink()):
        raise ValueError(f"{place} is in the way, and not of this run; move it elsewhere and resume")
    listed = [*(one for one in names if one != name), name]
    record.own(directory, listed)
    return listed


@contextmanager
def in_one_sentence(directory: Path, kept: Checkpoint, identity: Identity) -> Iterator[None]:
    """Refuse a checkpoint of another run, and say of one that cannot be restored what is wrong with it."""
    what = f"its checkpoint {checkpoint.name_of(kept.iteration)}"
    place = directory / "checkpoints" / checkpoint.name_of(kept.iteration)
    try:
        stored = kept.state.get("run")
        if stored is not None:
            identity.require(directory, stored, what)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{place} does not say of which run it is; it was changed") from None
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{place} lacks {error}, which this version restores a run from") from None
    except (ValueError, TypeError, IndexError, AttributeError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{place} does not hold the state of this run: {sentence(error)}") from None


def require_fitting(model: Any, evaluation_env: Any, kept: Checkpoint) -> None:
    """Refuse what would be taken without complaint and break the run later."""
    policy_file.require_fitting(Path("policy"), kept.arrays["policy"], model.policy.state_dict())
    for name, optimizer in snapshot.optimizers(model).items():
        _require_optimizer(name, optimizer, kept.arrays[name])
    for name, environment in {"environment": model.env, "evaluation_environment": evaluation_env}.items():
        if name in kept.arrays:
            _require_environment(name, environment_state.capture(environment), kept.arrays[name])
    counters = kept.state["counters"]
    if not isinstance(counters["num_timesteps"], int) or counters["num_timesteps"] < 0:
        raise ValueError("num_timesteps is not a number of steps")
    best = kept.state["best"]
    if best is not None and not (isinstance(best, int | float) and math.isfinite(best)):
        raise ValueError("best is not a return")
    lengths = kept.state["csv_bytes"]
    for name in COLUMNS:
        if not isinstance(lengths[name], int) or lengths[name] < 0:
            raise ValueError(f"csv_bytes of {name} is not a length")


def _require_optimizer(which: str, optimizer: Any, arrays: Arrays) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for key, array in arrays.items():
        index, _, name = key.partition(".")
        shape = tuple(parameters[int(index)].shape)
        if array.shape not in (shape, ()):
            raise ValueError(f"{which} {key!r} has the shape {array.shape}, its parameter {shape}")
        if name not in _MOMENTS:
            raise ValueError(f"{which} {key!r} is of no optimizer that is used here")


def _require_environment(name: str, fresh: Arrays, stored: Arrays) -> None:
    """The arrays of an environment have the shapes that it has now, save lists and texts, which grow."""
    missing = [key for key in fresh if key not in stored]
    if missing:
        raise KeyError(f"{name} {missing[0]}")
    for key, array in fresh.items():
        own = stored[key]
        grows = own.ndim == 1 and array.ndim == 1
        if own.dtype != array.dtype or (own.shape != array.shape and not grows):
            raise ValueError(
                f"{name} {key!r} holds {own.dtype} of shape {own.shape}, "
                f"the environment's are {array.dtype} of shape {array.shape}"
            )
