"""One run in its directory: started, resumed, or brought to its end from wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from ambidex import symmetry
from ambidex.common.files import write_bytes
from ambidex.common.reading import read_bytes
from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.foreign import names_code, refuse_foreign_code
from ambidex.experiment.one_run import checkpoint, record
from ambidex.experiment.one_run.progress import Reporter, Silent
from ambidex.experiment.one_run.training import Training
from ambidex.experiment.one_run.trust import owned
from ambidex.experiment.one_run.trust.identity import COPIES, Identity, verify
from ambidex.experiment.one_run.trust.locking import lock
from ambidex.learn.spaces import DoesNotFit
from ambidex.symmetry.files.descriptions import description_text


class RunFailed(Exception):
    """A run that cannot go on; its directory holds why, and the last good checkpoint."""


def train(config: RunConfig, directory: Path, *, reporter: Reporter | None = None) -> None:
    """Run a configuration from its start, in a directory that is empty or does not exist yet.

    :param reporter: told where the run stands
    """
    owned.require_empty(directory)
    source = build.symmetry_source(config)
    group = None if source is None else symmetry.load(source)
    try:
        training = _prepare(config, group, reporter)
    except DoesNotFit as error:
        env = config.environment_id
        raise ValueError(
            f"{source} does not describe {env}: {error}; `ambidex lint {source} --env {env}` says more"
        ) from None
    directory.mkdir(parents=True, exist_ok=True)
    with lock(directory):
        owned.require_empty(directory)
        copies = _copies(config, group)
        record.create(directory, config, Identity.of(config.model_dump(mode="json"), copies))
        _write_copies(directory, copies)
        _run(training, directory)


def resume(
    directory: Path, *, steps: int | None = None, reporter: Reporter | None = None, trust: bool = False
) -> None:
    """Continue a run to its end, to the bit as if it had never stopped; a run that is done stays as it is.

    :param steps: training steps in all, to the bit as if the run had been started with them; None: as started
    :param reporter: told where the run stands
    :param trust: that the run's environment may be code of a module that its `run.json` names
    """
    if _is_done(directory, steps):
        return
    with lock(directory):
        if _is_done(directory, steps):
            return
        _refuse_collapsed(directory)
        owned.require_own_files(directory)
        owned.clear_leftovers(directory)
        _complete(directory)
        verify(directory, record.read(directory))
        _require_checkpoint(directory)
        config = record.read_own_config(directory, steps=steps)
        refuse_foreign_code(config, f"{directory}/run.json", trust=trust)
        _run(_prepare(config, record.read_group(directory), reporter), directory, is_resumed=True)


def _is_done(directory: Path, steps: int | None) -> bool:
    return record.read(directory)["status"] == "done" and steps in (None, record.read_config(directory).steps)


def _refuse_collapsed(directory: Path) -> None:
    about = record.read(directory)
    if about["status"] == "collapsed":
        raise ValueError(
            f"{directory} has collapsed: {about.get('message')}; train it again with another seed or other "
            "settings (stop_collapsed=false trains on regardless)"
        )


def _copies(config: RunConfig, group: symmetry.SymmetryGroup | None) -> dict[str, bytes | None]:
    """What a run keeps of the files that it is made of."""
    scenario = config.scenario_file
    return {
        "symmetry": None if group is None else description_text(group).encode(),
        "scenario": None if scenario is None else read_bytes(scenario),
    }


def _write_copies(directory: Path, copies: Mapping[str, bytes | None]) -> None:
    for name, content in copies.items():
        if content is not None:
            write_bytes(directory / COPIES[name], content)


def _complete(directory: Path) -> None:
    """Write the copies of a run that ended between its record and them, from what it was started with."""
    about = record.read(directory)
    hashes = about.get("hashes")
    if hashes is None or about["checkpoints"] or about["steps"]:
        return
    if any(hashes[name] and not (directory / file).exists() for name, file in COPIES.items()):
        config = record.read_config(directory)
        source = build.symmetry_source(config)
        _write_copies(directory, _copies(config, None if source is None else symmetry.load(source)))


def train_or_resume(config: RunConfig, directory: Path, *, reporter: Reporter | None = None) -> None:
    """Bring a run to its end from wherever it stands; refuses a directory that holds another run.

    A run that differs only in its steps is extended.
    """
    if not (directory / "run.json").exists():
        return train(config, directory, reporter=reporter)
    record.require_same_run(directory, config)
    return resume(directory, steps=config.steps, reporter=reporter, trust=True)  # it is the caller's own


def how_to_go_on(directory: Path) -> str:
    """What to do about a run that was stopped."""
    if not (directory / "run.json").exists():
        return "nothing was written, so there is nothing to resume"
    if not _has_checkpoint(directory):
        return f"no checkpoint was written yet; `{_resume_command(directory)}` starts from the beginning"
    return f"`{_resume_command(directory)}` continues"


def _resume_command(directory: Path) -> str:
    trust = " --trust" if names_code(record.read_config(directory)) else ""
    return f"ambidex resume {directory}{trust}"


def _require_checkpoint(directory: Path) -> None:
    """What a run has logged is not wiped out by starting it again from nothing."""
    made = record.read(directory)["steps"]
    if made > 0 and not _has_checkpoint(directory):
        raise ValueError(
            f"{directory} has made {made:,} steps, but has no whole checkpoint to go on from; "
            "train the run again in another directory"
        )


def _has_checkpoint(directory: Path) -> bool:
    names = record.read(directory).get("checkpoints")
    return checkpoint.newest(directory / "checkpoints", lambda damage: None, names) is not None


def _prepare(config: RunConfig, group: symmetry.SymmetryGroup | None, reporter: Reporter | None) -> Training:
    torch.set_num_threads(1)
    return Training(config, group, reporter or Silent())


def _run(training: Training, directory: Path, *, is_resumed: bool = False) -> None:
    try:
        training.run(directory, is_resumed=is_resumed)
    except FloatingPointError as error:
        training.say("failed", str(error))
        last = "the last checkpoint is from" if _has_checkpoint(directory) else "no checkpoint was written"
        raise RunFailed(f"{directory}: {error}; {last} before it") from error
    except OSError as error:
        whole = (
            "the last checkpoint is whole" if _has_checkpoint(directory) else "no checkpoint was written yet"
        )
        raise OSError(
            f"{error.strerror or error} ({error.filename or directory}); "
            f"{whole}: mend the cause and `{_resume_command(directory)}`"
        ) from error
    finally:
        training.close()
