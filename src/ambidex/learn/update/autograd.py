"""The update by autograd, for any feed-forward actor-critic policy: one stacked pass for s and all f_j(s)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor
from torch.nn import functional

from ambidex.learn.losses.constants import Outputs
from ambidex.learn.networks.policy import EquivariantActorCriticPolicy
from ambidex.learn.update.forward import action_outputs, flatten_rows, forward
from ambidex.learn.update.iteration import Iteration, NonFiniteLoss, Statistics, SymmetryConstants
from ambidex.learn.update.minibatch import Minibatch, draw_epoch, minibatches

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
            terms = minibatch_terms(model, iteration, minibatch)
            loss = terms.total(model.ent_coef, model.vf_coef) + relaxation_penalty(model.policy)
            log.add(terms, loss, minibatch, iteration.clip_range)
            # Before the step: once a NaN is in the parameters, nobody can tell where it came from.
            if not torch.isfinite(loss):
                refuse_non_finite(terms, minibatch, iteration)
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
    everything = draw_epoch(iteration)
    terms = minibatch_terms(model, iteration, everything)
    loss = terms.total(model.ent_coef, model.vf_coef) + relaxation_penalty(model.policy)
    log.add(terms, loss, everything, iteration.clip_range)
    if not torch.isfinite(loss):
        refuse_non_finite(terms, everything, iteration)
    step(model, loss)
    return log.statistics(stopped=False)


def step(model: SymmetricPPO | SymmetricA2C, loss: Tensor) -> None:
    """Let the optimiser descend, unless the gradient would spread what is no number."""
    optimizer = model.policy.optimizer
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(model.policy.parameters(), model.max_grad_norm)
    if not torch.isfinite(norm):
        raise NonFiniteLoss("the gradient is not finite; the parameters were left as they are")
    optimizer.step()


def relaxation_penalty(policy: ActorCriticPolicy) -> Tensor | float:
    """What an equivariant policy pays for the asymmetry that it was allowed."""
    if isinstance(policy, EquivariantActorCriticPolicy) and policy.relax_penalty:
        return policy.relaxation_penalty()
    return 0.0


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


def symmetry_terms(
    constants: SymmetryConstants,
    minibatch: Minibatch,
    outputs: Tensor,
    values: Tensor,
    log_std: Tensor | None,
    advantages: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted policy and value terms of every sample and image, and which the value gate blocked.

    It holds for any actor-critic.

    :param outputs: (B, 1 + K, n) means or log-probabilities of s and its images
    :param values: (B, 1 + K) V(s) and V(f(s))
    :param advantages: (B,) as they enter the algorithm's own loss
    """
    symmetric_values = values[:, 1:]
    if not constants.names:
        return symmetric_values, symmetric_values, symmetric_values
    gate, blocked = gate_of(constants, minibatch, values)
    policy_terms = symmetry_policy_terms(constants, minibatch, outputs, log_std, advantages)
    return policy_terms * gate, symmetry_value_terms(constants, minibatch, values) * gate, blocked


def gate_of(
    constants: SymmetryConstants, minibatch: Minibatch, values: Tensor
) -> tuple[Tensor | float, Tensor]:
    """What multiplies the terms of every sample and image, and which the value gate blocked: (B, K) each.

    :param values: (B, 1 + K) V(s) and V(f(s))
    """
    symmetric_values = values[:, 1:]
    if constants.gates is None:
        return 1.0, torch.zeros_like(symmetric_values)
    # A gate decides whether a term counts; through a gradient the networks would learn to close it.
    gates = constants.gates.of(minibatch)
    opened = gates.opened(values[:, :1].detach(), symmetric_values.detach())
    return gates.dead_zone * opened, (~opened).to(values.dtype)


def symmetry_policy_terms(
    constants: SymmetryConstants,
    minibatch: Minibatch,
    outputs: Tensor,
    log_std: Tensor | None,
    advantages: Tensor,
) -> Tensor:
    """The weighted policy terms before their gates, (B, K); see `symmetry_terms`."""
    said = Outputs(
        means=outputs[:, 0],
        symmetric_means=outputs[:, 1:],
        transformed=minibatch.images_of(constants.transformed(outputs[:, 0])),
        log_std=log_std,
        advantages=advantages,
    )
    # Of each image only the kind of loss that its transform has is not 0.
    terms = outputs.new_zeros((len(outputs), outputs.shape[1] - 1))
    for loss in constants.losses.values():
        terms = terms + loss.of(minibatch).terms(said)
    return terms


def symmetry_value_terms(constants: SymmetryConstants, minibatch: Minibatch, values: Tensor) -> Tensor:
    """The weighted value terms before their gates, (B, K); see `symmetry_terms`."""
    # eq:MSL_LV, eq:ASL_v_loss: the images learn the same value target.
    squares = (values[:, 1:] - constants.returns[minibatch.rows, None]).square()
    return minibatch.transforms(constants.value_weights) * squares


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


class GateLog:
    """Counts, for each transform, the samples that the value gate blocked."""

    def __init__(self, transforms: int, device: torch.device) -> None:
        self._blocked = torch.zeros(transforms, device=device)
        self._seen = torch.zeros(transforms, device=device)

    def add(self, blocked: Tensor, minibatch: Minibatch) -> None:
        """:param blocked: (B, K)"""
        if minibatch.images is None:
            self._blocked += blocked.sum(dim=0)
            self._seen += len(minibatch.rows)
        else:
            images = minibatch.images.flatten()
            self._blocked.index_add_(0, images, blocked.flatten().to(self._blocked.dtype))
            self._seen.index_add_(0, images, torch.ones_like(images, dtype=self._seen.dtype))

    def ratio(self) -> npt.NDArray[np.float64]:
        """(N,) the share of the samples seen."""
        return (self._blocked / self._seen.clamp(min=1)).double().cpu().numpy()
