"""The update by autograd, for any feed-forward actor-critic policy: one stacked pass for s and all f_j(s)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from ambidex.learn.update.forward import action_outputs, flatten_rows, forward
from ambidex.learn.update.iteration import Iteration, NonFiniteLoss, Statistics
from ambidex.learn.update.minibatch import Minibatch, draw_epoch, minibatches
from ambidex.learn.update.symmetry_terms import GateLog, relaxation_penalty, symmetry_terms

if TYPE_CHECKING:
    from ambidex.learn.a2c import SymmetricA2C
    from ambidex.learn.ppo import SymmetricPPO


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


def update(model: SymmetricPPO, iteration: Iteration) -> Statistics:
    """All epochs of one iteration; see `ambidex.learn.update.iteration` for what it computes."""
    log = _Log(len(iteration.names), iteration.returns.device)
    stopped = False
    for _ in range(model.n_epochs):
        log.begin_epoch()
        for _, minibatch in minibatches(draw_epoch(iteration), model.batch_size):
            loss = _minibatch_loss(model, iteration, minibatch, log)
            # As Stable-Baselines3 does: the minibatch that exceeds the limit is not learned from any more.
            if model.target_kl is not None and log.approx_kl > 1.5 * model.target_kl:
                stopped = True
                break
            step(model, loss)
        if stopped:
            break
    return log.statistics(stopped)


def single_step(model: SymmetricA2C, iteration: Iteration) -> Statistics:
    """One gradient step for the whole roll-out."""
    log = _Log(len(iteration.names), iteration.returns.device)
    log.begin_epoch()
    step(model, _minibatch_loss(model, iteration, draw_epoch(iteration), log))
    return log.statistics(stopped=False)


def _minibatch_loss(
    model: SymmetricPPO | SymmetricA2C, iteration: Iteration, minibatch: Minibatch, log: _Log
) -> Tensor:
    terms = minibatch_terms(model, iteration, minibatch)
    loss = terms.total(model.ent_coef, model.vf_coef) + relaxation_penalty(model.policy)
    log.add(terms, loss, minibatch, iteration.clip_range)
    # Before the step: once a NaN is in the parameters, nobody can tell where it came from.
    if not torch.isfinite(loss):
        refuse_non_finite(terms, minibatch, iteration)
    return loss


def step(model: SymmetricPPO | SymmetricA2C, loss: Tensor) -> None:
    """Let the optimiser descend, unless the gradient would spread what is no number."""
    optimizer = model.policy.optimizer
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(model.policy.parameters(), model.max_grad_norm)
    if not torch.isfinite(norm):
        raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")
    optimizer.step()


def minibatch_terms(model: SymmetricPPO | SymmetricA2C, iteration: Iteration, minibatch: Minibatch) -> Terms:
    """Stack, forward, losses."""
    policy = model.policy
    rows = minibatch.rows
    # One pass for the states (column 0) and their images: the networks see one large batch, not 1 + K.
    observations = minibatch.observations(iteration.observations)
    latent, values = forward(policy, flatten_rows(observations))
    latent = latent.view(len(rows), -1, latent.shape[-1])
    values = values.view(len(rows), -1)

    # From here to the value loss it is PPO on the states alone, line by line as in Stable-Baselines3.
    distribution = policy._get_action_dist_from_latent(latent[:, 0])
    log_prob = distribution.log_prob(iteration.actions[rows])
    entropy = distribution.entropy()
    advantages = iteration.advantages[rows]
    if model.normalize_advantage and len(rows) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    log_ratio = log_prob - iteration.old_log_probs[rows]
    policy_loss = model._policy_loss(log_prob, log_ratio, advantages, iteration.clip_range)

    predictions = values[:, 0]
    if iteration.clip_range_vf is not None:
        old = iteration.old_values[rows]
        limit = iteration.clip_range_vf
        predictions = old + torch.clamp(predictions - old, -limit, limit)
    value_loss = functional.mse_loss(iteration.returns[rows], predictions)
    entropy_loss = log_prob.mean() if entropy is None else -entropy.mean()

    log_std = getattr(policy, "log_std", None)
    symmetry_policy, symmetry_value, blocked = symmetry_terms(
        iteration, minibatch, action_outputs(policy, latent), values, log_std, advantages
    )
    return Terms(
        policy_loss, value_loss, entropy_loss, symmetry_policy, symmetry_value, blocked, log_ratio.detach()
    )


def refuse_non_finite(terms: Terms, minibatch: Minibatch, iteration: Iteration) -> None:
    """Says which term of which transform is not finite."""
    for name in ("policy", "value", "entropy"):
        if not torch.isfinite(getattr(terms, name)):
            raise NonFiniteLoss(
                f"the algorithm's own {name} loss is not finite; the parameters were left as they are"
            )
    for name in ("policy", "value"):
        bad = ~torch.isfinite(getattr(terms, f"symmetry_{name}"))
        for column in bad.any(dim=0).nonzero().flatten().tolist():
            sample = int(bad[:, column].nonzero()[0])
            image = column if minibatch.images is None else int(minibatch.images[sample, column])
            raise NonFiniteLoss(
                f"the symmetry loss of transform {iteration.names[image]!r} is not finite in its {name} "
                "term; the parameters were left as they are"
            )
    raise NonFiniteLoss("the sum of the losses is not finite; the parameters were left as they are")


class _Log:
    """Collects on the policy's device what an update reports, and reads it once, at the end."""

    def __init__(self, transforms: int, device: torch.device) -> None:
        self._rows: list[Tensor] = []
        self._kls: list[Tensor] = []
        self._epochs = 0
        self._gates = GateLog(transforms, device)

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
        self._gates.add(terms.blocked, minibatch)

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
            value_gate_ratio=self._gates.ratio(),
        )
