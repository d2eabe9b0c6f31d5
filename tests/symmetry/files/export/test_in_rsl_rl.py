"""The exported function inside the real rsl_rl: found by its name, used for both losses, resumed."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest
import torch
from tensordict import TensorDict

runners = pytest.importorskip("rsl_rl.runners", reason="rsl_rl comes with the extra [peers]")
resolve_callable = runners.on_policy_runner.resolve_callable

from tests.symmetry.files.export.point import Point  # noqa: E402

DESCRIPTION = """
observations:
  policy:
    - position: {vector: [x, y]}
    - goal: {vector: [x, y]}
  critic:
    - position: {vector: [x, y]}
    - goal_x: {vector: [x]}
actions:
  - speed: {vector: [x, y]}
generators: [xz, yz]
"""


def configuration(function: str, **symmetry) -> dict:
    model = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu", "obs_normalization": True}
    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    return {
        "num_steps_per_env": 8,
        "save_interval": 1,
        "obs_groups": {"actor": ["policy"], "critic": ["critic", "battery"]},
        "actor": {**model, "distribution_cfg": distribution},
        "critic": dict(model),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 2,
            "num_mini_batches": 2,
            "rnd_cfg": None,
            "symmetry_cfg": {"data_augmentation_func": function, **symmetry},
        },
    }


@pytest.fixture
def function(exported, tmp_path):
    """The function's name, as Isaac Lab writes it into a configuration."""
    (tmp_path / "point.yaml").write_text(DESCRIPTION)
    module = exported(tmp_path / "point.yaml", "rsl_rl", pass_through=["battery"])
    return f"{module.__name__}:augment"


def runner_of(config: dict, log_dir=None):
    torch.manual_seed(0)
    return runners.OnPolicyRunner(Point(), copy.deepcopy(config), log_dir, device="cpu")


def parameters(runner) -> torch.Tensor:
    return torch.cat([value.detach().flatten() for value in runner.alg.actor.parameters()])


@pytest.mark.filterwarnings("ignore")  # rsl_rl's own
@pytest.mark.parametrize("augmentation", [True, False])
@pytest.mark.parametrize("mirror_loss", [True, False])
def test_trains_with_both_uses_of_the_function(function, augmentation, mirror_loss):
    config = configuration(
        function, use_data_augmentation=augmentation, use_mirror_loss=mirror_loss, mirror_loss_coeff=1.0
    )
    runner = runner_of(config)
    before = parameters(runner)
    runner.learn(2)
    assert torch.isfinite(parameters(runner)).all()
    assert not torch.equal(parameters(runner), before)


@pytest.mark.filterwarnings("ignore")
def test_the_mirror_loss_makes_the_policy_symmetric(function):
    """As a slow loop over the transforms measures it, not as rsl_rl logs it."""
    differences = {}
    for weight in (0.0, 30.0):
        config = configuration(function, use_mirror_loss=True, mirror_loss_coeff=weight)
        config["actor"]["obs_normalization"] = False
        runner = runner_of(config)
        runner.learn(15)
        obs = torch.rand(200, 4, generator=torch.Generator().manual_seed(1)) * 2 - 1
        actor = runner.get_inference_policy()

        def act(obs, actor=actor):
            with torch.no_grad():
                return actor(TensorDict({"policy": obs}, batch_size=[len(obs)]))

        differences[weight] = sum(
            float(
                (act(obs * torch.tensor([sx, sy, sx, sy])) - act(obs) * torch.tensor([sx, sy])).abs().mean()
            )
            for sx, sy in [(1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
        )
    assert differences[30.0] < 0.5 * differences[0.0]


@pytest.mark.filterwarnings("ignore")
def test_a_pickled_configuration_resumes_a_run(function, tmp_path):
    config = configuration(function, use_data_augmentation=True, use_mirror_loss=True, mirror_loss_coeff=0.1)
    runner = runner_of(config)
    runner.learn(2)
    runner.save(str(tmp_path / "model.pt"))
    config["algorithm"]["symmetry_cfg"]["data_augmentation_func"] = resolve_callable(function)
    resumed = runner_of(pickle.loads(pickle.dumps(config)))
    resumed.load(str(tmp_path / "model.pt"))
    assert torch.equal(parameters(resumed), parameters(runner))
    resumed.learn(1)
    assert not torch.equal(parameters(resumed), parameters(runner))


@pytest.mark.filterwarnings("ignore")
def test_the_configuration_of_the_documentation(function):
    page = (Path(__file__).parents[4] / "docs" / "with-other-frameworks.md").read_text()
    text = page.partition("config = ")[2].partition("runner = ")[0]
    config = ast.literal_eval(text.replace("my_robot_symmetry:augment", function))
    config["num_steps_per_env"] = 4
    runner = runner_of(config)
    before = parameters(runner)
    runner.learn(1)
    assert not torch.equal(parameters(runner), before)
