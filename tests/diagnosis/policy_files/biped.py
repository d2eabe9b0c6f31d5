"""A robot with a clock, the mirror that its project got wrong, and policies that obey one of the two."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

DESCRIPTION = """
limbs:
  left: {at: [0, 1], joints: {hip: x, knee: y}}
  right: {at: [0, -1], joints: {hip: x, knee: y}}
observations:
  - spin: {pseudovector: [z]}
  - positions: {joint: position}
  - clock: {phase: [sin, cos]}
actions:
  - target: joint
transforms:
  xz: {isometry: xz, phase: half}
"""
# By hand: the spin turns around, the legs change places, hips about x turn around, knees about y do not.
OBSERVED, SIGNS = [0, 3, 4, 1, 2, 5, 6], [-1, -1, 1, -1, 1, -1, -1]
ACTED, ACTION_SIGNS = [2, 3, 0, 1], [-1, 1, -1, 1]
WRONG_SIGNS = [-1, -1, 1, -1, 1, -1, 1]  # only the clock's sine: the mirrored gait runs backwards
PERIOD, ROWS = 50, 400


class Obedient(nn.Module):
    """The mean of a network and its mirror image, so that the mirror loss by these signs is 0."""

    def __init__(self, signs: list[int]) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.first = (
            torch.randn(7, 16, generator=generator) * torch.tensor([0.2, 0.1, 0.1, 0.1, 0.1, 2, 2])[:, None]
        )
        self.bias = torch.randn(16, generator=generator)
        self.second = torch.randn(16, 4, generator=generator) * 0.3
        self.signs, self.action_signs = torch.tensor(signs).float(), torch.tensor(ACTION_SIGNS).float()
        self.observed, self.acted = torch.tensor(OBSERVED), torch.tensor(ACTED)

    def network(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.tanh(rows @ self.first + self.bias) @ self.second

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        mirrored = self.network(rows[:, self.observed] * self.signs)
        return (self.network(rows) + mirrored[:, self.acted] * self.action_signs) / 2


def mirror_loss(policy: nn.Module, rows: np.ndarray, signs: list[int]) -> float:
    """What a training with these signs logs."""
    states = torch.from_numpy(rows)
    image = states[:, OBSERVED] * torch.tensor(signs)
    difference = policy(image) - policy(states)[:, ACTED] * torch.tensor(ACTION_SIGNS)
    return float(difference.square().mean())


def walk(policy: nn.Module) -> np.ndarray:
    """(rows, 7) a log: the joints go where the policy sends them, as the clock turns."""
    random = np.random.default_rng(0)
    rows = np.zeros((ROWS, 7), np.float32)
    positions = np.zeros(4)
    for step in range(ROWS):
        angle = 2 * np.pi * step / PERIOD
        rows[step] = [0.01 * random.normal(), *positions, np.sin(angle), np.cos(angle)]
        with torch.no_grad():
            positions = policy(torch.from_numpy(rows[step : step + 1]))[0].numpy()
    return rows
