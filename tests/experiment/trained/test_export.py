import numpy as np
import onnxruntime
import pytest

from ambidex.common.files import read_arrays
from ambidex.experiment.trained import export, stored


def _tanh_actor_by_hand(arrays, observations, low, high):
    """The actor written out, from the stored numbers alone."""
    hidden = observations.astype(np.float64)
    for layer in (0, 2):
        weight = arrays[f"mlp_extractor.policy_net.{layer}.weight"]
        hidden = np.tanh(hidden @ weight.T + arrays[f"mlp_extractor.policy_net.{layer}.bias"])
    means = hidden @ arrays["action_net.weight"].T + arrays["action_net.bias"]
    return np.clip(means, low, high)


def test_the_file_acts_as_the_policy_with_clipping(finished, tmp_path):
    written = export.export(finished, tmp_path / "policy.onnx", "last")
    assert written.observations == 1000
    assert written.difference < 1e-5
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    policy = stored.load_policy(finished, "last")
    space = policy.env.action_space
    observations = np.random.default_rng(0).normal(0, 20, (7, *policy.env.observation_space.shape))
    observations = observations.astype(np.float32)
    arrays = read_arrays(finished / "policy-last.safetensors")
    by_hand = _tanh_actor_by_hand(arrays, observations, space.low, space.high)
    for batch in (observations, observations[:1]):
        (actions,) = session.run(["action"], {"observation": batch})
        np.testing.assert_allclose(actions, by_hand[: len(batch)], atol=1e-5)


def test_a_clipped_action_stays_in_the_box(finished):
    import torch

    policy = stored.load_policy(finished, "last").policy
    with torch.no_grad():
        policy.action_net.bias.fill_(5.0)
    actor = export.ClippedActor(policy)
    actions = actor(torch.zeros(1, policy.observation_space.shape[0])).detach().numpy()
    np.testing.assert_array_equal(actions[0], policy.action_space.high)


def test_a_file_that_acts_otherwise_is_not_written(finished, tmp_path, monkeypatch):
    real = export._run_onnx
    monkeypatch.setattr(export, "_run_onnx", lambda *arguments: real(*arguments) + 0.01)
    with pytest.raises(ArithmeticError, match="nothing was written"):
        export.export(finished, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())
