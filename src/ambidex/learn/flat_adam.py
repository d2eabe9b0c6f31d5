"""Adam on one flat buffer: the same numbers as on a list of parameters, with one norm and one fused step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam

OPTIONS = ("lr", "betas", "eps", "weight_decay")
MOMENTS = ("exp_avg", "exp_avg_sq")


def why_not_flat(optimizer: Any) -> str | None:
    """Why this optimiser cannot be replaced by one on a flat buffer, in words; None if it can."""
    if type(optimizer) is not Adam:
        return f"the optimiser is {type(optimizer).__name__}, not torch.optim.Adam"
    if len(optimizer.param_groups) > 1:
        return "the optimiser has several groups of parameters"
    for option in ("amsgrad", "maximize", "differentiable", "capturable", "decoupled_weight_decay"):
        if optimizer.param_groups[0].get(option):
            return f"the optimiser was made with {option}=True"
    if len({float(state["step"]) for state in optimizer.state.values()}) > 1:
        return "the optimiser has made more steps with some parameters than with others"
    return None


class FlatAdam:
    """The parameters of an optimiser, their gradients and moments, each in one buffer.

    :param optimizer: one to which `why_not_flat` does not object
    """

    def __init__(self, optimizer: Adam) -> None:
        self._optimizer = optimizer
        options = optimizer.param_groups[0]
        self._originals: list[Tensor] = options["params"]
        self._sizes = [original.numel() for original in self._originals]
        self._flat = torch.cat([original.detach().flatten() for original in self._originals])
        self._flat.grad = torch.zeros_like(self._flat)
        self._flat_optimizer = Adam([self._flat], fused=True, **{name: options[name] for name in OPTIONS})
        states = [optimizer.state[original] for original in self._originals if original in optimizer.state]
        if states:
            self._flat_optimizer.state[self._flat] = {
                "step": states[0]["step"].clone().float(),
                **{name: torch.cat([state[name].flatten() for state in states]) for name in MOMENTS},
            }

    @property
    def parameters(self) -> dict[Tensor, Tensor]:
        """For each parameter of the optimiser, the part of the flat buffer that stands for it."""
        return self._views(self._flat)

    @property
    def gradients(self) -> dict[Tensor, Tensor]:
        assert self._flat.grad is not None
        return self._views(self._flat.grad)

    def step(self, max_norm: float) -> None:
        """Clip the norm of all gradients, then move.

        :param max_norm: as `torch.nn.utils.clip_grad_norm_` takes it
        """
        gradient = self._flat.grad
        assert gradient is not None
        norm = torch.linalg.vector_norm(gradient)
        gradient.mul_(torch.clamp(max_norm / (norm + 1e-6), max=1.0))
        self._flat_optimizer.step()

    @torch.no_grad()
    def write_back(self) -> None:
        """Bring the parameters and the state to the optimiser that this one stands for."""
        for original, moved in self.parameters.items():
            original.copy_(moved)
        state = self._flat_optimizer.state.get(self._flat)
        if state is None:
            return
        moments = {name: self._views(state[name]) for name in MOMENTS}
        for original in self._originals:
            own = self._optimizer.state[original]
            own["step"] = state["step"].clone()
            for name in MOMENTS:
                own[name] = moments[name][original].clone()

    def _views(self, flat: Tensor) -> dict[Tensor, Tensor]:
        parts = torch.split(flat, self._sizes)
        return {
            original: part.view_as(original) for original, part in zip(self._originals, parts, strict=True)
        }


@contextmanager
def flattened(optimizer: Adam) -> Iterator[FlatAdam]:
    """The optimiser as a flat one for a while; what it did is written back even after an error."""
    flat = FlatAdam(optimizer)
    try:
        yield flat
    finally:
        flat.write_back()
