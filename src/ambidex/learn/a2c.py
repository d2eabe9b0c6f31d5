"""`SymmetricA2C`: Stable-Baselines3's A2C with a symmetry loss for each transform of a robot."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from stable_baselines3 import A2C
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from torch import Tensor

from ambidex.learn.losses.loss import LossChoice
from ambidex.learn.networks.policy import POLICIES
from ambidex.learn.on_policy import SymmetricOnPolicy
from ambidex.learn.refusals import check_positive
from ambidex.learn.update import autograd
from ambidex.learn.update.actuators import ActuatorChoice
from ambidex.symmetry import SymmetryGroup


class SymmetricA2C(SymmetricOnPolicy, A2C):
    """A2C that exploits a robot's symmetries, and learns where they are imperfect.

    Without symmetries, or with ``loss=None``, it runs Stable-Baselines3's own code and gives the same
    parameters to the bit.

    A2C has no clip range, and what plays its part is ``symmetry_clip_range``, epsilon. One gradient step
    begins and ends at the policy that made the roll-out, where every ratio to itself is 1, so that PPO with
    one epoch of one minibatch is A2C, whatever its clip range: epsilon enters by the symmetry losses alone.

    - ASL: there the gradient by mu(f(s)) is ``-w_pi w_G (tau - mu(f(s))) / sigma^2``, that of an action tau
      taken in f(s) with the advantage w_pi w_G. The mean shift holds tau within
      ``k_s sigma sqrt(2 ln(1 + epsilon) / n)``, the step that makes tau 1 + epsilon times as probable if all
      n elements take it (k_s = 1): for 8 actuators and 0.2 it is 0.21 sigma, a fifth of what an action drawn
      from the policy is typically away.
    - PSL: the gradient of a step that begins at the old policy does not depend on epsilon. What remains of
      the trust region is its other bound: an image pulls where g(a-bar) is less probable in f(s) than the
      action was in s.
    - Augmentation: ratios outside of 1 +- epsilon are clipped as in PPO; with ``denominator="image"`` all
      are 1, and each image enters as a sample of A2C does.

    :param policy: as for Stable-Baselines3's A2C
    :param env: as for Stable-Baselines3's A2C
    :param symmetries: the transforms of the robot
    :param loss: see `SymmetricPPO`
    :param actuators: see `SymmetricPPO`
    :param symmetry_samples: k images drawn for each state, with the same expected gradient as all of them
        (None)
    :param symmetry_clip_range: epsilon of the symmetry losses, see above; the default is that of
        Stable-Baselines3's PPO for its clip range
    :param fit_states: the least states from which fits, ASL's spread of observations (``history`` counts
        these gatherings) and metrics learn at once, gathered over roll-outs after the first: A2C's are short,
        and a few states say little about an actuator. 0 for each roll-out by itself
    :param fast: whether the roll-out takes the fast path for plain MLP policies on the CPU: None where there
        are symmetries and the policy allows it, True always (an error where it cannot), False never
    :param kwargs: any keyword of Stable-Baselines3's A2C
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = A2C.policy_aliases | POLICIES
    _choices = (*SymmetricOnPolicy._choices, "fit_states")

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        symmetries: SymmetryGroup | None = None,
        loss: LossChoice = None,
        actuators: ActuatorChoice = None,
        symmetry_samples: int | None = None,
        symmetry_clip_range: float = 0.2,
        fit_states: int = 2048,
        fast: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.symmetry_clip_range = symmetry_clip_range
        self.fit_states = fit_states
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
        check_positive("symmetry_clip_range", self.symmetry_clip_range, such_as="0.2")
        if not isinstance(self.fit_states, int) or self.fit_states < 0:
            raise ValueError(f"fit_states is a number of states, such as 2048, or 0; got {self.fit_states!r}")
        super()._setup_losses()

    @property
    def _fit_states(self) -> int:
        return self.fit_states

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 100,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        return super().learn(
            total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar
        )

    def _train(self) -> None:
        self._update_learning_rate(self.policy.optimizer)
        iteration = self._prepare(self.symmetry_clip_range)
        statistics = autograd.single_step(self, iteration)
        self._n_updates += 1
        self._after_update(iteration, statistics.value_gate_ratio)
        self.logger.record("train/entropy_loss", statistics.entropy_loss)
        self.logger.record("train/policy_loss", statistics.policy_loss)
        self.logger.record("train/value_loss", statistics.value_loss)
        self._record_common(statistics.symmetry_policy_loss, statistics.symmetry_value_loss)

    def _policy_loss(
        self, log_probs: Tensor, log_ratio: Tensor, advantages: Tensor, clip_range: float
    ) -> Tensor:
        return -(advantages * log_probs).mean()
