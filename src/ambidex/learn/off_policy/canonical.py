"""Canonical commands behind a policy that squashes: their range, and what a replay holds in place of them.

The network says b within [-1, 1], which stands for the canonical command ``c = centre + half b``, and the
robot gets ``a = o + s c``. Two things must hold whatever the scales are. A transform exchanges elements of b
and changes their signs, so that it is the same before and behind tanh; and no command is cut off, because a
robot whose motors saturate one after the other is not symmetric. Both hold for the largest range of c that
every transform maps to itself and that ``o + s c`` brings into the action box: in each orbit the actuator
that needs most has all of its range, and the others as much of theirs as does the same.

Scales change while the replay lives, and the same b is then another torque. So the replay keeps what the
robot got, scaled to its box as Stable-Baselines3 does it, and each minibatch is read with the present scales.
Commands of earlier scales, and random ones of the first steps, may lie outside of the canonical range. They
stay as they are: they happened, and a critic that sees them learns nothing wrong.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from torch import Tensor

from ambidex.common.arrays import FloatArray
from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.symmetry import SymmetryGroup


def canonical_range(
    group: SymmetryGroup,
    space: spaces.Box,
    scale: FloatArray | float = 1.0,
    offset: FloatArray | float = 0.0,
) -> ActionRange:
    """The range of c, see above.

    :param group: its transforms exchange actions and multiply them
    :param scale: (n,) s
    :param offset: (n,) o
    """
    ActionRange.of(space)  # refuses ends that are none
    low = (space.low.astype(np.float64) - offset) / scale
    high = (space.high.astype(np.float64) - offset) / scale
    for _ in range(2 * len(low)):  # as many ends as a chain of actions, each the image of the last, can have
        for transform in group:
            ends = np.stack([transform.action(low), transform.action(high)])
            low, high = np.maximum(low, ends.min(axis=0)), np.minimum(high, ends.max(axis=0))
    for element in np.flatnonzero(~(low < high)):
        raise ValueError(
            f"actuators, action {element}: no command within its range [{space.low[element]:g}, "
            f"{space.high[element]:g}] has all of its images within the ranges of its counterparts, with "
            "these scales and offsets; let 0 lie well within all ranges, or leave offsets out"
        )
    return ActionRange((low + high) / 2, (high - low) / 2)


def canonical_actions(policy: Actuated, stored: Tensor) -> Tensor:
    """(B, n): b of commands that a replay holds, with the scales that the policy has now."""
    box = ActionRange.of(policy.action_space)
    commands = stored * stored.new_tensor(box.half) + stored.new_tensor(box.centre)
    return (commands - policy.actuator_offset) / policy.actuator_scale
