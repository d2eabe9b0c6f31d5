"""The training loop: roll out, update, log, evaluate, write checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from stable_baselines3.common.logger import Logger

from ambidex.common.files import write_json
from ambidex.experiment.configure import build
from ambidex.experiment.configure.algorithms import ALGORITHMS
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.methods import METHODS
from ambidex.experiment.configure.normalization import normalizing
from ambidex.experiment.configure.stepping import cpu_seconds_elsewhere
from ambidex.experiment.one_run import checkpoint, environment_state, record, snapshot
from ambidex.experiment.one_run.checkpoint import Checkpoint
from ambidex.experiment.one_run.collapse import (
    ITERATIONS,
    LEAST_ITERATIONS,
    Row,
    collapsed,
    read_rows,
)
from ambidex.experiment.one_run.episodes import mean_return, run_episodes
from ambidex.experiment.one_run.metrics import COLUMNS, MetricFiles
from ambidex.experiment.one_run.progress import Reporter
from ambidex.experiment.one_run.trust import policy_file, restoring
from ambidex.experiment.one_run.trust.identity import Identity
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.update.fast.rollout import mean_actions
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn.algorithm import SymmetricAlgorithm

LOGGED = {
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "symmetry_policy_loss": "symmetry/policy_loss",
    "symmetry_value_loss": "symmetry/value_loss",
    "approx_kl": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
    "std": "train/std",
}
"""The columns of `progress.csv` by the names under which PPO logs them."""

LOSSES = (
    "policy_gradient_loss",
    "policy_loss",
    "policy_objective",
    "actor_loss",
    "value_loss",
    "critic_loss",
    "loss",
)


def _refuse_broken_losses(values: dict[str, float]) -> None:
    """Stop a run whose losses broke; a symmetry loss stops by itself, Stable-Baselines3's own does not."""
    for name in LOSSES:
        if not math.isfinite(value := values.get(f"train/{name}", 0.0)):
            raise FloatingPointError(f"{name} became {value}")


@torch.no_grad()
def _refuse_broken_policy(model: SymmetricAlgorithm) -> None:
    """Stop a run whose policy no longer answers with numbers, before a checkpoint keeps it."""
    states, _ = model.policy.obs_to_tensor(model._last_obs)  # type: ignore[arg-type]
    try:
        answers = model.policy(states, deterministic=True)
        answers = (answers,) if isinstance(answers, torch.Tensor) else answers
    except ValueError:  # torch refuses a distribution that is none
        answers = ()
    if not answers or not all(answer.isfinite().all() for answer in answers):
        raise FloatingPointError("the policy answers with nan or infinity after an update")


class Training:
    """The objects of one run.

    :param config: what is run
    :param group: the symmetries of the robot, None for a plain method on a robot without a description
    :param reporter: told where the run stands
    """

    def __init__(self, config: RunConfig, group: SymmetryGroup | None, reporter: Reporter) -> None:
        self.config = config
        self.group = group
        self.reporter = reporter
        self.iteration = 0
        self.best: float | None = None
        self.measured: list[Metric] = []
        self.rows: list[Row] = []
        self._cpu_seconds = -time.process_time()
        self._cpu_seconds_elsewhere = 0.0
        self.seconds = dict.fromkeys(COLUMNS["timings.csv"][1:], 0.0)
        self.env = build.training_environment(config, group)
        self.evaluation_env = build.evaluation_environment(config, group)
        self.model = build.build_model(config, self.env, group)
        self.model.set_logger(Logger(folder=None, output_formats=[]))
        self.evaluation_env.reset(seed=config.seed + build.EVALUATION_SEED_OFFSET)
        _, callback = self.model._setup_learn(config.steps)
        algorithm = ALGORITHMS.get(config.algorithm)
        self.loop = algorithm.loop()(self.model, self.env, callback, config.steps)
        self.logged = {**LOGGED, **algorithm.logged}
        starts = config.hyperparameters.learning_starts
        if "learning_starts" in algorithm.hyperparameters and config.steps <= starts:
            reporter.warn(f"learns nothing: {config.steps:,} steps end before learning_starts, {starts:,}")
        culprit = environment_state.inexact(self.env) or environment_state.inexact(self.evaluation_env)
        if culprit is not None:
            reporter.warn(
                f"{culprit} has no get_state that gives arrays by name, and set_state that takes them: a "
                "resumed run starts a new episode and is not equal to an uninterrupted one"
            )

    @property
    def steps(self) -> int:
        return self.model.num_timesteps

    @property
    def cpu_seconds(self) -> float:
        """The time of the processor that the run has taken, before it was resumed too."""
        return self._cpu_seconds + time.process_time() + self._cpu_seconds_elsewhere

    def run(self, directory: Path, *, is_resumed: bool = False) -> None:
        """From the last checkpoint in ``directory``, or from the start, to the end.

        Nothing is written before all that is needed to go on is there.

        :param is_resumed: that another process trained it before, which its record is to remember
        """
        self.directory = directory
        about = record.read(directory)
        self.identity = Identity.found(directory, about)
        self.checkpoints: list[str] = restoring.own_checkpoints(directory, about)
        self.metrics = self._restore()
        try:
            if is_resumed:
                for change in record.note_resume(directory):
                    self.reporter.warn(f"goes on with {change}: equal to the bit is not promised")
            self.say("running")
            self._write_truth()
            last_checkpoint = time.monotonic()
            collapse = self._collapse()
            while self.steps < self.config.steps and collapse is None:
                self._iterate()
                if self.steps < self.config.steps:
                    self._report()
                collapse = self._collapse()
                is_last = self.steps >= self.config.steps or collapse is not None
                if is_last or time.monotonic() - last_checkpoint >= self.config.checkpoint_seconds:
                    self._timed("logging", self._checkpoint)
                    last_checkpoint = time.monotonic()
            if self.best is None:
                self._evaluate()  # not in the checkpoint: a run that is extended would not have had it
            self._report()
            if self.iteration < self.config.metrics_every:
                self._record_symmetry()  # likewise
            self._write_policy("last")
            self._write_truth()
            self.say("done" if collapse is None else "collapsed", collapse)
        finally:
            self.metrics.close()

    def say(self, status: record.Status, message: str | None = None) -> None:
        """Bring `run.json` up to date."""
        record.update(
            self.directory,
            status=status,
            steps=self.steps,
            total=self.config.steps,
            iterations=self.iteration,
            checkpoints=self.checkpoints,
            cpu_seconds=self.cpu_seconds,
            message=message,
        )

    def close(self) -> None:
        self.evaluation_env.close()
        self.env.close()

    def _collapse(self) -> str | None:
        if not self.config.stop_collapsed:
            return None
        floor = getattr(self.model, "std_floor", None) or 0.0
        iterations = max(LEAST_ITERATIONS, self.config.scaled_iterations(ITERATIONS))
        return collapsed(self.rows, floor, iterations)

    def _iterate(self) -> None:
        try:
            self.loop.iterate(self.config.rounds, self._timed, self._measure)
        except ValueError:  # from torch, if the minibatch before broke the policy
            _refuse_broken_policy(self.model)
            raise
        self.iteration += 1
        self._cpu_seconds_elsewhere = cpu_seconds_elsewhere(self.env)
        self._timed("logging", self._log)
        if self.iteration % self.config.evaluation_every == 0:
            self._timed("evaluation", self._evaluate)
        self.metrics.add("timings.csv", [[self.iteration, *(round(s, 6) for s in self.seconds.values())]])
        self.seconds = dict.fromkeys(self.seconds, 0.0)

    def _timed(self, part: str, work: Callable[[], None]) -> None:
        start = time.perf_counter()
        work()
        fit_seconds = self.model.logger.name_to_value.pop("time/fit", 0.0) if part == "update" else 0.0
        self.seconds[part] += time.perf_counter() - start - fit_seconds
        self.seconds["fit"] += fit_seconds

    def _measure(self) -> None:
        """A symmetry loss measures its own; without one it is done here, before the update.

        The images of a canonical state are states that its policy never sees, and their values mean nothing.
        """
        is_due = (self.iteration + 1) % self.config.metrics_every == 0
        self.measured = []
        is_canonical = METHODS.get(self.config.method).wrap is not None
        if is_due and self.model.loss is None and self.group is not None and not is_canonical:
            self.measured = self.loop.value_distances(self.group)

    def _log(self) -> None:
        values = {name: float(value) for name, value in self.model.logger.name_to_value.items()}
        self.model.logger.dump(self.steps)
        _refuse_broken_losses(values)
        _refuse_broken_policy(self.model)
        episodes = self.model.ep_info_buffer
        assert episodes is not None
        episode_return = float(np.mean([float(e["r"]) for e in episodes])) if episodes else None
        length = float(np.mean([float(e["l"]) for e in episodes])) if episodes else None
        logged = [values.get(name) for name in self.logged.values()]
        self.metrics.add("progress.csv", [[self.iteration, self.steps, episode_return, length, *logged]])
        self.rows.append((episode_return, length, values.get(self.logged["std"])))
        if episode_return is not None and length is not None:
            values |= {"rollout/ep_rew_mean": episode_return, "rollout/ep_len_mean": length}
        self.metrics.add_scalars(self.steps, values)
        if self.iteration % self.config.metrics_every == 0:
            self._record_symmetry()

    def _report(self) -> None:
        episode_return = self.rows[-1][0] if self.rows else None
        self.reporter.update(steps=self.steps, episode_return=episode_return, best=self.best)

    def _record_symmetry(self) -> None:
        measured = self.measured + self.model.symmetry_metrics()
        self.metrics.add("symmetry.csv", [(self.iteration, self.steps, *entry) for entry in measured])
        scalars = {"/".join(["symmetry", *filter(None, names)]): value for *names, value in self.measured}
        self.metrics.add_scalars(self.steps, scalars)

    def _evaluate(self) -> None:
        build.set_age(self.evaluation_env, self.config, self.steps)
        act = normalizing(mean_actions(self.model.policy), self.env)
        episodes = run_episodes(act, self.evaluation_env, self.config.evaluation_episodes)
        rows = [
            (self.iteration, self.steps, number, episode.goal, episode.total, episode.length)
            for number, episode in enumerate(episodes)
        ]
        self.metrics.add("evaluations.csv", rows)
        mean = mean_return(episodes)
        self.metrics.add_scalars(self.steps, {"evaluation/mean_return": mean})
        if self.best is None or mean > self.best:
            self.best = mean
            self._write_policy("best")

    def _checkpoint(self) -> None:
        arrays, state = snapshot.capture(self.model)
        if environment_state.inexact(self.evaluation_env) is None:
            arrays["evaluation_environment"] = environment_state.capture(self.evaluation_env)
        state |= {"best": self.best, "csv_bytes": self.metrics.settle(), "csv_sha256": self.metrics.hashes()}
        state["run"] = self.identity.as_state()
        if loop := self.loop.keep(self.directory):
            state["loop"] = loop
        folder = self.directory / "checkpoints"
        self.checkpoints = restoring.announce(self.directory, self.checkpoints, self.iteration)
        checkpoint.write(folder, Checkpoint(self.iteration, arrays, state))
        self.checkpoints = checkpoint.prune(folder, self.checkpoints)
        self._write_policy("last")
        self.say("running")

    def _restore(self) -> MetricFiles:
        kept = checkpoint.newest(self.directory / "checkpoints", self.reporter.warn, self.checkpoints)
        if kept is None:
            self.loop.begin(self.directory)
            return MetricFiles(self.directory)
        with restoring.in_one_sentence(self.directory, kept, self.identity):
            restoring.require_fitting(self.model, self.evaluation_env, kept)
            snapshot.restore(self.model, dict(kept.arrays), dict(kept.state))
            if "evaluation_environment" in kept.arrays:
                environment_state.restore(self.evaluation_env, kept.arrays["evaluation_environment"])
            self.loop.recall(self.directory, kept.state.get("loop", {}))
            self.iteration = kept.iteration
            self.best = kept.state["best"]
            lengths, hashes = kept.state["csv_bytes"], kept.state.get("csv_sha256")
        self._cpu_seconds += record.read(self.directory).get("timings", {}).get("cpu") or 0.0
        metrics = MetricFiles(self.directory, lengths=lengths, steps=self.steps, hashes=hashes)
        self.rows = read_rows(self.directory)
        return metrics

    def _write_policy(self, which: str) -> None:
        policy_file.write(self.directory, which, snapshot.policy_file(self.model), self.identity)

    def _write_truth(self) -> None:
        """The true action maps of the robot at its present age, where it knows its own imperfection."""
        if not self.env.has_attr("true_action_maps"):
            return
        truth = self.env.get_attr("true_action_maps")[0]()
        if truth is not None:
            maps = {
                name: {"multipliers": list(map(float, multipliers)), "biases": list(map(float, biases))}
                for name, (multipliers, biases) in truth.items()
            }
            write_json(self.directory / "truth.json", maps)
