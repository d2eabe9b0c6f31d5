"""Policies from files: ONNX, TorchScript, Stable-Baselines3's zip."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.words import listed

Rows = npt.NDArray[np.float32]

TORCHSCRIPT = (".pt", ".pth", ".ts", ".jit")


@dataclass(frozen=True)
class PolicyFile:
    """What a policy does.

    :param act: the deterministic actions for rows of observations, (rows, actions), from a vector per row or
        from one for each of the ``keys``
    :param keys: of a Dict observation, in the order in which the policy names them; empty for one vector
    """

    act: Callable[[Any], npt.NDArray[Any]]
    keys: tuple[str, ...] = ()


def read_policy(path: Path, *, algorithm: str = "PPO", trust: bool = False) -> PolicyFile:
    """Read a policy, known by its file's ending.

    :param algorithm: of a .zip, the class of Stable-Baselines3 that saved it
    :param trust: that you know where the file comes from: a .zip runs the code that is pickled in it,
        TorchScript is a program that may write files
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if path.suffix == ".onnx":
        return _read_onnx(path)
    if path.suffix in TORCHSCRIPT:
        return _read_torchscript(path, trust)
    if path.suffix == ".zip":
        return _read_zip(path, algorithm, trust)
    raise ValueError(
        f"{path}: a policy is an .onnx file, TorchScript ({', '.join(TORCHSCRIPT)}) or a .zip of "
        "Stable-Baselines3"
    )


def _read_onnx(path: Path) -> PolicyFile:
    try:
        import onnxruntime
    except ImportError:
        raise ValueError("reading .onnx needs onnxruntime: pip install 'ambidex[export]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:  # by its path: weights may lie in a file beside it
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except OSError:
        raise
    except Exception as error:  # onnxruntime has its own, which share no class but this
        raise ValueError(f"{path} is not a policy in ONNX: {str(error).partition(chr(10))[0]}") from None
    inputs = {one.name: one for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    output = next((name for name in outputs if name.startswith("action")), outputs[0])
    types = {name: np.float64 if "double" in one.type else np.float32 for name, one in inputs.items()}

    def run(feed: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.asarray(session.run([output], feed)[0])

    def act(observations: Any) -> npt.NDArray[Any]:
        given = observations if isinstance(observations, dict) else {next(iter(inputs)): observations}
        feed = {name: np.asarray(given[name], types[name]) for name in inputs}
        rank = len(next(iter(inputs.values())).shape)
        if rank > 1 and not any(isinstance(one.shape[0], int) for one in inputs.values()):
            return run(feed)
        # A file of a fixed batch, as rsl_rl writes it, is asked one row at a time.
        rows = range(len(next(iter(feed.values()))))
        one_row = [
            {name: part[row : row + 1] if rank > 1 else part[row] for name, part in feed.items()}
            for row in rows
        ]
        return np.stack([run(each).reshape(-1) for each in one_row])

    return PolicyFile(act, tuple(inputs) if len(inputs) > 1 else ())


def _read_torchscript(path: Path, trust: bool) -> PolicyFile:
    if not trust:
        raise ValueError(
            f"{path}: TorchScript is a program, which may write files; if you know where it comes from, give "
            "--trust"
        )
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is to go; its files are there
        try:
            module = torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"{path} is not TorchScript, as torch.jit.script and torch.jit.trace make it: {reason}"
            ) from None

    @torch.inference_mode()
    def act(observations: Rows) -> npt.NDArray[Any]:
        answer = module(torch.from_numpy(np.ascontiguousarray(observations, np.float32)))
        first = answer[0] if isinstance(answer, tuple | list) else answer
        return np.asarray(first.numpy())

    return PolicyFile(act)


def _read_zip(path: Path, algorithm: str, trust: bool) -> PolicyFile:
    from gymnasium import spaces

    from ambidex.diagnosis.policy import load_zip

    model = load_zip(path, algorithm=algorithm, trust=trust)
    if not isinstance(model.action_space, spaces.Box):
        raise ValueError(f"{path}: only continuous actions are measured, not those of {model.action_space}")
    space = model.observation_space
    keys = tuple(space.spaces) if isinstance(space, spaces.Dict) else ()

    def act(observations: Any) -> npt.NDArray[Any]:
        return model.predict(observations, deterministic=True)[0]

    return PolicyFile(act, keys)


def answers(
    policy: PolicyFile, path: Path, rows: Rows, sizes: dict[str, int], actions: int
) -> npt.NDArray[np.float64]:
    """(rows, actions) what the policy does for vectors in which its keys follow each other.

    :param path: the policy's, for what is refused
    :param sizes: how many elements each key has
    """
    observations: Any = rows
    if policy.keys:
        borders = np.cumsum(list(sizes.values()))[:-1]
        observations = dict(zip(sizes, np.split(rows, borders, axis=1), strict=True))
    try:
        given = policy.act(observations)
    except Exception as error:  # each kind of file has its own
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{path} does not take observations of {listed_sizes(sizes)} elements: {reason}"
        ) from None
    given = np.asarray(given, dtype=np.float64)
    if given.shape != (len(rows), actions):
        raise ValueError(
            f"{path} answers {len(rows)} observations with numbers of shape {given.shape}; the description "
            f"has {actions} actions for each"
        )
    if not np.isfinite(given).all():
        raise ValueError(
            f"{path} answers row {np.argwhere(~np.isfinite(given))[0][0]} with numbers that are not finite"
        )
    return given


def listed_sizes(sizes: dict[str, int]) -> str:
    """``48``, or ``policy 48 and height 187``."""
    return listed([f"{key} {size}".strip() for key, size in sizes.items()])
