"""The most that a configuration may ask for, so that one from elsewhere cannot take all memory."""

from __future__ import annotations

from ambidex.common.escaping import quoted

STEPS = 10_000_000
ENVIRONMENTS = 100_000
EPISODES = 1_000_000
_LAYERS = 64
_WEIGHTS = 100_000_000


def layers(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Hidden layers whose weights between each other fit in memory."""
    if len(sizes) > _LAYERS:
        raise ValueError(f"at most {_LAYERS} hidden layers")
    if any(size < 1 or size > _WEIGHTS for size in sizes):
        raise ValueError(f"a hidden layer has from 1 to {_WEIGHTS:,} units")
    weights = sum(one * other for one, other in zip((1, *sizes), sizes, strict=False))
    if weights > _WEIGHTS:
        raise ValueError(f"hidden layers {quoted(list(sizes))} have more than {_WEIGHTS:,} weights")
    return sizes
