"""The update by autograd, for any feed-forward actor-critic policy: one stacked pass for s and all f_j(s)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ambidex.learn.losses import terms as losses
from ambidex.learn.losses.gates import value_gate
from ambidex.learn.update.forward import action_outputs, flatten_rows, forward
from ambidex.learn.update.iteration import NonFiniteLoss, Observations, Prepared, Statistics, draw_epoch

if TYPE_CHECKING:
    from ambidex.learn.ppo import SymmetricPPO


@dataclass(frozen=True)
class Minibatch:
    """Which states of the batch, with which images.

    :param rows: (B,) states
    :param images: (B, K) transforms, None for all of them
    """

    rows: Tensor
    images: Tensor | None

    def observations(self, stacked: Observations) -> Observations:
        """(B, 1 + K, o): each state and its images."""
        if isinstance(stacked, dict):
            return {key: self._observations(part) for key, part in stacked.items()}
        return self._observations(stacked)

    def _observations(self, stacked: Tensor) -> Tensor:
        if self.images is None:
            return stacked[self.rows]
        columns = torch.cat([torch.zeros_like(self.images[:, :1]), self.images + 1], dim=1)
        return stacked[self.rows[:, None], columns]

    def samples(self, constants: Tensor) -> Tensor:
        """(T, N, ...) as (B, K, ...)."""
        return constants[self.rows] if self.images is None else constants[self.rows[:, None], self.images]

    def transforms(self, constants: Tensor) -> Tensor:
        """(N, ...) in a form that multiplies with (B, K, ...)."""
        return constants if self.images is None else constants[self.images]

    def images_of(self, everything: Tensor) -> Tensor:
        """(B, N, n) as (B, K, n)."""
        if self.images is None:
            return everything
        return torch.take_along_dim(everything, self.images[:, :, None], dim=1)


@dataclass(frozen=True)
class Terms:
    """The loss of a minibatch in its parts; symmetry terms are weighted, (B, K) each."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    symmetry_policy: Tensor
    symmetry_value: Tensor
    blocked: Tensor
    log_ratio: Tensor

    def total(self, ent_coef: float, vf_coef: float) -> Tensor:
        loss = self.policy + ent_coef * self.entropy + vf_coef * self.value
        if not self.symmetry_policy.numel():
            return loss
        return loss + (self.symmetry_policy + self.symmetry_value).sum(dim=1).mean()  # eq:generic_generalized


def update(model: SymmetricPPO, prepared: Prepared) -> Statistics:
    """All epochs of one iteration; see `ambidex.learn.update.iteration` for what it computes."""
    policy = model.policy
    optimizer = policy.optimizer
    log = _Log(len(prepared.names), prepared.returns.device)
    stopped = False
    for _ in range(model.n_epochs):
        log.begin_epoch()
        for minibatch in minibatches(prepared, model.batch_size):
            terms = minibatch_terms(model, prepared, minibatch)
            loss = terms.total(model.ent_coef, model.vf_coef)
            log.add(terms, loss, minibatch, prepared.clip_range)
            if not torch.isfinite(loss):
                refuse_non_finite(terms, minibatch, prepared)
            if model.target_kl is not None and log.approx_kl > 1.5 * model.target_kl:
                stopped = True
                break
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            if not torch.isfinite(norm):
                raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")
            optimizer.step()
        if stopped:
            break
    return log.statistics(stopped)


def minibatches(prepared: Prepared, size: int) -> Iterator[Minibatch]:
    """One epoch."""
    order, images = draw_epoch(prepared)
    for start in range(0, prepared.size, size):
        span = slice(start, start + size)
        yield Minibatch(order[span], None if images is None else images[span])


def minibatch_terms(model: SymmetricPPO, prepared: Prepared, minibatch: Minibatch) -> Terms:
    """Stack, forward, losses."""
    policy = model.policy
    rows = minibatch.rows
    observations = minibatch.observations(prepared.observations)
    latent, values = forward(policy, flatten_rows(observations))
    latent = latent.view(len(rows), -1, latent.shape[-1])
    values = values.view(len(rows), -1)

    distribution = policy._get_action_dist_from_latent(latent[:, 0])
    log_prob = distribution.log_prob(prepared.actions[rows])
    entropy = distribution.entropy()
    advantages = prepared.advantages[rows]
    if model.normalize_advantage and len(rows) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    log_ratio = log_prob - prepared.old_log_probs[rows]
    ratio = torch.exp(log_ratio)  # eq:ppo_ratio
    clipped = torch.clamp(ratio, 1 - prepared.clip_range, 1 + prepared.clip_range)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()  # eq:lclip

    predictions = values[:, 0]
    if prepared.clip_range_vf is not None:
        old = prepared.old_values[rows]
        limit = prepared.clip_range_vf
        predictions = old + torch.clamp(predictions - old, -limit, limit)
    value_loss = functional.mse_loss(prepared.returns[rows], predictions)
    entropy_loss = log_prob.mean() if entropy is None else -entropy.mean()

    symmetry_policy, symmetry_value, blocked = symmetry_terms(
        prepared, minibatch, action_outputs(policy, latent), values, getattr(policy, "log_std", None)
    )
    return Terms(
        policy_loss, value_loss, entropy_loss, symmetry_policy, symmetry_value, blocked, log_ratio.detach()
    )


def symmetry_terms(
    prepared: Prepared, minibatch: Minibatch, outputs: Tensor, values: Tensor, log_std: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted policy and value terms of every sample and image, and which the value gate blocked.

    :param outputs: (B, 1 + K, n) means or log-probabilities of s and its images
    :param values: (B, 1 + K) V(s) and V(f(s))
    """
    means, symmetric_means = outputs[:, 0], outputs[:, 1:]
    symmetric_values = values[:, 1:]
    if not prepared.names:
        return symmetric_values, symmetric_values, symmetric_values
    transformed = (means @ prepared.action_matrix + prepared.action_bias).view(len(means), -1, means.shape[1])
    if prepared.bend is not None:
        transformed = prepared.bend(transformed)
    transformed = minibatch.images_of(transformed)
    policy_terms = torch.zeros_like(symmetric_values)
    gate: Tensor | float = 1.0
    blocked = torch.zeros_like(symmetric_values)

    if prepared.gates is not None:
        gates = prepared.gates
        slopes, bends = minibatch.transforms(gates.slopes), minibatch.transforms(gates.bends)
        opened = value_gate(values[:, :1].detach(), symmetric_values.detach(), slopes, bends)
        opened = opened | minibatch.transforms(gates.always)
        gate = minibatch.samples(gates.dead_zone) * opened
        blocked = (~opened).to(values.dtype)
    if prepared.asl is not None:
        assert log_std is not None
        asl = prepared.asl
        targets = losses.adaptive_target(
            transformed.detach(), minibatch.samples(asl.lower), minibatch.samples(asl.upper)
        )
        precisions = minibatch.transforms(asl.function_weights) / (2 * torch.exp(2 * log_std.detach()))
        ratio_loss = losses.adaptive_loss(
            symmetric_means, minibatch.samples(asl.symmetric_means), targets, precisions
        )
        policy_terms = policy_terms + minibatch.transforms(asl.weights) * ratio_loss
    if prepared.psl is not None:
        assert log_std is not None
        psl = prepared.psl
        log_probs = losses.gaussian_log_prob(minibatch.samples(psl.targets), symmetric_means, log_std)
        ratio_loss = losses.proximal_loss(
            log_probs, minibatch.samples(psl.old_log_probs), minibatch.samples(psl.ceilings)
        )
        policy_terms = policy_terms + minibatch.transforms(psl.weights) * ratio_loss
    if prepared.msl is not None:
        msl = prepared.msl
        difference = losses.mirror_loss(transformed, symmetric_means)
        policy_terms = policy_terms + minibatch.transforms(msl.weights) * difference
        if msl.original_weights is not None:
            difference = _original_mirror_loss(prepared, minibatch, means, symmetric_means)
            policy_terms = policy_terms + minibatch.transforms(msl.original_weights) * difference

    squares = losses.value_loss(symmetric_values, prepared.returns[minibatch.rows, None])
    value_terms = minibatch.transforms(prepared.value_weights) * squares
    return policy_terms * gate, value_terms * gate, blocked


def _original_mirror_loss(
    prepared: Prepared, minibatch: Minibatch, means: Tensor, symmetric_means: Tensor
) -> Tensor:
    """mu(s) - g(mu(f(s))), as Yu et al. wrote it."""
    size = means.shape[-1]
    matrices = minibatch.transforms(prepared.action_matrix.view(size, -1, size).transpose(0, 1))
    transformed = (symmetric_means[:, :, None, :] @ matrices).squeeze(-2)
    return losses.mirror_loss(transformed, means[:, None])


def refuse_non_finite(terms: Terms, minibatch: Minibatch, prepared: Prepared) -> None:
    """Says which term of which transform is not finite."""
    for name in ("policy", "value", "entropy"):
        if not torch.isfinite(getattr(terms, name)):
            raise NonFiniteLoss(f"PPO's {name} loss is not finite; the parameters were left as they are")
    for name in ("policy", "value"):
        bad = ~torch.isfinite(getattr(terms, f"symmetry_{name}"))
        for column in bad.any(dim=0).nonzero().flatten().tolist():
            sample = int(bad[:, column].nonzero()[0])
            image = column if minibatch.images is None else int(minibatch.images[sample, column])
            raise NonFiniteLoss(
                f"the symmetry loss of transform {prepared.names[image]!r} is not finite in its {name} term; "
                "the parameters were left as they are"
            )
    raise NonFiniteLoss("the sum of the losses is not finite; the parameters were left as they are")


class _Log:
    """Collects on the policy's device what an update reports, and reads it once, at the end."""

    def __init__(self, transforms: int, device: torch.device) -> None:
        self._rows: list[Tensor] = []
        self._kls: list[Tensor] = []
        self._epochs = 0
        self._blocked = torch.zeros(transforms, device=device)
        self._seen = torch.zeros(transforms, device=device)

    def begin_epoch(self) -> None:
        self._epochs += 1
        self._kls = []

    @torch.no_grad()
    def add(self, terms: Terms, loss: Tensor, minibatch: Minibatch, clip_range: float) -> None:
        difference = torch.exp(terms.log_ratio) - 1
        clip_fraction = (difference.abs() > clip_range).to(difference.dtype).mean()
        # http://joschu.net/blog/kl-approx.html
        self._kls.append((difference - terms.log_ratio).mean())
        size = len(minibatch.rows)
        self._rows.append(
            torch.stack(
                [
                    terms.entropy,
                    terms.policy,
                    terms.value,
                    clip_fraction,
                    terms.symmetry_policy.sum() / size,
                    terms.symmetry_value.sum() / size,
                    loss,
                ]
            )
        )
        if minibatch.images is None:
            self._blocked += terms.blocked.sum(dim=0)
            self._seen += size
        else:
            images = minibatch.images.flatten()
            self._blocked.index_add_(0, images, terms.blocked.flatten().to(self._blocked.dtype))
            self._seen.index_add_(0, images, torch.ones_like(images, dtype=self._seen.dtype))

    @property
    def approx_kl(self) -> float:
        """Of the last minibatch; this one waits for the device."""
        return float(self._kls[-1])

    def statistics(self, stopped: bool) -> Statistics:
        rows = torch.stack(self._rows).double().cpu().numpy()
        means = rows.mean(axis=0)
        return Statistics(
            entropy_loss=means[0],
            policy_loss=means[1],
            value_loss=means[2],
            clip_fraction=means[3],
            approx_kl=float(torch.stack(self._kls).double().mean()),
            loss=rows[-1, -1],
            epochs=self._epochs,
            stopped_early=stopped,
            symmetry_policy_loss=means[4],
            symmetry_value_loss=means[5],
            value_gate_ratio=(self._blocked / self._seen.clamp(min=1)).double().cpu().numpy(),
        )
