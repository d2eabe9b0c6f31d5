"""Short roll-outs, gathered until they are enough for the fits to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ambidex.actuators.transitions import Transitions
from ambidex.common.arrays import below
from ambidex.learn.losses.constants import Batch, Observations
from ambidex.learn.update.rollout_data import stack_images
from ambidex.symmetry import Symmetry

PREFIX = "pool/"
_WHOLE, _PARTS, _TRANSITIONS = "observations", "observations/", "transitions/"


class Pool:
    """Gives the first roll-out at once, and then so many together as have enough states.

    :param states: how many are enough
    :param transforms: whose images stand beside each state
    :param with_transitions: whether somebody learns from transitions too
    """

    def __init__(self, states: int, transforms: tuple[Symmetry, ...], with_transitions: bool) -> None:
        self._enough = states
        self._transforms = transforms
        self._with_transitions = with_transitions
        self._kept: list[dict[str, npt.NDArray[Any]]] = []
        self._started = False

    def add(self, batch: Batch) -> Batch | None:
        """What the fits shall learn from now, None for nothing yet.

        :param batch: a roll-out and the policy that made it
        """
        if not self._started:
            self._started = True
            return batch
        self._kept.append(self._arrays(batch))
        if sum(len(part["log_probs"]) for part in self._kept) < self._enough:
            return None
        joined = self._joined()
        self._kept = []
        return self._pooled(batch, joined)

    def _arrays(self, batch: Batch) -> dict[str, npt.NDArray[Any]]:
        stacked = batch.observations
        states = (
            {_PARTS + key: part[:, 0] for key, part in stacked.items()}
            if isinstance(stacked, dict)
            else {_WHOLE: stacked[:, 0]}
        )
        tensors = states | {"actions": batch.actions, "log_probs": batch.log_probs}
        arrays = {name: tensor.numpy(force=True).copy() for name, tensor in tensors.items()}
        if self._with_transitions:
            arrays |= {_TRANSITIONS + name: array for name, array in asdict(batch.transitions).items()}
        return arrays

    def _joined(self) -> dict[str, npt.NDArray[Any]]:
        return {name: np.concatenate([part[name] for part in self._kept]) for name in self._kept[0]}

    def _pooled(self, batch: Batch, joined: Mapping[str, npt.NDArray[Any]]) -> Batch:
        """The same policy, with all that was gathered."""

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(joined[name]).to(batch.log_probs.device)

        states: Observations = (
            tensor(_WHOLE) if _WHOLE in joined else {key: tensor(_PARTS + key) for key in batch.observations}
        )
        return replace(
            batch,
            observations=stack_images(states, self._transforms),
            actions=tensor("actions"),
            log_probs=tensor("log_probs"),
            transitions_of=lambda _: Transitions(**below(_TRANSITIONS, joined)),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that must survive a restart."""
        if not self._started:
            return {}
        gathered = self._joined() if self._kept else {}
        return {f"{PREFIX}started": np.array(1)} | {PREFIX + name: array for name, array in gathered.items()}

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` gave."""
        own = below(PREFIX, state)
        self._started = own.pop("started", None) is not None
        self._kept = [own] if own else []
