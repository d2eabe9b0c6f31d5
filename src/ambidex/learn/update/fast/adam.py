"""Adam by hand, with the same numbers: on one flat buffer, with one norm and one fused step, or in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam


def why_not_flat(optimizer: Any) -> str | None:
    """Why this optimiser cannot be replaced by one on a flat buffer, in words; None if it can."""
    if type(optimizer) is not Adam:
        return f"the optimiser is {type(optimizer).__name__}, not torch.optim.Adam"
    if len(optimizer.param_groups) > 1:
        return "the optimiser has several groups of parameters"
    for option in ("amsgrad", "maximize", "differentiable", "capturable", "decoupled_weight_decay"):
        if optimizer.param_groups[0].get(option):
            return f"the optimiser was made with {option}=True"
    steps = {float(state["step"]) for state in optimizer.state.values()}
    if len(steps) > 1 or 0 < len(optimizer.state) < len(optimizer.param_groups[0]["params"]):
        return "the optimiser has made more steps with some parameters than with others"
    return None


class FlatAdam:
    """The parameters of an optimiser, their gradients and moments, each in one buffer.

    :param optimizer: one to which `why_not_flat` does not object
    """

    def __init__(self, optimizer: Adam) -> None:
        self._optimizer = optimizer
        self._originals: list[Tensor] = optimizer.param_groups[0]["params"]
        self._sizes = [original.numel() for original in self._originals]
        self._flat = torch.cat([original.detach().flatten() for original in self._originals])
        self._gradient = torch.zeros_like(self._flat)
        self._moments = {name: torch.zeros_like(self._flat) for name in ("exp_avg", "exp_avg_sq")}
        self._steps = torch.zeros(())
        states = [optimizer.state[original] for original in self._originals if original in optimizer.state]
        if states:
            self._steps.copy_(states[0]["step"])
            for name, moment in self._moments.items():
                torch.cat([state[name].flatten() for state in states], out=moment)
        self._options = _fused_options(optimizer)

    @property
    def parameters(self) -> dict[Tensor, Tensor]:
        """For each parameter of the optimiser, the part of the flat buffer that stands for it."""
        return self._views(self._flat)

    @property
    def gradients(self) -> dict[Tensor, Tensor]:
        """For each parameter of the optimiser, where its gradient belongs before a `step`."""
        return self._views(self._gradient)

    def gradient_norm(self) -> float:
        return float(torch.linalg.vector_norm(self._gradient))

    def step(self, norm: float, max_norm: float) -> None:
        """Clip the norm of all gradients together, then move.

        :param norm: what `gradient_norm` gave
        :param max_norm: as `torch.nn.utils.clip_grad_norm_` takes it
        """
        clip = max_norm / (norm + 1e-6)
        if clip < 1:
            self._gradient.mul_(clip)
        self._steps += 1
        # What Adam(fused=True) calls, without 0.2 ms of bookkeeping around it.
        torch._fused_adam_(
            [self._flat],
            [self._gradient],
            [self._moments["exp_avg"]],
            [self._moments["exp_avg_sq"]],
            [],
            [self._steps],
            **self._options,
        )

    @torch.no_grad()
    def write_back(self) -> None:
        """Bring the parameters and the state to the optimiser that this one stands for."""
        for original, moved in self.parameters.items():
            original.copy_(moved)
        if not self._steps:
            return
        moments = {name: self._views(moment) for name, moment in self._moments.items()}
        for original in self._originals:
            state = self._optimizer.state[original]
            state["step"] = self._steps.clone()
            for name, views in moments.items():
                state[name] = views[original].clone()

    def _views(self, flat: Tensor) -> dict[Tensor, Tensor]:
        parts = torch.split(flat, self._sizes)
        return {
            original: part.view_as(original) for original, part in zip(self._originals, parts, strict=True)
        }


class InPlaceAdam:
    """The parameters and the state of an optimiser themselves, for an update of a few steps, after which
    copying them to a buffer and back would not pay.

    :param optimizer: one to which `why_not_flat` does not object
    """

    def __init__(self, optimizer: Adam) -> None:
        own: list[Tensor] = optimizer.param_groups[0]["params"]
        self.parameters = {parameter: parameter.detach() for parameter in own}
        self.gradients = {parameter: torch.zeros_like(parameter) for parameter in own}
        for parameter in own:
            if not optimizer.state[parameter]:
                moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
                optimizer.state[parameter] = {"step": torch.zeros(()), **moments}
        states = [optimizer.state[parameter] for parameter in own]
        self._steps = [state["step"] for state in states]
        self._means = [state["exp_avg"] for state in states]
        self._squares = [state["exp_avg_sq"] for state in states]
        self._options = _fused_options(optimizer)

    def step(self) -> None:
        torch._foreach_add_(self._steps, 1)
        torch._fused_adam_(
            list(self.parameters.values()),
            list(self.gradients.values()),
            self._means,
            self._squares,
            [],
            self._steps,
            **self._options,
        )


def _fused_options(optimizer: Adam) -> dict[str, Any]:
    options = optimizer.param_groups[0]
    return {
        "lr": float(options["lr"]),
        "beta1": options["betas"][0],
        "beta2": options["betas"][1],
        "weight_decay": options["weight_decay"],
        "eps": options["eps"],
        "amsgrad": False,
        "maximize": False,
    }


@contextmanager
def flattened(optimizer: Adam) -> Iterator[FlatAdam]:
    """The optimiser as a flat one for a while; what it did is written back even after an error."""
    flat = FlatAdam(optimizer)
    try:
        yield flat
    finally:
        flat.write_back()
