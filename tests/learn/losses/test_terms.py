"""The paper's worked examples, and each loss against torch.distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch.distributions import Independent, Normal

from ambidex.learn.losses.adaptive import adaptive_loss, adaptive_target, mean_shift
from ambidex.learn.losses.gaussian import log_prob
from ambidex.learn.losses.mirror import mirror_loss
from ambidex.learn.losses.proximal import proximal_ceiling, proximal_loss


def tensor(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


class TestConveyorBelt:
    """Targets of the belt that centres an item; one action, g(a) = -a, mean shift 0.5."""

    def target(self, last_mean: float, old_symmetric_mean: float) -> float:
        old = tensor(old_symmetric_mean)
        return adaptive_target(-tensor(last_mean), old - 0.5, old + 0.5).item()

    def test_both_sides_run_left_at_first(self) -> None:
        assert self.target(last_mean=-5, old_symmetric_mean=-5) == -4.5
        assert self.target(last_mean=-2, old_symmetric_mean=-5) == -4.5

    def test_the_symmetric_action_follows_until_the_limit(self) -> None:
        lasts = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 11.0]
        targets = [self.target(last, old_symmetric_mean=-10) for last in lasts]
        assert targets == pytest.approx([-10, -10.1, -10.2, -10.3, -10.4, -10.5, -10.5, -10.5])

    def test_overshooting_the_target_is_pulled_back(self) -> None:
        mean = torch.tensor([[-4.4]], dtype=torch.float64, requires_grad=True)
        loss = adaptive_loss(mean, tensor(-5), tensor(-4.5), tensor(0.5))
        loss.sum().backward()
        assert mean.grad is not None
        assert mean.grad.item() > 0  # descending moves the mean from -4.4 back toward -4.5


class TestMeanShift:
    @staticmethod
    def curve(k_e: float, xi: float) -> float:
        """eq:deltamu for sigma = 1."""
        return k_e - math.sqrt(-2 * math.log(min((1 + xi) * math.exp(-0.5 * k_e**2), 1.0)))

    @pytest.mark.parametrize("size", [4, 16, 64])
    def test_it_is_the_maximum_of_the_curve(self, size: int) -> None:
        xi = 1.2 ** (1 / size) - 1
        found = minimize_scalar(
            lambda k_e: -self.curve(k_e, xi), bounds=(0, 3), method="bounded", options={"xatol": 1e-10}
        )
        place = math.sqrt(-2 * math.log(1 / (1 + xi)))
        assert found.x == pytest.approx(place, rel=1e-4)
        shift = mean_shift(torch.ones(size, dtype=torch.float64), torch.ones(1, 1).double(), 0.2)
        assert shift[0, 0].item() == pytest.approx(place)
        assert shift[0, 0].item() == pytest.approx(-found.fun, rel=1e-4)

    def test_of_the_ant(self) -> None:
        shift = mean_shift(torch.full((8,), 2.0), torch.tensor([[1.0], [0.3]]), 0.4)
        assert shift.shape == (2, 8)
        np.testing.assert_allclose(shift[0], 0.290 * 2.0, atol=1e-3)
        np.testing.assert_allclose(shift[1], 0.290 * 2.0 * 0.3, atol=1e-3)


@pytest.fixture
def samples() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return {
        "means": normal(5, 3, 4),
        "old_means": normal(5, 3, 4),
        "targets": normal(5, 3, 4),
        "actions": normal(5, 4),
        "old_explored": normal(5, 4),
        "log_std": 0.3 * normal(4) - 0.5,
        "old_log_std": 0.3 * normal(4) - 0.5,
        "weights": torch.rand(3, 4, generator=generator, dtype=torch.float64),
    }


def gaussian(means: torch.Tensor, log_std: torch.Tensor) -> Independent:
    return Independent(Normal(means, log_std.exp()), 1)


def test_gaussian_log_prob(samples: dict[str, torch.Tensor]) -> None:
    found = log_prob(samples["targets"], samples["means"], samples["log_std"])
    expected = gaussian(samples["means"], samples["log_std"]).log_prob(samples["targets"])
    torch.testing.assert_close(found, expected)


def test_mirror_loss_is_the_mean_over_action_elements() -> None:
    found = mirror_loss(tensor(1, 2, 3), tensor(1, 4, 0))
    assert found.item() == pytest.approx((0 + 4 + 9) / 3)


def test_proximal_loss(samples: dict[str, torch.Tensor]) -> None:
    """eq:psl_pi_loss and eq:sym_ratio, sample by sample with probabilities instead of logarithms."""
    epsilon = 0.2
    old_log_probs = log_prob(samples["targets"], samples["old_means"], samples["old_log_std"])
    sampled = log_prob(samples["actions"], samples["old_explored"], samples["old_log_std"])
    found = proximal_loss(
        log_prob(samples["targets"], samples["means"], samples["log_std"]),
        old_log_probs,
        proximal_ceiling(sampled[:, None], old_log_probs, epsilon),
    )
    for t in range(5):
        explored = gaussian(samples["old_explored"][t], samples["old_log_std"])
        sampled_prob = explored.log_prob(samples["actions"][t]).exp()
        for j in range(3):
            target = samples["targets"][t, j]
            new = gaussian(samples["means"][t, j], samples["log_std"]).log_prob(target).exp()
            old = gaussian(samples["old_means"][t, j], samples["old_log_std"]).log_prob(target).exp()
            ratio = min(new, sampled_prob) / old
            assert found[t, j].item() == pytest.approx(-min(ratio.item(), 1 + epsilon))


def test_proximal_loss_has_no_gradient_above_its_ceilings_and_never_overflows() -> None:
    log_probs = torch.tensor([-2.0, -1.0, -1000.0, 5.0], requires_grad=True)
    old = torch.tensor([-2.0, -2.0, -2.0, -1000.0])
    ceilings = proximal_ceiling(torch.tensor([0.0, -1.5, 0.0, 0.0]), old, 0.2)
    loss = proximal_loss(log_probs, old, ceilings)
    torch.testing.assert_close(loss, torch.tensor([-1.0, -1.2, 0.0, -1.2]))
    loss.sum().backward()
    torch.testing.assert_close(log_probs.grad, torch.tensor([-1.0, 0.0, 0.0, 0.0]))


def test_adaptive_loss(samples: dict[str, torch.Tensor]) -> None:
    """eq:ASL_impl_r_with_func_w; with all weights 1 it is a ratio of two Gaussians of the same sigma."""
    variance = torch.exp(2 * samples["log_std"])
    found = adaptive_loss(samples["means"], samples["old_means"], samples["targets"], 1 / (2 * variance))
    new = gaussian(samples["means"], samples["log_std"]).log_prob(samples["targets"])
    old = gaussian(samples["old_means"], samples["log_std"]).log_prob(samples["targets"])
    torch.testing.assert_close(found, -torch.exp(new - old))

    found = adaptive_loss(
        samples["means"], samples["old_means"], samples["targets"], samples["weights"] / (2 * variance)
    )
    for t in range(5):
        for j in range(3):
            exponent = 0.0
            for i in range(4):
                target = samples["targets"][t, j, i].item()
                distance_before = (target - samples["old_means"][t, j, i].item()) ** 2
                distance_now = (target - samples["means"][t, j, i].item()) ** 2
                denominator = (
                    2 * math.exp(samples["log_std"][i].item()) ** 2 / samples["weights"][j, i].item()
                )
                exponent += (distance_before - distance_now) / denominator
            assert found[t, j].item() == pytest.approx(-math.exp(exponent))
