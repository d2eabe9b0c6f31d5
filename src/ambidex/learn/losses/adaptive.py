"""`ASL`, Adaptive Symmetry Learning: a restricted, gated step toward a fitted symmetric action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from torch import Tensor

from ambidex.actuators.action_map import ActionMap
from ambidex.common.arrays import below
from ambidex.learn.fits.calibrated import CalibratedFit
from ambidex.learn.fits.protocol import Fit, FitState, KnowsActionSpace, Metric, WatchesTransitions
from ambidex.learn.losses import gates as gating
from ambidex.learn.losses.constants import Batch, DifferentiatedConstants, Outputs, Slopes
from ambidex.learn.losses.gates import Gates
from ambidex.learn.losses.loss import LossState, Number, OptionalNumber, SymmetryLoss
from ambidex.learn.losses.spread import ObservationWindow
from ambidex.symmetry import IndexMap, Symmetry, SymmetryGroup


@dataclass(frozen=True)
class ASL(SymmetryLoss):
    """Adaptive Symmetry Learning: a restricted, gated step toward a fitted symmetric action (eq:ASL_impl).

    :param policy_weight: w_pi
    :param value_weight: w_V
    :param max_shift: k_s, how far a symmetric mean may move per iteration, in units of PPO's largest step
    :param dead_zone: k_d, states nearer than this to their own image are left alone; 0 for rotations
    :param value_gate: k_v, at least 1, an image worth this factor more is left alone; None switches it off
    :param history: k_t, how many of the last batches measure the spread of each observation
    :param fit: how the action maps are fitted; `PairwiseFit` is the paper's, None keeps the given maps
    """

    policy_weight: Number = 0.05
    value_weight: Number = 0.5
    max_shift: Number = 0.3
    dead_zone: Number = 0.1
    value_gate: OptionalNumber = 1.5
    history: int = 10
    fit: Fit | None = field(default_factory=CalibratedFit)

    has_gradients: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("max_shift", "dead_zone", at_least=0.0)
        self.check("value_gate", at_least=1.0, optional=True)
        if isinstance(self.history, bool) or not isinstance(self.history, int) or self.history < 1:
            raise ValueError(f"ASL: history is a number of batches, at least 1; got {self.history!r}")
        if isinstance(self.fit, type):
            raise ValueError(f"ASL: fit is the class {self.fit.__name__}; write {self.fit.__name__}()")
        if self.fit is not None and not isinstance(self.fit, Fit):
            raise ValueError(f"ASL: fit is a CalibratedFit or another fit, or None; got {self.fit!r}")

    @property
    def fits_action_maps(self) -> bool:
        return self.fit is not None

    def refuse(self, symmetry: Symmetry) -> None:
        if self.fit is not None and not isinstance(symmetry.action_map, IndexMap):
            raise ValueError(
                f"transform {symmetry.name!r} mixes actions by a matrix, which no fit adapts; "
                "use ASL(fit=None)"
            )

    @classmethod
    def start(cls, losses: Mapping[str, Self], group: SymmetryGroup, space: Any) -> AdaptiveState:
        return AdaptiveState(cls, losses, group, space)

    @classmethod
    def constants(cls, losses: Mapping[str, Self], batch: Batch) -> AdaptiveConstants:
        """Without gates and with full trust in every map; `AdaptiveState` knows better."""
        symmetric_means = batch.means[:, 1:].contiguous()
        shift = mean_shift(batch.std, batch.numbers(losses, "max_shift")[:, None], batch.clip_range)
        trusted = batch.numbers(losses, "policy_weight").new_tensor(
            [[float(name in losses)] * symmetric_means.shape[-1] for name in batch.names]
        )
        return AdaptiveConstants(
            weights=batch.weights(losses),
            function_weights=trusted,
            symmetric_means=symmetric_means,
            lower=symmetric_means - shift,
            upper=symmetric_means + shift,
        )


@dataclass(frozen=True)
class AdaptiveConstants(DifferentiatedConstants):
    """The policy term is ``-gate * exp(sum_i precision_i * ((tau - a-bar')^2 - (tau - mu(f(s)))^2))``.

    ``tau = clip(g-hat(mu(s)), lower, upper)`` with the current mean and no gradient, and
    ``precision = function_weights / (2 sigma^2)`` with the current sigma and no gradient.

    :param function_weights: (N, n) w_G, 0 where the transform's loss is another one
    :param symmetric_means: (T, N, n) a-bar'
    :param lower: (T, N, n) a-bar' - mean shift
    :param upper: (T, N, n) a-bar' + mean shift
    """

    function_weights: Tensor
    symmetric_means: Tensor
    lower: Tensor
    upper: Tensor

    per_sample: ClassVar[tuple[str, ...]] = ("symmetric_means", "lower", "upper")

    def resting_means(self) -> Tensor:
        return self.symmetric_means

    def terms(self, outputs: Outputs) -> Tensor:
        targets = adaptive_target(outputs.transformed.detach(), self.lower, self.upper)
        precisions = self.function_weights / (2 * torch.exp(2 * outputs.gaussian_log_std.detach()))
        loss = adaptive_loss(outputs.symmetric_means, self.symmetric_means, targets, precisions)
        return self.weights * loss

    def add_gradients(self, outputs: Outputs, gate: Tensor | float, slopes: Slopes) -> Tensor:
        targets = adaptive_target(outputs.transformed, self.lower, self.upper)
        precisions = self.function_weights / (2 * torch.exp(2 * outputs.gaussian_log_std))
        loss = adaptive_loss(outputs.symmetric_means, self.symmetric_means, targets, precisions)
        slope = (2 * loss)[..., None] * precisions * (targets - outputs.symmetric_means)
        weights = self.weights * gate
        slopes.symmetric_means.addcmul_((weights / len(outputs.means))[..., None], slope)
        return weights * loss


class AdaptiveState(LossState):
    """ASL under way: the fit of the action maps, and the observations whose spread the dead zone needs."""

    losses: Mapping[str, ASL]

    def __init__(self, kind: type[ASL], losses: Mapping[str, ASL], group: SymmetryGroup, space: Any) -> None:
        super().__init__(kind, losses)
        self._window = ObservationWindow(max(loss.history for loss in losses.values()))
        fit, self._fitted = common_fit(losses)
        if isinstance(fit, KnowsActionSpace):
            fit = fit.within(space)
        self.fit: FitState | None = fit.start(group.only(self._fitted)) if fit is not None else None
        self._rejected: list[Metric] = []

    def watch(self, batch: Batch) -> None:
        self._window.append(batch.joined_observations[:, 0])
        if self.fit is None:
            return
        if isinstance(self.fit, WatchesTransitions) and len(batch.transitions):
            self.fit.watch(batch.transitions)
        means = batch.means.double().cpu().numpy()
        self.fit.update(means[:, 0], {name: means[:, 1 + batch.names.index(name)] for name in self._fitted})

    def constants(self, batch: Batch) -> AdaptiveConstants:
        constants = self.kind.constants(self.losses, batch)
        assert isinstance(constants, AdaptiveConstants)
        for name, estimator in self.action_maps().items():
            if name not in batch.names:
                continue
            trusted = constants.function_weights.new_tensor(estimator.weights)
            constants.function_weights[batch.names.index(name)] = trusted
        return constants

    def gates(self, batch: Batch) -> Gates:
        observations = batch.joined_observations
        like = batch.log_probs
        histories = {loss.history for loss in self.losses.values()}
        deviations = {history: self._window.deviation(history).to(like) for history in histories}
        dead_zone = like.new_ones((len(observations), len(batch.names)))
        self._rejected = []
        for name, loss in self.losses.items():
            if name not in batch.names:
                continue
            column = batch.names.index(name)
            distance = gating.neutral_distance(
                observations[:, 0], observations[:, 1 + column], deviations[loss.history]
            )
            limit = like.new_tensor(loss.number("dead_zone", name))
            dead_zone[:, column] = gating.dead_zone_gate(distance, limit)
            rejected = 1.0 - float(dead_zone[:, column].mean())
            self._rejected.append(("neutral_rejection_ratio", name, "", rejected))
        factors = [
            self.losses[name].number("value_gate", name) if name in self.losses else None
            for name in batch.names
        ]
        slopes, bends = gating.value_gate_coefficients(
            like.new_tensor([1.0 if factor is None else factor for factor in factors])
        )
        always = torch.tensor([factor is None for factor in factors], device=like.device)
        return Gates(slopes, bends, always, dead_zone)

    def action_maps(self) -> dict[str, ActionMap]:
        return self.fit.action_maps() if self.fit is not None else {}

    def metrics(self) -> list[Metric]:
        return self._rejected + (self.fit.metrics() if self.fit is not None else [])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {
            f"{prefix}/{name}": array
            for prefix, part in self._parts().items()
            for name, array in part.state().items()
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        for prefix, part in self._parts().items():
            part.set_state(below(f"{prefix}/", state))

    def _parts(self) -> dict[str, ObservationWindow | FitState]:
        return {"window": self._window} | ({} if self.fit is None else {"fit": self.fit})


def common_fit(losses: Mapping[str, ASL]) -> tuple[Fit | None, tuple[str, ...]]:
    """The one fit of all losses that have one, and the transforms that it fits."""
    fits = {name: loss.fit for name, loss in losses.items() if loss.fit is not None}
    if not fits:
        return None, ()
    (first, fit), *others = fits.items()
    for name, other in others:
        if other != fit:
            raise ValueError(
                f"transforms {first!r} and {name!r} have different fits; relations between actuators span "
                "all transforms, so give every ASL the same fit, or None"
            )
    return fit, tuple(fits)


def mean_shift(sigma: Tensor, max_shift: Tensor, clip_range: float) -> Tensor:
    """Delta mu: how far the mean of a symmetric state may move in one iteration.

    :param sigma: (n,) at the start of the update; (T, N, n) where it depends on the state
    :param max_shift: (N, 1) k_s of each transform
    :param clip_range: epsilon
    """
    # xi = (1 + epsilon)^(1/n) - 1                                                            eq:xi
    log_one_plus_xi = math.log1p(clip_range) / sigma.shape[-1]
    return max_shift * sigma * math.sqrt(2 * log_one_plus_xi)  # eq:ASL_impl_delta_mu


def adaptive_target(transformed: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """tau: the symmetric action, no farther than the mean shift from where the update began.

    :param transformed: g-hat(mu_last(s)), detached
    :param lower: a-bar' - Delta mu
    :param upper: a-bar' + Delta mu
    """
    return torch.clamp(transformed, lower, upper)  # eq:ASL_impl_t


def adaptive_loss(means: Tensor, old_means: Tensor, targets: Tensor, precisions: Tensor) -> Tensor:
    """L_pi of ASL before its gates: minus the fixed-sigma ratio toward the target.

    :param means: mu(f(s)), the only argument with a gradient
    :param old_means: a-bar'
    :param targets: tau
    :param precisions: w_G / (2 sigma^2)
    """
    exponents = precisions * ((targets - old_means).square() - (targets - means).square())
    return -torch.exp(exponents.sum(dim=-1))  # eq:ASL_impl_r_with_func_w
