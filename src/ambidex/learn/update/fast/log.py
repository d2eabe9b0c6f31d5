"""The log of the fast update: samples are kept as they come, means are taken once per epoch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ambidex.learn.losses.gaussian import HALF_LOG_TWO_PI, approx_kl
from ambidex.learn.update.autograd import Terms
from ambidex.learn.update.iteration import Iteration, Statistics
from ambidex.learn.update.minibatch import Minibatch


class SampleTerms(NamedTuple):
    """The loss of a minibatch, sample by sample.

    :param policy: (B,) -L^C
    :param values: (B, 1 + K) squared errors of V(s) and its images
    :param value_shares: (B, 1 + K) what each of them is multiplied by in the loss
    :param symmetry_policy: (B, K) weighted
    :param opened: (B, K) False where the value gate blocked; None where there is none
    :param log_ratio: (B,)
    :param log_std: (n,)
    """

    policy: Tensor
    values: Tensor
    value_shares: Tensor
    symmetry_policy: Tensor
    opened: Tensor | None
    log_ratio: Tensor
    log_std: Tensor

    @property
    def symmetry_value(self) -> Tensor:
        """(B, K) weighted."""
        return self.values[:, 1:] * self.value_shares[:, 1:] * len(self.values)

    def means(self) -> Terms:
        """As the generic update has them."""
        return Terms(
            policy=self.policy.mean(),
            value=self.values[:, 0].mean(),
            entropy=-entropy(self.log_std),
            symmetry_policy=self.symmetry_policy,
            symmetry_value=self.symmetry_value,
            blocked=torch.zeros_like(self.symmetry_policy) if self.opened is None else ~self.opened,
            log_ratio=self.log_ratio,
        )

    def approx_kl(self) -> float:
        return float(approx_kl(self.log_ratio).mean())


def entropy(log_std: Tensor) -> Tensor:
    return (log_std + 0.5 + HALF_LOG_TWO_PI).sum(dim=-1)


class FastLog:
    """Collects what an update reports.

    :param iteration: the constants of the iteration
    :param ent_coef: of PPO
    :param vf_coef: of PPO
    """

    def __init__(self, iteration: Iteration, ent_coef: float, vf_coef: float) -> None:
        self._clip_range = iteration.clip_range
        self._weights = torch.tensor([1.0, vf_coef, ent_coef, 1.0, 1.0], dtype=torch.float64)
        self._minibatches: list[tuple[SampleTerms, Minibatch]] = []
        self._losses: list[Tensor] = []
        self._clip_fractions: list[Tensor] = []
        self._kls = torch.empty(0)
        self._epochs = 0
        self._blocked = torch.zeros(len(iteration.names), dtype=torch.float64)
        self._seen = torch.zeros_like(self._blocked)

    def add(self, terms: SampleTerms, minibatch: Minibatch) -> None:
        self._minibatches.append((terms, minibatch))

    def end_epoch(self) -> None:
        """Take the means of this epoch's minibatches."""
        terms = [terms for terms, _ in self._minibatches]
        sizes = torch.tensor([len(one.policy) for one in terms])
        places = torch.repeat_interleave(torch.arange(len(sizes)), sizes)

        def means(samples: Tensor) -> Tensor:
            sums = torch.zeros(len(sizes), dtype=torch.float64)
            return sums.index_add_(0, places, samples.double()) / sizes

        values = torch.cat([one.values for one in terms])
        shares = torch.cat([one.value_shares for one in terms])
        symmetry_value = (values[:, 1:] * shares[:, 1:]).sum(dim=1) * sizes[places]
        self._losses.append(
            torch.stack(
                [
                    means(torch.cat([one.policy for one in terms])),
                    means(values[:, 0]),
                    -entropy(torch.stack([one.log_std for one in terms]).double()),
                    means(torch.cat([one.symmetry_policy for one in terms]).sum(dim=1)),
                    means(symmetry_value),
                ],
                dim=1,
            )
        )
        log_ratio = torch.cat([one.log_ratio for one in terms])
        clipped = torch.expm1(log_ratio).abs() > self._clip_range
        self._clip_fractions.append(means(clipped))
        self._kls = means(approx_kl(log_ratio))
        self._count_blocked([one.opened for one in terms if one.opened is not None])
        self._minibatches = []
        self._epochs += 1

    def statistics(self, stopped: bool) -> Statistics:
        losses = torch.cat(self._losses)
        policy, value, entropy, symmetry_policy, symmetry_value = losses.mean(dim=0).tolist()
        return Statistics(
            entropy_loss=entropy,
            policy_loss=policy,
            value_loss=value,
            clip_fraction=float(torch.cat(self._clip_fractions).mean()),
            approx_kl=float(self._kls.mean()),
            loss=float(losses[-1] @ self._weights),
            epochs=self._epochs,
            stopped_early=stopped,
            symmetry_policy_loss=symmetry_policy,
            symmetry_value_loss=symmetry_value,
            value_gate_ratio=(self._blocked / self._seen.clamp(min=1)).numpy(),
        )

    def _count_blocked(self, opened: list[Tensor]) -> None:
        if not opened:
            return
        blocked = torch.cat(opened).logical_not_()
        images = [minibatch.images for _, minibatch in self._minibatches if minibatch.images is not None]
        if images:
            drawn = torch.cat(images).flatten()
            self._blocked.index_add_(0, drawn, blocked.flatten().double())
            self._seen += torch.bincount(drawn, minlength=len(self._seen))
        else:
            self._blocked += blocked.sum(dim=0)
            self._seen += len(blocked)
