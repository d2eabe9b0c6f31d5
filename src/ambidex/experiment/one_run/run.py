"""One run in its directory: started, resumed, or brought to its end from wherever it stands."""

from __future__ import annotations

from pathlib import Path

import torch

from ambidex import symmetry
from ambidex.common.files import write_bytes
from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.one_run import checkpoint, record
from ambidex.experiment.one_run.progress import Reporter, Silent
from ambidex.experiment.one_run.training import Training


class RunFailed(Exception):
    """A run that cannot go on; its directory holds why, and the last good checkpoint."""


def train(config: RunConfig, directory: Path, *, reporter: Reporter | None = None) -> None:
    """Run a configuration from its start, in a directory that holds no run yet.

    :param reporter: told where the run stands
    """
    if (directory / "run.json").exists():
        raise ValueError(f"{directory} holds a run already; `ambidex resume {directory}` continues it")
    source = build.symmetry_source(config)
    group = None if source is None else symmetry.load(source)
    training = _prepare(config, group, reporter)
    directory.mkdir(parents=True, exist_ok=True)
    with record.lock(directory):
        if group is not None:
            symmetry.save(group, directory / "symmetry.yaml")
        if config.scenario_file is not None:
            write_bytes(directory / record.SCENARIO_COPY, config.scenario_file.read_bytes())
        record.create(directory, config)
        _run(training, directory)


def resume(directory: Path, *, steps: int | None = None, reporter: Reporter | None = None) -> None:
    """Continue a run to its end, to the bit as if it had never stopped; a run that is done stays as it is.

    :param steps: training steps in all, to the bit as if the run had been started with them; None: as started
    :param reporter: told where the run stands
    """
    there = record.read_config(directory)
    if record.read(directory)["status"] == "done" and steps in (None, there.steps):
        return
    description = directory / "symmetry.yaml"
    group = symmetry.load(description) if description.exists() else None
    with record.lock(directory):
        _require_checkpoint(directory)
        _run(_prepare(record.read_own_config(directory, steps=steps), group, reporter), directory)


def train_or_resume(config: RunConfig, directory: Path, *, reporter: Reporter | None = None) -> None:
    """Bring a run to its end from wherever it stands; refuses a directory that holds another run.

    A run that differs only in its steps is extended.
    """
    if not (directory / "run.json").exists():
        return train(config, directory, reporter=reporter)
    record.require_same_run(directory, config)
    return resume(directory, steps=config.steps, reporter=reporter)


def _require_checkpoint(directory: Path) -> None:
    """What a run has logged is not wiped out by starting it again from nothing."""
    made = record.read(directory)["steps"]
    if made > 0 and not _has_checkpoint(directory):
        raise ValueError(
            f"{directory} has made {made:,} steps, but has no whole checkpoint to go on from; "
            "train the run again in another directory"
        )


def _has_checkpoint(directory: Path) -> bool:
    return checkpoint.newest(directory / "checkpoints", lambda damage: None) is not None


def _prepare(config: RunConfig, group: symmetry.SymmetryGroup | None, reporter: Reporter | None) -> Training:
    torch.set_num_threads(1)
    return Training(config, group, reporter or Silent())


def _run(training: Training, directory: Path) -> None:
    try:
        training.run(directory)
    except FloatingPointError as error:
        training.say("failed", str(error))
        last = "the last checkpoint is from" if _has_checkpoint(directory) else "no checkpoint was written"
        raise RunFailed(f"{directory}: {error}; {last} before it") from error
    except OSError as error:
        raise OSError(
            f"{error.strerror or error} ({error.filename or directory}); "
            f"the last checkpoint is whole: mend the cause and `ambidex resume {directory}`"
        ) from error
    finally:
        training.close()
