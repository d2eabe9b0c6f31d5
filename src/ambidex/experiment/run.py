"""One run: train, evaluate, measure, write checkpoints; and go on from the last one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3.common.logger import Logger

from ambidex import symmetry
from ambidex.experiment import build, checkpoint, environment_state, record, snapshot
from ambidex.experiment.checkpoint import Checkpoint
from ambidex.experiment.config import RunConfig
from ambidex.experiment.evaluate import mean_return, run_episodes
from ambidex.experiment.files import write_arrays, write_json
from ambidex.experiment.metrics import MetricFiles
from ambidex.experiment.progress import Reporter, Silent

if TYPE_CHECKING:
    from ambidex.learn import SymmetricPPO

CHECKPOINT_SECONDS = 20.0
_LOGGED = {
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "symmetry_policy_loss": "train/symmetry_policy_loss",
    "symmetry_value_loss": "train/symmetry_value_loss",
    "approx_kl": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
    "std": "train/std",
}


def train(
    config: RunConfig,
    directory: Path,
    *,
    reporter: Reporter | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> None:
    """Run a configuration from its start, in a directory that holds no run yet.

    :param reporter: told where the run stands
    :param checkpoint_seconds: checkpoints are at least so far apart; the result does not depend on it
    """
    if (directory / "run.json").exists():
        raise ValueError(f"{directory} holds a run already; `ambidex resume {directory}` continues it")
    directory.mkdir(parents=True, exist_ok=True)
    with record.lock(directory):
        source = build.symmetry_source(config)
        if source is not None:
            symmetry.save(symmetry.load(source), directory / "symmetry.yaml")
        record.create(directory, config)
        _run(config, directory, reporter or Silent(), checkpoint_seconds)


def resume(
    directory: Path,
    *,
    reporter: Reporter | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> None:
    """Continue a run to its end, to the bit as if it had never stopped; a run that is done stays as it is."""
    about = record.read(directory)
    with record.lock(directory):
        if about["status"] != "done":
            _run(record.read_config(directory), directory, reporter or Silent(), checkpoint_seconds)


def train_or_resume(config: RunConfig, directory: Path, *, reporter: Reporter | None = None) -> None:
    """Bring a run to its end from wherever it stands; refuses a directory that holds another run."""
    if not (directory / "run.json").exists():
        return train(config, directory, reporter=reporter)
    there = record.read_config(directory)
    if there != config:
        ours, theirs = config.model_dump(), there.model_dump()
        changed = [name for name in ours if ours[name] != theirs[name]]
        raise ValueError(
            f"{directory} holds a run with another {', '.join(changed)}; choose another directory"
        )
    return resume(directory, reporter=reporter)


def _run(config: RunConfig, directory: Path, reporter: Reporter, checkpoint_seconds: float) -> None:
    torch.set_num_threads(1)
    run = _Run(config, directory, reporter)
    try:
        run.go(checkpoint_seconds)
    except FloatingPointError as error:
        run.say("failed", str(error))
        raise ValueError(f"{directory}: {error}; the last checkpoint is from before it") from error
    except OSError as error:
        raise OSError(
            f"{error.strerror or error} ({error.filename or directory}); "
            f"the last checkpoint is whole: make room and `ambidex resume {directory}`"
        ) from error
    finally:
        run.close()


@dataclass
class _Timings:
    """Seconds spent on the parts of the iteration that is under way."""

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: str, since: float) -> float:
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - since
        return now

    def take(self) -> dict[str, float]:
        taken, self.seconds = self.seconds, {}
        return taken


class _Run:
    """The objects of a run in progress."""

    def __init__(self, config: RunConfig, directory: Path, reporter: Reporter) -> None:
        self.config = config
        self.directory = directory
        self.reporter = reporter
        self.iteration = 0
        self.best: float | None = None
        self.timings = _Timings()
        description = directory / "symmetry.yaml"
        group = symmetry.load(description) if description.exists() else None
        self.model: SymmetricPPO = build.build_model(config, build.training_environment(config), group)
        self.evaluation_env = build.evaluation_environment(config)
        self.evaluation_env.reset(seed=config.seed + build.EVALUATION_SEED_OFFSET)
        self.model.set_logger(Logger(folder=None, output_formats=[]))
        self._write_truth()
        _, self.callback = self.model._setup_learn(config.steps)
        self._say_if_inexact()
        self.metrics = self._restore()

    @property
    def steps(self) -> int:
        return self.model.num_timesteps

    def go(self, checkpoint_seconds: float) -> None:
        last_checkpoint = time.monotonic()
        while self.steps < self.config.steps:
            self._iterate()
            if time.monotonic() - last_checkpoint >= checkpoint_seconds or self.steps >= self.config.steps:
                self._checkpoint()
                last_checkpoint = time.monotonic()
        self._write_policy("last")
        self.say("done")

    def say(self, status: record.Status, message: str | None = None) -> None:
        """Bring `run.json` up to date."""
        record.update(
            self.directory, status=status, steps=self.steps, iterations=self.iteration, message=message
        )

    def close(self) -> None:
        self.metrics.close()
        self.evaluation_env.close()
        assert self.model.env is not None
        self.model.env.close()

    def _iterate(self) -> None:
        model, timings = self.model, self.timings
        assert model.env is not None
        clock = time.perf_counter()
        model.collect_rollouts(model.env, self.callback, model.rollout_buffer, model.n_steps)
        clock = timings.add("rollout", clock)
        model._update_current_progress_remaining(model.num_timesteps, self.config.steps)
        model.train()
        clock = timings.add("update", clock)
        self.iteration += 1
        self._log()
        clock = timings.add("logging", clock)
        is_due = self.iteration % self.config.evaluation_every == 0
        if is_due or (self.best is None and self.steps >= self.config.steps):
            self._evaluate()
        timings.add("evaluation", clock)
        self._log_timings()

    def _log(self) -> None:
        values = {name: float(value) for name, value in self.model.logger.name_to_value.items()}
        self.model.logger.dump(self.steps)
        episodes = self.model.ep_info_buffer
        assert episodes is not None
        episode_return = float(np.mean([float(e["r"]) for e in episodes])) if episodes else None
        length = float(np.mean([float(e["l"]) for e in episodes])) if episodes else None
        row = [self.iteration, self.steps, episode_return, length, *(values.get(n) for n in _LOGGED.values())]
        self.metrics.add("progress.csv", [row])
        if episode_return is not None and length is not None:
            values |= {"rollout/ep_rew_mean": episode_return, "rollout/ep_len_mean": length}
        self.metrics.add_scalars(self.steps, values)
        if self.iteration % self.config.metrics_every == 0:
            measured = self.model.symmetry_metrics()
            self.metrics.add("symmetry.csv", [(self.iteration, self.steps, *entry) for entry in measured])
            scalars = {"/".join(["symmetry", *filter(None, names)]): value for *names, value in measured}
            self.metrics.add_scalars(self.steps, scalars)
        self.reporter.update(steps=self.steps, episode_return=episode_return, best=self.best)

    def _evaluate(self) -> None:
        def act(observation: Any) -> np.ndarray:
            return self.model.predict(observation, deterministic=True)[0]

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

    def _log_timings(self) -> None:
        seconds = self.timings.take()
        parts = ("rollout", "fit", "update", "logging", "evaluation")
        self.metrics.add("timings.csv", [[self.iteration, *(round(seconds.get(p, 0.0), 6) for p in parts)]])

    def _checkpoint(self) -> None:
        clock = time.perf_counter()
        arrays, state = snapshot.capture(self.model)
        if environment_state.inexact(self.evaluation_env) is None:
            arrays["evaluation_environment"] = environment_state.capture(self.evaluation_env)
        state |= {"best": self.best, "csv_bytes": self.metrics.settle()}
        checkpoint.write(self.directory / "checkpoints", Checkpoint(self.iteration, arrays, state))
        self._write_policy("last")
        self.say("running")
        self.timings.add("logging", clock)

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
        """The true action maps, where the environment knows its own imperfection."""
        true_action_maps = getattr(self.evaluation_env.unwrapped, "true_action_maps", None)
        truth = true_action_maps() if true_action_maps is not None else None
        if truth is not None:
            maps = {
                name: {"multipliers": list(map(float, multipliers)), "biases": list(map(float, biases))}
                for name, (multipliers, biases) in truth.items()
            }
            write_json(self.directory / "truth.json", maps)

    def _say_if_inexact(self) -> None:
        assert self.model.env is not None
        culprit = environment_state.inexact(self.model.env) or environment_state.inexact(self.evaluation_env)
        if culprit is not None:
            self.reporter.warn(
                f"{culprit} has no get_state and set_state: a resumed run starts a new episode "
                "and is not equal to an uninterrupted one"
            )
