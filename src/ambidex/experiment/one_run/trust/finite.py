"""Observations, actions and rewards that are no numbers, and where they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize, unwrap_vec_normalize


def require_finite_rollout(model: Any) -> None:
    """Stop a run whose last roll-out holds a NaN or an infinity, before anything learns from it.

    :param model: an on-policy algorithm of Stable-Baselines3
    """
    buffer = model.rollout_buffer
    filled = buffer.buffer_size if buffer.full else buffer.pos
    parts = [(what, values[:filled]) for what, values in _parts(buffer)]
    _refuse_first(model, parts, lambda step: f"in step {step} of the roll-out")
    last = [(what, np.asarray(values)[None]) for what, values in _named("observation", model._last_obs)]
    _refuse_first(model, last, lambda step: f"after step {filled - 1} of the roll-out")


class RequireFiniteSteps(BaseCallback):
    """The same, step by step, of what a roll-out does not show.

    These are observations where an episode is cut off, which leave only their value there, and what is
    normalised: a single NaN spoils the statistics, and with them the values of all other robots.
    """

    reads_values = False

    def _init_callback(self) -> None:
        self._normalizer: VecNormalize | None = unwrap_vec_normalize(self.training_env)

    def _on_step(self) -> bool:
        step = self.model.rollout_buffer.pos  # type: ignore[attr-defined]
        if self._normalizer is not None:
            self._require_finite_originals(self._normalizer, step)
        for environment in np.flatnonzero(self.locals["dones"]).tolist():
            info = self.locals["infos"][environment]
            if info.get("TimeLimit.truncated", False) and "terminal_observation" in info:
                ends = _named("last observation of the episode", info["terminal_observation"])
                parts = [(what, np.asarray(values)[None, None]) for what, values in ends]
                _refuse_first(self.model, parts, lambda _: f"in step {step} of the roll-out", environment)
        return True

    def _require_finite_originals(self, normalizer: VecNormalize, step: int) -> None:
        if not np.isfinite(normalizer.old_reward).all():
            seen = _named("observation", self.model._last_obs)
            causes = [*seen, ("action", self.locals["actions"]), ("reward", normalizer.old_reward)]
            parts = [(what, np.asarray(values)[None]) for what, values in causes]
            _refuse_first(self.model, parts, lambda _: f"in step {step} of the roll-out")
        if normalizer.norm_obs:
            parts = [(what, values[None]) for what, values in _named("observation", normalizer.old_obs)]
            _refuse_first(self.model, parts, lambda _: f"after step {step} of the roll-out")


def require_finite_replay(model: Any, count: int) -> None:
    """The same of the steps that an off-policy algorithm has just stored.

    :param count: of each environment
    """
    buffer = model.replay_buffer
    places = np.arange(buffer.pos - count, buffer.pos) % buffer.buffer_size
    parts = [(what, values[places]) for what, values in _parts(buffer)]
    parts += [
        (f"next {what}", values[places]) for what, values in _named("observation", buffer.next_observations)
    ]
    _refuse_first(model, parts, lambda step: f"{count - step} steps ago")


def _parts(buffer: Any) -> Iterator[tuple[str, np.ndarray]]:
    """In the order in which they come about within a step."""
    yield from _named("observation", buffer.observations)
    yield "action", buffer.actions
    yield "reward", buffer.rewards


def _named(what: str, values: Any) -> list[tuple[str, Any]]:
    if isinstance(values, Mapping):
        return [(f"{what} {name!r}", part) for name, part in values.items()]
    return [(what, values)]


def _refuse_first(model: Any, parts: list[tuple[str, np.ndarray]], when: Any, first: int = 0) -> None:
    """Name the first value that is none, by its step, then by its place in a step.

    :param first: the environment that the values begin with
    """
    found: list[tuple[int, int, str]] = []
    for order, (what, values) in enumerate(parts):
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            step, environment, *element = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            place = f", element {', '.join(map(str, element))}," if element else ""
            value = values[(step, environment, *element)]
            found.append((step, order, f"environment {first + environment}: the {what}{place} is {value}"))
    if found:
        step, _, words = min(found)
        raise FloatingPointError(
            f"{_robot(model.env)}, {words} {when(step)}, with {model.num_timesteps:,} training steps made"
        )


def _robot(env: Any) -> str:
    """The Gymnasium id of the environments, or what they are called in Python."""
    try:
        return str(env.get_attr("spec")[0].id)
    except (AttributeError, IndexError):
        return type(getattr(env, "unwrapped", env)).__name__
