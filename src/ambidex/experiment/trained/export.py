"""A trained policy as ONNX: observation in, clipped action out, checked against the policy it came from.

The file takes observations as the environment gives them, in the environment's own type of numbers, and gives
what the robot gets: normalisation, what each motor needs, and clipping are in it. Its metadata say what the
elements of both are.
"""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.sac.policies import SACPolicy

from ambidex import __version__
from ambidex.common.files import write_bytes
from ambidex.experiment.configure.normalization import Normalization
from ambidex.experiment.one_run import record
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.stored import StoredPolicy, Which
from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.networks.mlp import dense
from ambidex.learn.off_policy.action_range import ActionRange
from ambidex.learn.relabel.frame import EnvFrame

LARGEST_DIFFERENCE = 1e-4
_RECORDED = 1000


class Seeing(torch.nn.Module):
    """An actor on observations as the environment gives them, in any type of numbers.

    :param normalization: of the observations, None where the actor takes them as they are
    """

    def __init__(self, actor: torch.nn.Module, normalization: Normalization | None) -> None:
        super().__init__()
        self.actor = actor
        self.normalization = normalization
        if normalization is not None:
            spread = np.sqrt(normalization.variances[None] + normalization.epsilon)
            self.centre = torch.nn.Buffer(torch.as_tensor(normalization.means[None]))
            self.spread = torch.nn.Buffer(torch.as_tensor(spread))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        if self.normalization is not None:
            scaled = (observation.double() - self.centre) / self.spread  # in float64, as it was in training
            observation = scaled.clamp(-self.normalization.clip, self.normalization.clip)
        return self.actor(observation.float())  # type: ignore[no-any-return]


class ClippedActor(torch.nn.Module):
    """The deterministic actor alone, with the clipping that Stable-Baselines3 does outside the network."""

    def __init__(self, policy: ActorCriticPolicy) -> None:
        super().__init__()
        space = policy.action_space
        if not isinstance(space, gym.spaces.Box) or not isinstance(policy.observation_space, gym.spaces.Box):
            raise ValueError("only policies with Box observations and Box actions can be exported")
        self.extractor = policy.pi_features_extractor
        self.hidden = policy.mlp_extractor.policy_net
        self.means = policy.action_net
        self.is_actuated = isinstance(policy, Actuated)
        if isinstance(policy, Actuated):
            self.scale = torch.nn.Buffer(policy.actuator_scale)
            self.offset = torch.nn.Buffer(policy.actuator_offset)
        self.low = torch.nn.Buffer(torch.as_tensor(space.low))
        self.high = torch.nn.Buffer(torch.as_tensor(space.high))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        means = self.means(self.hidden(self.extractor(observation)))
        if self.is_actuated:
            means = self.offset + self.scale * means
        return torch.maximum(torch.minimum(means, self.high), self.low)


class SquashedActor(torch.nn.Module):
    """The same of SAC, whose actions tanh holds within their range."""

    def __init__(self, policy: SACPolicy) -> None:
        super().__init__()
        if not isinstance(policy.observation_space, gym.spaces.Box):
            raise ValueError("only policies with Box observations and Box actions can be exported")
        actor = policy.actor
        self.extractor = actor.features_extractor
        self.hidden = _plain(actor.latent_pi)
        self.means = _plain(actor.mu)
        actions = ActionRange.of_policy(policy)
        self.centre = torch.nn.Buffer(torch.tensor(actions.centre, dtype=torch.float32))
        self.half_range = torch.nn.Buffer(torch.tensor(actions.half, dtype=torch.float32))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        means = self.means(self.hidden(self.extractor(observation)))
        return self.centre + self.half_range * torch.tanh(means)


def _plain(network: torch.nn.Module) -> torch.nn.Module:
    """Without tied layers, which would be expanded at every call."""
    return dense(network) if isinstance(network, torch.nn.Sequential) else network


def _actor(policy: Any) -> torch.nn.Module:
    return SquashedActor(policy) if isinstance(policy, SACPolicy) else ClippedActor(policy)


@dataclass(frozen=True)
class Exported:
    """What was compared before the file was written.

    :param difference: the largest absolute difference of an action element
    :param signature: what goes in and out, as in the file's metadata
    """

    path: Path
    observations: int
    difference: float
    signature: dict[str, Any]


def export(directory: Path, path: Path, which: Which = "best", *, trust: bool = False) -> Exported:
    """Write the policy of a run as ONNX (any batch size); refuses if it does not act as the policy does.

    :param directory: the run
    :param path: the ONNX file
    :param trust: that the run's environment may be code of a module that its `run.json` names
    """
    _require("onnx", "onnxruntime", "onnxscript")
    policy = stored.load_policy(directory, which, trust=trust)
    if isinstance(policy.env, EnvFrame):
        raise ValueError(
            f"{directory}: its policy acts in a canonical frame, and a network does not keep the frame from "
            "one step to the next; use it within ambidex.CanonicalFrame, or export a run of another method"
        )
    signature = _signature(directory, policy, which)
    content = _to_onnx(policy, signature)
    observations = _record(policy)
    difference = float(np.abs(_run_onnx(content, observations) - policy.act(observations)).max())
    if not difference <= LARGEST_DIFFERENCE:
        raise ArithmeticError(
            f"the exported policy differs by {difference:.2g} from that of {directory}; nothing was written"
        )
    write_bytes(path, content)
    return Exported(path, len(observations), difference, signature)


def _signature(directory: Path, policy: StoredPolicy, which: Which) -> dict[str, Any]:
    """What the file's input and output are, element by element where the description has names for them."""
    group = record.read_group(directory)
    layout = None if group is None else group.layout
    seen, done = policy.env.observation_space, policy.env.action_space
    return {
        "observation": {
            "shape": ["batch", *(seen.shape or ())],
            "type": str(seen.dtype),
            "names": list(layout.observation_names) if layout is not None else None,
            "normalization": "in the file" if policy.normalization is not None else "none",
        },
        "action": {
            "shape": ["batch", *(done.shape or ())],
            "type": "float32",
            "names": list(layout.action_names) if layout is not None else None,
            "low": getattr(done, "low").tolist(),  # noqa: B009 (spaces in general have none)
            "high": getattr(done, "high").tolist(),  # noqa: B009
            "actuators": "in the file" if isinstance(policy.policy, Actuated) else "none",
        },
        "policy": f"{policy.config.title}, the {which} one, by ambidex {__version__}",
    }


def _to_onnx(policy: StoredPolicy, signature: dict[str, Any]) -> bytes:
    example = torch.as_tensor(policy.env.observation_space.sample())[None]
    logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            Seeing(_actor(policy.policy), policy.normalization).eval(),
            (example,),
            input_names=["observation"],
            output_names=["action"],
            dynamic_shapes={"observation": {0: torch.export.Dim("batch")}},
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto  # made anew each time that it is asked for
    for key, value in signature.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, json.dumps(value)
    return bytes(model.SerializeToString())


def _record(policy: StoredPolicy) -> np.ndarray:
    """Observations that the policy meets on its way."""
    observations: list[Any] = []
    while len(observations) < _RECORDED:
        observation, _ = policy.env.reset()
        over = False
        while not over and len(observations) < _RECORDED:
            observations.append(observation)
            observation, _, terminated, truncated, _ = policy.env.step(policy.act(observation))
            over = terminated or truncated
    return np.stack(observations)


def _run_onnx(content: bytes, observations: np.ndarray) -> np.ndarray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["action"], {"observation": observations})[0])


def _require(*modules: str) -> None:
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ValueError(f"export needs {', '.join(missing)}: pip install 'ambidex[export]'")
