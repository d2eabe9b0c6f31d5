"""The diagnosis of policies that treat a known robot as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO

from ambidex import load
from ambidex.diagnosis.policy import diagnose_policy, diagnose_zip
from tests.diagnosis.known_robots import RELATIVE_SCALE, TRIANGLE, KnownModel, known_diagnosis, visited


def test_scales_and_offsets_of_a_known_robot() -> None:
    found = known_diagnosis()
    for one in found.actuators:
        low, high = one.scale_interval
        assert low - 0.02 < RELATIVE_SCALE[one.index] < high + 0.02
        assert one.scale == pytest.approx(RELATIVE_SCALE[one.index], rel=0.02)
        assert one.scale_is_off
        assert one.scale_known
    assert [one.offset_is_off for one in found.actuators] == [False, True, False]
    assert found.actuators[1].offset == pytest.approx(0.1, abs=0.01)
    assert [one.place for one in found.actuators] == ["back", "front right", "front left"]
    assert all(transform.agreement > 0.95 for transform in found.transforms)


def test_a_stable_baselines3_file_needs_trust(tmp_path: Path) -> None:
    from ambidex.envs.triangle.robot import TriangleEnv

    group = load("triangle")
    env = TriangleEnv()
    model = PPO("MlpPolicy", env, device="cpu", seed=0)
    model.save(tmp_path / "policy.zip")
    states = np.stack([env.observation_space.sample() for _ in range(64)])
    np.savez(tmp_path / "visited.npz", observations=states)
    arguments = {"symmetry": "triangle", "observations": tmp_path / "visited.npz"}
    with pytest.raises(ValueError, match="--trust"):
        diagnose_zip(tmp_path / "policy.zip", **arguments)
    with pytest.raises(ValueError, match="no algorithm 'POP'"):
        diagnose_zip(tmp_path / "policy.zip", **arguments, algorithm="POP", trust=True)
    with pytest.raises(ValueError, match=r"cannot be loaded as SAC .*--algorithm names the class") as refused:
        diagnose_zip(tmp_path / "policy.zip", **arguments, algorithm="SAC", trust=True)
    assert "\n" not in str(refused.value)
    found = diagnose_zip(tmp_path / "policy.zip", **arguments, trust=True)
    direct = diagnose_policy(model, group, states)
    assert found == direct
    assert found.title == "PPO policy, after 0 steps"


def test_discrete_actions_have_no_scales() -> None:
    model = KnownModel()
    model.action_space = spaces.Discrete(3)  # type: ignore[assignment]
    with pytest.raises(ValueError, match="continuous"):
        diagnose_policy(model, TRIANGLE, visited())  # type: ignore[arg-type]
