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

from ambidex.common.files import write_arrays, write_json
from ambidex.experiment.configure import build
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.methods import METHODS
from ambidex.experiment.one_run import checkpoint, environment_state, record, snapshot
from ambidex.experiment.one_run.checkpoint import Checkpoint
from ambidex.experiment.one_run.metrics import COLUMNS, MetricFiles
from ambidex.experiment.one_run.ppo_symmetry import value_distances
from ambidex.experiment.one_run.progress import Reporter
from ambidex.experiment.trained.evaluate import mean_return, run_episodes
from ambidex.learn.fits.protocol import Metric
from ambidex.learn.update.fast.rollout import mean_actions
from ambidex.symmetry import SymmetryGroup

if TYPE_CHECKING:
    from ambidex.learn import SymmetricPPO

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


def _refuse_broken_losses(values: dict[str, float]) -> None:
    """Stop a run whose losses broke; a symmetry loss stops by itself, Stable-Baselines3's PPO does not."""
    for name in ("train/policy_gradient_loss", "train/value_loss", "train/loss"):
        if not math.isfinite(values.get(name, 0.0)):
            raise FloatingPointError(f"{name.removeprefix('train/')} became {values[name]}")


@torch.no_grad()
def _refuse_broken_policy(model: SymmetricPPO) -> None:
    """Stop a run whose policy no longer answers with numbers, before a checkpoint keeps it."""
    states, _ = model.policy.obs_to_tensor(model._last_obs)  # type: ignore[arg-type]
    try:
        answers = model.policy(states, deterministic=True)
    except ValueError:  # torch refuses a distribution that is none
        answers = ()
    if not answers or not all(answer.isfinite().all() for answer in answers):
        raise FloatingPointError("the policy answers with nan or infinity after an update")


class Training:
    """The objects of one run.

    :param config: what is run
    :param group: the symmetries of the robot, None for plain PPO on a robot without a description
    :param reporter: told where the run stands
    """

    def __init__(self, config: RunConfig, group: SymmetryGroup | None, reporter: Reporter) -> None:
        self.config = config
        self.group = group
        self.reporter = reporter
        self.iteration = 0
        self.best: float | None = None
        self.measured: list[Metric] = []
        self.seconds = dict.fromkeys(COLUMNS["timings.csv"][1:], 0.0)
        self.env = build.training_environment(config, group)
        self.evaluation_env = build.evaluation_environment(config, group)
        self.model = build.build_model(config, self.env, group)
        self.model.set_logger(Logger(folder=None, output_formats=[]))
        self.evaluation_env.reset(seed=config.seed + build.EVALUATION_SEED_OFFSET)
        _, self.callback = self.model._setup_learn(config.steps)
        culprit = environment_state.inexact(self.env) or environment_state.inexact(self.evaluation_env)
        if culprit is not None:
            reporter.warn(
                f"{culprit} has no get_state and set_state: a resumed run starts a new episode "
                "and is not equal to an uninterrupted one"
            )

    @property
    def steps(self) -> int:
        return self.model.num_timesteps

    def run(self, directory: Path) -> None:
        """From the last checkpoint in ``directory``, or from the start, to the end.

        Nothing is written before all that is needed to go on is there.
        """
        self.directory = directory
        self.metrics = self._restore()
        try:
            self.say("running")
            self._write_truth()
            last_checkpoint = time.monotonic()
            while self.steps < self.config.steps:
                self._iterate()
                is_last = self.steps >= self.config.steps
                if is_last or time.monotonic() - last_checkpoint >= self.config.checkpoint_seconds:
                    self._timed("logging", self._checkpoint)
                    last_checkpoint = time.monotonic()
            if self.best is None:
                self._evaluate()  # not in the checkpoint: a run that is extended would not have had it
            self._write_policy("last")
            self._write_truth()
            self.say("done")
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
            message=message,
        )

    def close(self) -> None:
        self.evaluation_env.close()
        self.env.close()

    def _iterate(self) -> None:
        self._timed("rollout", self._roll_out)
        self._timed("logging", self._measure)
        self._timed("update", self._update)
        self.iteration += 1
        self._timed("logging", self._log)
        if self.iteration % self.config.evaluation_every == 0:
            self._timed("evaluation", self._evaluate)
        self.metrics.add("timings.csv", [[self.iteration, *(round(s, 6) for s in self.seconds.values())]])
        self.seconds = dict.fromkeys(self.seconds, 0.0)

    def _timed(self, part: str, work: Callable[[], None]) -> None:
        start = time.perf_counter()
        work()
        self.seconds[part] += time.perf_counter() - start

    def _roll_out(self) -> None:
        model = self.model
        model.collect_rollouts(self.env, self.callback, model.rollout_buffer, model.n_steps)
        model._update_current_progress_remaining(model.num_timesteps, self.config.steps)

    def _measure(self) -> None:
        """A symmetry loss measures its own; without one it is done here, before the update.

        The images of a canonical state are states that its policy never sees, and their values mean nothing.
        """
        is_due = (self.iteration + 1) % self.config.metrics_every == 0
        self.measured = []
        is_canonical = METHODS.get(self.config.method).wrap is not None
        if is_due and self.model.loss is None and self.group is not None and not is_canonical:
            self.measured = value_distances(self.model, self.group)

    def _update(self) -> None:
        try:
            self.model.train()
        except ValueError:  # from torch, if the minibatch before broke the policy
            _refuse_broken_policy(self.model)
            raise

    def _log(self) -> None:
        values = {name: float(value) for name, value in self.model.logger.name_to_value.items()}
        self.model.logger.dump(self.steps)
        _refuse_broken_losses(values)
        _refuse_broken_policy(self.model)
        self._split_update(values.pop("time/fit", 0.0))
        episodes = self.model.ep_info_buffer
        assert episodes is not None
        episode_return = float(np.mean([float(e["r"]) for e in episodes])) if episodes else None
        length = float(np.mean([float(e["l"]) for e in episodes])) if episodes else None
        row = [self.iteration, self.steps, episode_return, length, *(values.get(n) for n in LOGGED.values())]
        self.metrics.add("progress.csv", [row])
        if episode_return is not None and length is not None:
            values |= {"rollout/ep_rew_mean": episode_return, "rollout/ep_len_mean": length}
        self.metrics.add_scalars(self.steps, values)
        if self.iteration % self.config.metrics_every == 0:
            measured = self.measured + self.model.symmetry_metrics()
            self.metrics.add("symmetry.csv", [(self.iteration, self.steps, *entry) for entry in measured])
            scalars = {"/".join(["symmetry", *filter(None, names)]): value for *names, value in self.measured}
            self.metrics.add_scalars(self.steps, scalars)
        self.reporter.update(steps=self.steps, episode_return=episode_return, best=self.best)

    def _split_update(self, fit_seconds: float) -> None:
        self.seconds["fit"] += fit_seconds
        self.seconds["update"] -= fit_seconds

    def _evaluate(self) -> None:
        self._tell_age()
        act = mean_actions(self.model.policy)
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

    def _tell_age(self) -> None:
        """Where a robot changes over its training life, evaluate it as old as it is."""
        if hasattr(self.evaluation_env.unwrapped, "training_steps"):
            self.evaluation_env.unwrapped.training_steps = build.robot_age(self.config, self.steps)

    def _checkpoint(self) -> None:
        arrays, state = snapshot.capture(self.model)
        if environment_state.inexact(self.evaluation_env) is None:
            arrays["evaluation_environment"] = environment_state.capture(self.evaluation_env)
        state |= {"best": self.best, "csv_bytes": self.metrics.settle()}
        checkpoint.write(self.directory / "checkpoints", Checkpoint(self.iteration, arrays, state))
        self._write_policy("last")
        self.say("running")

    def _restore(self) -> MetricFiles:
        kept = checkpoint.newest(self.directory / "checkpoints", self.reporter.warn)
        if kept is None:
            return MetricFiles(self.directory)
        snapshot.restore(self.model, dict(kept.arrays), dict(kept.state))
        if "evaluation_environment" in kept.arrays:
            environment_state.restore(self.evaluation_env, kept.arrays["evaluation_environment"])
        self.iteration = kept.iteration
        self.best = kept.state["best"]
        return MetricFiles(self.directory, lengths=kept.state["csv_bytes"], steps=self.steps)

    def _write_policy(self, which: str) -> None:
        write_arrays(self.directory / f"policy-{which}.safetensors", snapshot.policy_arrays(self.model))

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
