"""The equivariant model inside the real rsl_rl: taken by its name, trained, exported, resumed."""

from __future__ import annotations

import ast
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

runners = pytest.importorskip("rsl_rl.runners", reason="rsl_rl comes with the extra [peers]")

from rsl_rl.modules import EmpiricalNormalization  # noqa: E402

from ambidex.diagnosis.policy_files.evaluation import evaluate_policy_file  # noqa: E402
from ambidex.learn.networks.representation import Representation  # noqa: E402
from ambidex.learn.networks.rsl_rl import SymmetricNormalization  # noqa: E402
from ambidex.symmetry import load  # noqa: E402
from tests.symmetry.files.export.point import Point  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # rsl_rl's and torch.jit's own

DESCRIPTION = """
observations:
  policy:
    - position: {{vector: [x, y]}}
    - goal: {{vector: [x, y]}}
actions:
  - speed: {{vector: [x, y]}}
generators: [{generators}]
"""
GROUPS = {"square": "r90, xz", "thirds": "r120"}  # signs and places; and a matrix that mixes


class Lopsided(Point):
    """Everything begins on one side, so that what is seen is not symmetric."""

    def _places(self) -> torch.Tensor:
        return torch.rand(self.num_envs, 2, generator=self.generator) * torch.tensor([0.2, 1.0]) + 0.5


@pytest.fixture(params=GROUPS)
def description(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "point.yaml"
    path.write_text(DESCRIPTION.format(generators=GROUPS[request.param]))
    return path


def configuration(description: Path, std_type: str = "scalar") -> dict[str, Any]:
    model = {
        "class_name": "ambidex.learn.networks.rsl_rl:EquivariantModel",
        "symmetry": str(description),
        "hidden_dims": [24, 24],
        "activation": "elu",
        "obs_normalization": True,
    }
    distribution = {"class_name": "GaussianDistribution", "init_std": 0.5, "std_type": std_type}
    return {
        "num_steps_per_env": 8,
        "save_interval": 1,
        "obs_groups": {"actor": ["policy"], "critic": ["policy", "battery"]},
        "actor": {**model, "distribution_cfg": distribution},
        "critic": {**model, "pass_through": ["battery"]},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2, "rnd_cfg": None},
    }


def runner_of(config: dict[str, Any], log_dir: str | None = None) -> Any:
    torch.manual_seed(0)
    return runners.OnPolicyRunner(Lopsided(), copy.deepcopy(config), log_dir, device="cpu")


def observations(rows: int = 50) -> torch.Tensor:
    return torch.rand(rows, 4, generator=torch.Generator().manual_seed(1)) * 4 - 2


def seen(policy: torch.Tensor) -> TensorDict:
    return TensorDict({"policy": policy, "battery": torch.ones(len(policy), 1)}, batch_size=[len(policy)])


def asymmetry(actor: Any, description: Path) -> float:
    """The largest difference between the action for an image and the image of the action."""
    worst = 0.0
    for transform in load(description):
        image = transform.observation_map["policy"](observations())
        difference = actor(image) - transform.action(actor(observations()))
        worst = max(worst, float(difference.detach().abs().max()))
    return worst


@pytest.mark.parametrize("std_type", ["scalar", "log"])
def test_exactly_equivariant_after_training_on_what_is_not_symmetric(
    description: Path, std_type: str
) -> None:
    runner = runner_of(configuration(description, std_type))
    before = torch.cat([value.detach().flatten() for value in runner.alg.actor.parameters()])
    runner.learn(4)
    after = torch.cat([value.detach().flatten() for value in runner.alg.actor.parameters()])
    assert not torch.isclose(before, after).all()
    actor = runner.get_inference_policy()
    assert float(actor(seen(observations())).std()) > 1e-2
    assert asymmetry(lambda rows: actor(seen(rows)), description) < 1e-5
    critic = runner.alg.critic
    values = critic(seen(observations()))
    assert float(values.std()) > 1e-3
    for transform in load(description):
        image = transform.observation_map["policy"](observations())
        torch.testing.assert_close(critic(seen(image)), values, rtol=1e-5, atol=1e-5)
    actor(seen(observations()), stochastic_output=True)
    assert float(actor.output_std[0, 0]) == float(actor.output_std[0, 1]) != 0.5  # one orbit, and it learned


def test_with_the_normaliser_of_rsl_rl_it_would_not_be(description: Path) -> None:
    """So that the test above sees what it is there to see."""
    runner = runner_of(configuration(description))
    runner.alg.actor.obs_normalizer = EmpiricalNormalization(4)
    runner.learn(2)
    actor = runner.get_inference_policy()
    assert asymmetry(lambda rows: actor(seen(rows)), description) > 1e-2


def test_statistics_are_those_of_the_stream_and_all_its_images(description: Path) -> None:
    group = load(description)
    matrices = Representation.of(group, ["policy"]).observation
    generator = np.random.default_rng(0)
    batches = [generator.normal([3, 1, -2, 5], [1, 0.1, 2, 1], size=(rows, 4)) for rows in (7, 30, 11)]
    normaliser = SymmetricNormalization(matrices)
    for batch in batches:
        normaliser.update(torch.tensor(batch, dtype=torch.float32))
    images = np.concatenate([batch @ matrix.T for batch in batches for matrix in matrices])
    np.testing.assert_allclose(normaliser.mean, images.mean(axis=0), atol=1e-5)
    variance = images.var(axis=0)  # of x and y alike, as the group turns them into each other
    np.testing.assert_allclose(variance[[0, 2]], variance[[1, 3]], rtol=1e-9)
    np.testing.assert_allclose(normaliser.std, np.sqrt(variance), rtol=1e-5)
    normaliser.eval()
    normaliser.update(torch.zeros(100, 4))
    np.testing.assert_allclose(normaliser.std, np.sqrt(variance), rtol=1e-5)


def test_resumes_and_exports_as_plain_layers(description: Path, tmp_path: Path) -> None:
    runner = runner_of(configuration(description), str(tmp_path / "log"))
    runner.learn(2)
    runner.save(str(tmp_path / "model.pt"))
    resumed = runner_of(configuration(description))
    resumed.load(str(tmp_path / "model.pt"))
    actor, again = runner.get_inference_policy(), resumed.get_inference_policy()
    expected = actor(seen(observations())).detach()
    assert torch.equal(again(seen(observations())), expected)
    resumed.learn(1)
    assert not torch.equal(again(seen(observations())), expected)

    runner.export_policy_to_jit(str(tmp_path), "policy.pt")
    scripted = torch.jit.load(str(tmp_path / "policy.pt"))
    torch.testing.assert_close(scripted(observations()), expected)
    assert asymmetry(scripted, description) < 1e-5
    kinds = {module.original_name for module in scripted.mlp.children()}
    assert kinds == {"Linear", "ELU"}

    onnxruntime = pytest.importorskip("onnxruntime")
    runner.export_policy_to_onnx(str(tmp_path), "policy.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx", providers=["CPUExecutionProvider"])
    answers = [session.run(["actions"], {"obs": row[None].numpy()})[0][0] for row in observations()]
    np.testing.assert_allclose(np.stack(answers), expected, atol=1e-5)
    assert type(runner.alg.actor.obs_normalizer) is SymmetricNormalization  # the model itself is as it was

    np.savez(tmp_path / "log.npz", policy=observations().numpy(), battery=np.ones((50, 1)))
    for name in ("policy.pt", "policy.onnx"):
        found = evaluate_policy_file(
            tmp_path / name,
            symmetry=str(description),
            observations=tmp_path / "log.npz",
            trust=True,
        )
        assert all(max(one.canonical + one.equivariance) < 1e-4 for one in found.transforms)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"distribution_cfg": {"class_name": "BetaDistribution"}}, "GaussianDistribution"),
        ({"symmetry": "ant"}, "acts on 28 elements of the observations 'policy', which have 4"),
    ],
)
def test_wrong_configurations_are_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    (tmp_path / "point.yaml").write_text(DESCRIPTION.format(generators="r90, xz"))
    config = configuration(tmp_path / "point.yaml")
    config["actor"].update(changes)
    with pytest.raises(ValueError, match=reason):
        runner_of(config)


def test_groups_and_outputs_that_are_not_described_are_refused(tmp_path: Path) -> None:
    (tmp_path / "point.yaml").write_text(DESCRIPTION.format(generators="r90, xz"))
    config = configuration(tmp_path / "point.yaml")
    del config["critic"]["pass_through"]
    with pytest.raises(ValueError, match="'battery' are not described"):
        runner_of(config)

    class Driven(Lopsided):
        num_actions = 3

    with pytest.raises(ValueError, match="the actor is to have 3 outputs, but 2 are described"):
        runners.OnPolicyRunner(Driven(), configuration(tmp_path / "point.yaml"), None, device="cpu")


def test_the_configuration_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "with-other-frameworks.md").read_text()
    text = page.partition("equivariant = ")[2].partition("runner = ")[0]
    described = DESCRIPTION.format(generators="xz").replace(
        "actions:", "  critic:\n    - position: {vector: [x, y]}\n    - goal_x: {vector: [x]}\nactions:"
    )
    (tmp_path / "point.yaml").write_text(described)
    config = ast.literal_eval(text.replace("my-robot.yaml", str(tmp_path / "point.yaml")))
    config["num_steps_per_env"] = 4
    runner = runner_of(config)
    runner.learn(1)
    actor = runner.get_inference_policy()
    assert asymmetry(lambda rows: actor(seen(rows)), tmp_path / "point.yaml") < 1e-5
