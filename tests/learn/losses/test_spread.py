"""The window of observations behind the dead zone."""

from __future__ import annotations

import numpy as np
import torch

from ambidex.learn.losses.spread import ObservationWindow


def batch(seed: int, size: int = 7) -> torch.Tensor:
    return torch.randn(size, 3, generator=torch.Generator().manual_seed(seed))


def expected(*seeds: int) -> np.ndarray:
    """MAD over the time steps of these batches together."""
    states = np.concatenate([batch(seed).numpy() for seed in seeds])
    return np.abs(states - states.mean(axis=0)).mean(axis=0)


def test_the_last_batches_count_the_current_one_included() -> None:
    window = ObservationWindow(3)
    for seed in range(5):
        window.append(batch(seed))
    np.testing.assert_allclose(window.deviation(3), expected(2, 3, 4), rtol=1e-5)
    np.testing.assert_allclose(window.deviation(1), expected(4), rtol=1e-5)
    assert window.state()["lengths"].tolist() == [7, 7, 7]  # older ones are forgotten


def test_before_it_is_full() -> None:
    window = ObservationWindow(10)
    window.append(batch(0))
    np.testing.assert_allclose(window.deviation(10), expected(0), rtol=1e-5)


def test_survives_a_restart() -> None:
    window, other = ObservationWindow(3), ObservationWindow(3)
    assert window.state() == {}
    for seed, size in enumerate((4, 9, 2)):
        window.append(batch(seed, size))
    other.set_state(window.state())
    for one in (window, other):
        one.append(batch(9))
    assert torch.equal(window.deviation(3), other.deviation(3))
    other.set_state({})
    other.append(batch(0))
    np.testing.assert_allclose(other.deviation(3), expected(0), rtol=1e-5)
