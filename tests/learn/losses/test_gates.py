"""The gates against their definitions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ambidex.learn.losses import gates


def branching_gate(value: float, symmetric_value: float, k_v: float) -> bool:
    """eq:value_gate and eq:value_gate_vt as the paper first writes them."""
    v = k_v * value if value >= 0 else value / k_v
    return v > symmetric_value


def branch_free_gate(value: float, symmetric_value: float, k_v: float) -> bool:
    slopes, bends = gates.value_gate_coefficients(torch.tensor([k_v], dtype=torch.float64))
    opened = gates.value_gate(
        torch.tensor([[value]], dtype=torch.float64),
        torch.tensor([[symmetric_value]]).double(),
        slopes,
        bends,
    )
    return bool(opened.item())


class TestValueGate:
    @pytest.mark.parametrize(
        ("value", "symmetric_value", "opened"),
        [
            (10.0, 14.9, True),  # positive: up to 1.5 times as much
            (10.0, 15.1, False),
            (-15.0, -10.1, True),  # negative: up to a third nearer to 0
            (-15.0, -9.9, False),
            (0.0, 0.0, False),  # equality blocks
            (2.0, 3.0, False),
        ],
    )
    def test_both_branches(self, value: float, symmetric_value: float, opened: bool) -> None:
        assert branching_gate(value, symmetric_value, 1.5) is opened
        assert branch_free_gate(value, symmetric_value, 1.5) is opened

    @given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(1.0, 10.0))
    def test_the_branch_free_form_is_the_same(self, value: float, symmetric_value: float, k_v: float) -> None:
        threshold = k_v * value if value >= 0 else value / k_v
        if abs(threshold - symmetric_value) > 1e-9 * (1 + abs(threshold)):
            assert branch_free_gate(value, symmetric_value, k_v) is branching_gate(
                value, symmetric_value, k_v
            )


class TestDeadZone:
    def test_mean_absolute_deviation(self) -> None:
        window = torch.tensor([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0], [10.0, 7.0]])
        assert gates.mean_absolute_deviation(window).tolist() == [3.0, 0.0]

    @pytest.mark.parametrize("constant", [0.1, 0.3, -0.45, 1 / 3])
    def test_what_never_changes_has_no_deviation_in_spite_of_rounding(self, constant: float) -> None:
        assert gates.mean_absolute_deviation(torch.full((40960, 1), constant)).tolist() == [0.0]

    def test_distance_counts_only_elements_that_vary(self) -> None:
        state = torch.tensor([[1.0, 2.0, 7.0]])
        image = torch.tensor([[-1.0, 2.0, 5.0]])
        deviation = torch.tensor([4.0, 0.5, 0.0])
        # 2 / 4 and 0 / 0.5; the third element never varies
        assert gates.neutral_distance(state, image, deviation).tolist() == [0.25]

    def test_nothing_varies(self) -> None:
        state = torch.tensor([[1.0]])
        assert gates.neutral_distance(state, -state, torch.zeros(1)).tolist() == [0.0]

    def test_gate_opens_above_the_dead_zone_only(self) -> None:
        distances = torch.tensor([[0.0, 0.1, 0.3], [0.2, 0.11, 0.0]])
        gate = gates.dead_zone_gate(distances, torch.tensor([0.0, 0.1, 0.2]))
        assert gate.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
