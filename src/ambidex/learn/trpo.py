"""`SymmetricTRPO`: sb3-contrib's TRPO with a symmetry loss for each transform of a robot."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.type_aliases import GymEnv

from ambidex.learn.losses.loss import LossChoice
from ambidex.learn.networks.policy import POLICIES
from ambidex.learn.on_policy import SymmetricOnPolicy
from ambidex.learn.refusals import check_positive
from ambidex.learn.update.actuators import ActuatorChoice
from ambidex.symmetry import SymmetryGroup

try:
    from sb3_contrib import TRPO
except ImportError:
    raise ImportError("SymmetricTRPO needs sb3-contrib: pip install 'ambidex[contrib]'") from None

from ambidex.learn.update import trust_region


class SymmetricTRPO(SymmetricOnPolicy, TRPO):
    """TRPO that exploits a robot's symmetries, and learns where they are imperfect.

    Without symmetries, or with ``loss=None``, it runs sb3-contrib's own code and gives the same parameters to
    the bit. The policy terms of the symmetry losses enter the surrogate, in the gradient as in the line
    search, so that the KL divergence of an update stays below ``target_kl`` whatever they weigh (its mean
    over the states and, as sb3-contrib has it, over the n action elements). The value terms enter the
    critic's steps, beside its own loss, which has the coefficient 1 there.

    TRPO has no clip range; ``symmetry_clip_range``, epsilon, plays its part in ASL's mean shift and PSL's
    trust region. By default it is ``exp(n target_kl) - 1``: a mean that moves by ASL's
    ``sigma sqrt(2 ln(1 + epsilon) / n)`` in each element (k_s = 1) has moved by the KL divergence
    ``shift^2 / (2 sigma^2) = ln(1 + epsilon) / n = target_kl`` in each, as far as TRPO lets a policy go, and
    PSL's ratio may grow to ``1 + epsilon``, the exponential of the whole divergence.

    :param policy: as for sb3-contrib's TRPO
    :param env: as for sb3-contrib's TRPO
    :param symmetries: the transforms of the robot
    :param loss: see `SymmetricPPO`
    :param actuators: see `SymmetricPPO`
    :param symmetry_samples: k images drawn for each state, once for the actor's step and anew for each of
        the critic's passes, with the same expected gradient as all of them (None)
    :param symmetry_clip_range: epsilon of the symmetry losses, see above; None for ``exp(n target_kl) - 1``
    :param fast: whether the roll-out takes the fast path for plain MLP policies on the CPU: None where there
        are symmetries and the policy allows it, True always (an error where it cannot), False never
    :param kwargs: any keyword of sb3-contrib's TRPO
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = TRPO.policy_aliases | POLICIES

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        symmetries: SymmetryGroup | None = None,
        loss: LossChoice = None,
        actuators: ActuatorChoice = None,
        symmetry_samples: int | None = None,
        symmetry_clip_range: float | None = None,
        fast: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.symmetry_clip_range = symmetry_clip_range
        super().__init__(
            policy,
            env,
            symmetries=symmetries,
            loss=loss,
            actuators=actuators,
            symmetry_samples=symmetry_samples,
            fast=fast,
            **kwargs,
        )

    def _setup_losses(self) -> None:
        if self.symmetry_clip_range is not None:
            check_positive("symmetry_clip_range", self.symmetry_clip_range, such_as="0.2")
        super()._setup_losses()

    def _train(self) -> None:
        self._update_learning_rate(self.policy.optimizer)
        iteration = self._prepare(self._clip_range())
        statistics = trust_region.update(self, iteration)
        self._n_updates += 1
        self._after_update(iteration, statistics.value_gate_ratio)
        record = self.logger.record
        record("train/policy_objective", statistics.objective)
        record("train/value_loss", statistics.value_loss)
        record("train/kl_divergence_loss", statistics.kl)
        record("train/is_line_search_success", float(statistics.succeeded))
        self._record_common(statistics.symmetry_policy_loss, statistics.symmetry_value_loss)

    def _clip_range(self) -> float:
        if self.symmetry_clip_range is not None:
            return self.symmetry_clip_range
        elements = get_action_dim(self.action_space)
        return math.expm1(elements * self.target_kl)
