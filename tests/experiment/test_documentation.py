"""The Python of the page Train, run as it is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from ambidex.experiment.configure import build
from ambidex.experiment.configure.presets import configure
from ambidex.learn import SymmetricVecNormalize
from ambidex.symmetry import load

PAGE = Path(__file__).parents[2] / "docs" / "train.md"
SAME = [
    "n_steps",
    "batch_size",
    "n_epochs",
    "learning_rate",
    "gamma",
    "gae_lambda",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
    "normalize_advantage",
    "desired_kl",
    "learning_rate_range",
    "std_floor",
    "symmetry_samples",
    "fast",
    "loss",
    "actuators",
    "seed",
]


def examples() -> list[str]:
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(found) == 2
    return found


def test_the_preset_in_python_is_the_preset() -> None:
    pytest.importorskip("mujoco")
    names: dict[str, Any] = {}
    exec(examples()[0], names)
    ours = names["model"]
    config = configure(None, [], env="Ant-v5", symmetry="ant-v5")
    group = load("ant-v5")
    env = build.training_environment(config, group)
    theirs = build.build_model(config, env, group)
    for name in SAME:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.clip_range(1.0) == theirs.clip_range(1.0)
    assert type(ours.policy).__name__ == type(theirs.policy).__name__
    for name, parameter in theirs.policy.state_dict().items():
        assert torch.equal(parameter, ours.policy.state_dict()[name]), name
    for wrapper in (names["env"], env):
        assert isinstance(wrapper, SymmetricVecNormalize)
        assert (wrapper.norm_obs, wrapper.norm_reward, wrapper.gamma) == (False, True, 0.99)
        wrapper.close()


def test_a_trained_policy_in_python(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished, tmp_path / "runs" / "limping")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(examples()[1], names)
    assert names["policy"].env.action_space.contains(names["action"])
