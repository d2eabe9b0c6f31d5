"""The log of the fast update: samples are kept as they come, means are taken once per epoch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ambidex.learn.generic import Minibatch, Terms
from ambidex.learn.prepared import Prepared, Statistics


class SampleTerms(NamedTuple):
    """The loss of a minibatch, sample by sample; the symmetry terms are weighted.

    :param policy: (B,) -L^C
    :param value: (B,) squared error of V(s)
    :param entropy: () minus the entropy, the same for all samples
    :param symmetry_policy: (B, K)
    :param symmetry_value: (B, K)
    :param blocked: (B, K) 1 where the value gate blocked
    :param log_ratio: (B,)
    """

    policy: Tensor
    value: Tensor
    entropy: Tensor
    symmetry_policy: Tensor
    symmetry_value: Tensor
    blocked: Tensor
    log_ratio: Tensor

    def means(self) -> Terms:
        """As the generic update has them."""
        return Terms(self.policy.mean(), self.value.mean(), *self[2:])

    def approx_kl(self) -> float:
        return float(approx_kl(self.log_ratio).mean())


def approx_kl(log_ratio: Tensor) -> Tensor:
    return torch.expm1(log_ratio) - log_ratio  # http://joschu.net/blog/kl-approx.html


class FastLog:
    """Collects what an update reports.

    :param prepared: the constants of the iteration
    :param ent_coef: of PPO
    :param vf_coef: of PPO
    """

    def __init__(self, prepared: Prepared, ent_coef: float, vf_coef: float) -> None:
        self._clip_range = prepared.clip_range
        self._weights = torch.tensor([1.0, vf_coef, ent_coef, 1.0, 1.0], dtype=torch.float64)
        self._minibatches: list[tuple[SampleTerms, Minibatch]] = []
        self._losses: list[Tensor] = []
        self._clip_fractions: list[Tensor] = []
        self._kls = torch.empty(0)
        self._epochs = 0
        self._blocked = torch.zeros(len(prepared.names), dtype=torch.float64)
        self._seen = torch.zeros_like(self._blocked)

    def add(self, terms: SampleTerms, minibatch: Minibatch) -> None:
        self._minibatches.append((terms, minibatch))

    def end_epoch(self) -> None:
        """Take the means of this epoch's minibatches."""
        together = SampleTerms(
            *(torch.stack(parts) if parts[0].ndim == 0 else torch.cat(parts) for parts in self._columns())
        )
        sizes = torch.tensor([len(terms.policy) for terms, _ in self._minibatches])
        places = torch.repeat_interleave(torch.arange(len(sizes)), sizes)

        def means(samples: Tensor) -> Tensor:
            sums = torch.zeros(len(sizes), dtype=torch.float64)
            return sums.index_add_(0, places, samples.double()) / sizes

        self._losses.append(
            torch.stack(
                [
                    means(together.policy),
                    means(together.value),
                    together.entropy.double(),
                    means(together.symmetry_policy.sum(dim=1)),
                    means(together.symmetry_value.sum(dim=1)),
                ],
                dim=1,
            )
        )
        clipped = torch.expm1(together.log_ratio).abs() > self._clip_range
        self._clip_fractions.append(means(clipped))
        self._kls = means(approx_kl(together.log_ratio))
        self._count_blocked(together.blocked)
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

    def _columns(self) -> list[tuple[Tensor, ...]]:
        return list(zip(*(terms for terms, _ in self._minibatches), strict=True))

    def _count_blocked(self, blocked: Tensor) -> None:
        images = [minibatch.images for _, minibatch in self._minibatches if minibatch.images is not None]
        if images:
            drawn = torch.cat(images).flatten()
            self._blocked.index_add_(0, drawn, blocked.flatten().double())
            self._seen += torch.bincount(drawn, minlength=len(self._seen))
        else:
            self._blocked += blocked.sum(dim=0)
            self._seen += len(blocked)
