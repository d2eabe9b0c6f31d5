"""A trained policy as ONNX: observation in, clipped action out, checked against the policy it came from."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from ambidex.common.files import write_bytes
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.stored import StoredPolicy, Which
from ambidex.learn.networks.actuated import Actuated
from ambidex.learn.relabel.frame import EnvFrame

LARGEST_DIFFERENCE = 1e-4
_RECORDED = 1000


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


@dataclass(frozen=True)
class Exported:
    """What was compared before the file was written.

    :param difference: the largest absolute difference of an action element
    """

    path: Path
    observations: int
    difference: float


def export(directory: Path, path: Path, which: Which = "best") -> Exported:
    """Write the policy of a run as ONNX (any batch size); refuses if it does not act as the policy does.

    :param directory: the run
    :param path: the ONNX file
    """
    _require("onnx", "onnxruntime", "onnxscript")
    policy = stored.load(directory, which)
    if isinstance(policy.env, EnvFrame):
        raise ValueError(
            f"{directory}: its policy acts in a canonical frame, and a network does not keep the frame from "
            "one step to the next; use it within ambidex.CanonicalFrame, or export a run of another method"
        )
    content = _to_onnx(policy)
    observations = _record(policy)
    difference = float(np.abs(_run_onnx(content, observations) - policy.act(observations)).max())
    if not difference <= LARGEST_DIFFERENCE:
        raise ArithmeticError(
            f"the exported policy differs by {difference:.2g} from that of {directory}; nothing was written"
        )
    write_bytes(path, content)
    return Exported(path, len(observations), difference)


def _to_onnx(policy: StoredPolicy) -> bytes:
    example = torch.as_tensor(policy.env.observation_space.sample())[None]
    logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            ClippedActor(policy.policy).eval(),
            (example,),
            input_names=["observation"],
            output_names=["action"],
            dynamic_shapes={"observation": {0: torch.export.Dim("batch")}},
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return bytes(program.model_proto.SerializeToString())


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
