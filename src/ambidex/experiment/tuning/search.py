"""The search: trials are proposed by Optuna, run by the sweep engine, and halved on their evaluations.

A directory holds all of it: `tune.json` says what is searched for, `study.db` (SQLite) what was tried,
``trial-0000/`` the runs, `best.yaml` the best so far. The same command goes on wherever the last one ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from ambidex.common.files import write_bytes, write_json
from ambidex.common.json import read_json
from ambidex.common.words import listed
from ambidex.experiment.configure.config import merge
from ambidex.experiment.configure.foreign import names_code
from ambidex.experiment.many_runs.sweep import Engine, Outcome, PlannedRun, runs_at_once, sweep
from ambidex.experiment.one_run import record
from ambidex.experiment.one_run.run import RunFailed
from ambidex.experiment.one_run.trust.locking import lock
from ambidex.experiment.tuning.space import Space, as_data, parse_space, stored_of, values_of
from ambidex.experiment.tuning.task import Task

if TYPE_CHECKING:
    import optuna

FORMAT = 4
REDUCTION = 3
RUNGS = (1, REDUCTION, REDUCTION**2)
"""A trial is compared at a ninth and at a third of the budget; the better third goes on."""
_STUDY = "ambidex"


@dataclass(frozen=True)
class Progress:
    """Where a trial stands: after ``steps``, ``score`` (None: it failed, for this reason), how it goes on."""

    trial: int
    steps: int
    score: float | None
    state: str
    reason: str = ""


def search(
    task: Task,
    space: Space,
    out: Path,
    *,
    trials: int,
    seed: int = 0,
    engine: Engine = "local",
    jobs: int | None = None,
    listener: Callable[[Progress], None] = lambda progress: None,
    after_batch: Callable[[], object] = lambda: None,
) -> optuna.Study:
    """Try ``trials`` settings in all, those of earlier calls in the same directory included.

    The first is the preset itself, if the space holds it. What is proposed depends on ``seed`` and on the
    results before it, not on how often the search was interrupted.

    :param out: the directory of the search; one that holds another search is refused
    :param jobs: runs at once, one per core by default; as many trials are proposed together as fill them
    :param listener: told of each trial at each rung
    :param after_batch: called when trials have ended and `best.yaml` is written
    """
    _optuna()  # refused before anything is written
    task.check(space)
    if (out / "run.json").exists():
        raise ValueError(f"{out} holds a run; choose another directory for the search")
    if "?" in str(out):
        raise ValueError(f"{out}: the study of a search cannot be kept in a path with a '?'; choose another")
    with runs_at_once(engine, jobs) as together, _locked(out):
        _require_same_search(out, task, space)
        at_once = max(1, together // len(task.configs({}, task.budget)))
        searching = _Search(task, space, out, open_study(out, create=True), engine, jobs, listener)
        with _storage_in_words(out):
            searching.enqueue_preset()
            while batch := searching.next_batch(trials, at_once, seed):
                searching.halve(batch)
                write_best(searching.study, task, space, out)
                after_batch()
            write_best(searching.study, task, space, out)  # an earlier call may have ended before it did
    return searching.study


def open_study(out: Path, *, create: bool = False) -> optuna.Study:
    """The study of a search directory."""
    library = _optuna()
    path = out / "study.db"
    if not create and not path.exists():
        raise ValueError(f"{out} holds no search; `ambidex tune` writes one")
    from sqlalchemy.exc import OperationalError, SQLAlchemyError

    try:
        study: optuna.Study = library.create_study(
            storage=f"sqlite:///{path}",
            study_name=_STUDY,
            direction="maximize",
            load_if_exists=True,
        )
    except OperationalError as error:  # locked, no room, not readable: the file may well be whole
        raise ValueError(f"{path}: {error.orig}; mend the cause and give the same command again") from None
    except SQLAlchemyError:
        raise ValueError(f"{path} is damaged; choose another directory and search anew") from None
    except RuntimeError:  # Optuna's, of the tables of another of its versions
        raise ValueError(
            f"{path} was written by another version of Optuna; install that one, or choose another directory"
        ) from None
    return study


def read_search(out: Path) -> tuple[Task, Space]:
    """What is searched for in a directory."""
    about = _read(out)
    if about is None:
        raise ValueError(f"{out} holds no search; `ambidex tune` writes one")
    fields = about["task"] | {"scenarios": tuple(about["task"]["scenarios"])}
    return Task(**fields), parse_space(about["space"], str(out / "tune.json"))


def steps_of(rung: int, budget: int) -> int:
    """The training steps of a rung."""
    return max(1, budget * RUNGS[rung] // RUNGS[-1])


def goes_on(score: float, scores: Sequence[float]) -> bool:
    """Whether it is in the better third of ``scores``, of which it is one; of few, whether it is the best."""
    return score >= sorted(scores, reverse=True)[max(len(scores) // REDUCTION, 1) - 1]


def write_best(study: optuna.Study, task: Task, space: Space, out: Path) -> None:
    """`best.yaml`, for ``--config``; nothing as long as no trial has had the whole budget."""
    whole = study.get_trials(deepcopy=False, states=[_optuna().trial.TrialState.COMPLETE])
    if not whole:
        return
    best = study.best_trial
    values = merge({}, task.overrides)
    values["method"] = task.method
    values["hyperparameters"] |= values_of(best.params, space)
    said = (
        f"# Trial {best.number} of {len(study.trials)} of `ambidex tune` on {listed(task.robots)}: "
        f"{best.value:.4g} after {task.budget:,} steps.\n"
    )
    if names_code(task.configs({}, task.budget)[0]):
        said += "# It names a Python module, which `ambidex train --config` runs with --trust only.\n"
    text = said + yaml.safe_dump(values, sort_keys=False, default_flow_style=None)
    write_bytes(out / "best.yaml", text.encode())


@dataclass(frozen=True)
class _Search:
    """A search that is under way."""

    task: Task
    space: Space
    out: Path
    study: optuna.Study
    engine: Engine
    jobs: int | None
    listener: Callable[[Progress], None]

    @property
    def states(self) -> Any:
        return _optuna().trial.TrialState

    def enqueue_preset(self) -> None:
        """Let the first trial be what would be trained without a search."""
        if self.study.trials:
            return
        stored = [
            stored_of(one.hyperparameters, self.space) for one in self.task.configs({}, self.task.budget)
        ]
        if stored[0] is not None and all(one == stored[0] for one in stored):
            self.study.enqueue_trial(stored[0])

    def next_batch(self, trials: int, at_once: int, seed: int) -> list[optuna.Trial]:
        """Trials that an earlier call left unfinished, and new ones until ``at_once`` of them are a batch.

        All of them have their values.
        """
        library = _optuna()
        unfinished = self.study.get_trials(deepcopy=False, states=[self.states.RUNNING])
        waiting = self.study.get_trials(deepcopy=False, states=[self.states.WAITING])
        proposed = len(self.study.get_trials(deepcopy=False)) - len(waiting)
        batch = []
        for frozen in unfinished:
            self.study.sampler = _sampler(seed, frozen.number)
            batch.append(library.trial.Trial(self.study, frozen._trial_id))
        while proposed < trials and (not batch or proposed % at_once):
            self.study.sampler = _sampler(seed, proposed)
            batch.append(self.study.ask())
            proposed += 1
        for trial in batch:
            for place, (name, part) in enumerate(sorted(self.space.items()), start=1):
                self.study.sampler = _sampler(seed, trial.number, place)
                part.suggest(trial, name)  # one that it has already stays
        return batch

    def halve(self, batch: Sequence[optuna.Trial]) -> None:
        """Bring every trial to its end, rung by rung; the runs of those that go on are extended."""
        for rung in range(len(RUNGS)):
            if here := [trial for trial in batch if self._rung(trial) == rung]:
                self._train(here, rung)
            for trial in batch:  # those too whose scores an earlier call stored before it was killed
                if self._rung(trial) == rung + 1:
                    self._judge(trial, rung)

    def _train(self, trials: Sequence[optuna.Trial], rung: int) -> None:
        runs = {}
        for trial in trials:
            try:
                self.task.build(values_of(trial.params, self.space))
            except ValueError as error:
                self.task.build({})  # where this fails too, it is no fault of the setting
                self._fail(trial, rung, str(error))
            else:
                runs[trial.number] = self._runs(trial, rung)
        outcomes = sweep(
            [run for own in runs.values() for run in own], self.out, engine=self.engine, jobs=self.jobs
        )
        failed = _failures(outcomes)
        for trial in trials:
            own = runs.get(trial.number, [])
            reasons = [failed[run.directory] for run in own if run.directory in failed]
            if reasons:
                self._fail(trial, rung, reasons[0])
            elif own:
                returns = self.task.returns(own)
                trial.set_user_attr("returns", returns)
                trial.report(self.task.score(returns), step=RUNGS[rung])

    def _judge(self, trial: optuna.Trial, rung: int) -> None:
        step = RUNGS[rung]
        values = {one.number: one.intermediate_values for one in self.study.get_trials(deepcopy=False)}
        score = values[trial.number][step]
        if rung + 1 == len(RUNGS):
            self.study.tell(trial, score)
            self._say(trial, rung, score, "done")
        elif goes_on(score, [own[step] for own in values.values() if step in own]):
            self._say(trial, rung, score, "goes on")
        else:
            self._end(trial, rung, score, "stopped")

    def _fail(self, trial: optuna.Trial, rung: int, reason: str) -> None:
        trial.set_user_attr("reason", reason)
        self._end(trial, rung, None, "failed", reason)

    def _end(self, trial: optuna.Trial, rung: int, score: float | None, state: str, reason: str = "") -> None:
        self.study.tell(trial, state=self.states.PRUNED)
        self._say(trial, rung, score, state, reason)

    def _say(self, trial: optuna.Trial, rung: int, score: float | None, state: str, reason: str = "") -> None:
        self.listener(Progress(trial.number, steps_of(rung, self.task.budget), score, state, reason))

    def _runs(self, trial: optuna.Trial, rung: int) -> list[PlannedRun]:
        values = values_of(trial.params, self.space)
        directory = self.out / f"trial-{trial.number:04d}"
        return self.task.runs(values, steps_of(rung, self.task.budget), directory)

    def _rung(self, trial: optuna.Trial) -> int | None:
        """The rung that a trial is on its way to; None where it has ended."""
        frozen = self.study.get_trials(deepcopy=False)[trial.number]
        return None if frozen.state.is_finished() else len(frozen.intermediate_values)


def _failures(outcomes: Sequence[Outcome]) -> dict[Path, str]:
    """Why runs failed by their own settings, by directory; what came from outside ends the search.

    Every trial could be built before, so a run that does not say itself that it failed was disturbed.
    """
    failed = {}
    for outcome in outcomes:
        if outcome.state != "failed":
            continue
        directory, message = outcome.run.directory, outcome.message or ""
        if not (directory / "run.json").exists() or record.read(directory)["status"] != "failed":
            raise RunFailed(f"{directory}: {message}; mend the cause and give the same command again")
        failed[directory] = message
    return failed


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    out.mkdir(parents=True, exist_ok=True)
    with lock(out):
        yield


def _require_same_search(out: Path, task: Task, space: Space) -> None:
    ours = {
        "format": FORMAT,
        "task": task.as_data(),
        "space": as_data(space),
        "given": task.given(space),  # presets change from version to version
    }
    ours = json.loads(json.dumps(ours))
    theirs = _read(out)
    if theirs is None:
        write_json(out / "tune.json", ours)
        return
    changed = [name for name in ours["task"] if ours["task"][name] != theirs["task"].get(name)]
    changed += ["space"] if ours["space"] != theirs["space"] else []
    if changed:
        raise ValueError(f"{out} holds a search with another {', '.join(changed)}; choose another directory")
    moved = {
        name
        for robot, now in ours["given"].items()
        for name, before in theirs["given"].get(robot, {}).items()
        if now.get(name, before) != before
    }
    if moved:
        raise ValueError(
            f"{out} holds a search that began with another {listed(sorted(moved))}: the preset, or the "
            "robot's description, has changed since; choose another directory"
        )


def _read(out: Path) -> Mapping[str, Any] | None:
    path = out / "tune.json"
    if not path.exists():
        return None
    about = read_json(path)
    if not isinstance(about, dict):
        raise ValueError(f"{path} is not the record of a search")
    if about.get("format") != FORMAT:
        raise ValueError(f"{path} is of format {about.get('format')!r}, this version reads format {FORMAT}")
    given = about.get("given")
    robots = list(given.values()) if isinstance(given, dict) else [given]
    if not all(isinstance(part, dict) for part in (about.get("task"), about.get("space"), *robots)):
        raise ValueError(f"{path} is not the record of a search")
    return about


def _sampler(seed: int, trial: int, place: int = 0) -> optuna.samplers.BaseSampler:
    """Of its own for each value of each trial, so that what it proposes does not depend on what this process
    did before.

    :param place: of the value in the space; 0 for those that are proposed together
    """
    (mixed,) = np.random.SeedSequence([seed, trial, place]).generate_state(1)
    sampler: optuna.samplers.BaseSampler = _optuna().samplers.TPESampler(seed=int(mixed))
    return sampler


@contextmanager
def _storage_in_words(out: Path) -> Iterator[None]:
    """Say why the study cannot be written, which is no fault of the search."""
    try:
        yield
    except _optuna().exceptions.StorageInternalError as error:
        reason = getattr(error.__cause__, "orig", error)
        raise RunFailed(
            f"{out / 'study.db'}: {reason}; mend the cause and give the same command again"
        ) from None


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ValueError("tune needs Optuna: pip install 'ambidex[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
