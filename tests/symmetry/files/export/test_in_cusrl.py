"""The exported mirrors inside the real cusrl: augmentation and loss, single and of the whole group."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

cusrl = pytest.importorskip("cusrl", reason="cusrl comes with the extra [peers]")

from cusrl.testing.environment import DummyTorchEnvironment  # noqa: E402

from ambidex.symmetry import load  # noqa: E402
from tests.symmetry.files.export.robots import HALF, MIRROR, ROOT, THIRDS  # noqa: E402
from tests.symmetry.tables import ANT, ant_tables  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # cusrl's own


def test_single_transforms_are_mirrors_of_cusrl(exported):
    module = exported("ant", "cusrl")
    for name in ANT:
        tables = ant_tables(name)
        obs, actions = torch.randn(3, 28), torch.randn(3, 8)
        assert type(module.OBSERVATION[name]).__name__ == "MirrorDef"
        expected = obs[:, tables["obs_indices"]] * torch.tensor(tables["obs_multipliers"])
        assert torch.equal(module.OBSERVATION[name](obs), expected)
        image = actions[:, tables["act_indices"]] * torch.tensor(tables["act_multipliers"])
        assert torch.equal(module.ACTION[name](actions), image)
        assert torch.equal(module.ACTION_BACK[name](image), actions)
    assert pickle.loads(pickle.dumps(module.mirror_action)) is module.mirror_action


def test_what_a_mirror_cannot_say_and_the_critics_state(exported):
    module = exported(THIRDS, "cusrl")
    turned = module.mirror_action(torch.tensor([[0.0, 2]]))
    torch.testing.assert_close(turned, torch.tensor([[[-2 * ROOT, -1]], [[2 * ROOT, -1]]]))
    torch.testing.assert_close(module.return_action(turned), torch.tensor([[[0.0, 2]]] * 2))
    torch.testing.assert_close(
        module.OBSERVATION["r120"](torch.tensor([7.0, 1, 0])), torch.tensor([7, -HALF, ROOT])
    )
    assert exported(MIRROR, "cusrl").mirror_state(torch.tensor([1.0, 2, 3])).tolist() == [[1, -2, 3]]


def agent_of(hooks, mirror_observation, mirror_action):
    environment = DummyTorchEnvironment(
        28, 8, num_instances=4, mirror_observation=mirror_observation, mirror_action=mirror_action
    )
    factory = cusrl.preset.ppo.PpoAgentFactory(
        num_steps_per_update=4, actor_hidden_dims=(16,), critic_hidden_dims=(16,), sampler_epochs=1
    ).to_underlying()
    for hook, place in hooks:
        factory.register_hook(hook, **place)
    torch.manual_seed(0)
    return environment, factory


def trains(environment, factory):
    trainer = cusrl.Trainer(environment, factory, num_iterations=2, verbose=False)
    before = [value.clone() for value in trainer.agent.actor.parameters()]
    trainer.run_training_loop()
    after = list(trainer.agent.actor.parameters())
    assert all(torch.isfinite(value).all() for value in after)
    assert not any(torch.equal(*pair) for pair in zip(before, after, strict=True))


def test_trains_with_every_transform_at_once(exported):
    module = exported("ant", "cusrl")
    hooks = [
        (cusrl.hook.SymmetricDataAugmentation(), {"before": "value_loss"}),
        (module.GroupMirrorLoss(1.0), {"after": "on_policy_preparation"}),
    ]
    trains(*agent_of(hooks, module.mirror_observation, module.mirror_action))


def test_trains_with_single_transforms(exported):
    module = exported("ant", "cusrl")
    augmentation = (cusrl.hook.SymmetricDataAugmentation(), {"before": "value_loss"})
    loss = (cusrl.hook.MirrorSymmetryLoss(1.0), {"after": "on_policy_preparation"})
    trains(*agent_of([augmentation, loss], module.OBSERVATION["xz"], module.ACTION["xz"]))
    trains(*agent_of([augmentation], module.OBSERVATION["r90"], module.ACTION["r90"]))
    trains(*agent_of([loss], module.OBSERVATION["r90"], module.ACTION_BACK["r90"]))


def test_the_loss_over_the_group_is_that_of_a_slow_loop(exported):
    """An actor's mean action against the one for each image, taken back by the inverse of the description."""
    module, group = exported("ant", "cusrl"), load("ant")
    hooks = [(module.GroupMirrorLoss(1.0), {"after": "on_policy_preparation"})]
    environment, factory = agent_of(hooks, module.mirror_observation, module.mirror_action)
    agent = factory.from_environment(environment)
    obs = torch.randn(6, 28)
    done = torch.zeros(6, 1, dtype=torch.bool)
    mean = agent.actor(obs)[0]["mean"]
    loss = next(hook for hook in agent.hook if isinstance(hook, module.GroupMirrorLoss))
    batch = {"observation": obs, "done": done, "curr_action_dist": {"mean": mean}}
    found = loss.objective({"temporal": False}, batch)["action_mean_symmetry_loss"]
    expected = [
        (
            mean[i] - element.inverse().action(agent.actor(element.observation(obs[i : i + 1]))[0]["mean"][0])
        ).square()
        for element in group
        for i in range(6)
    ]
    torch.testing.assert_close(found, torch.stack(expected).mean())


def test_a_run_is_resumed_from_its_checkpoint_and_a_pickled_factory(exported, tmp_path):
    """With both hooks, in the order that the documentation names; the loss by cusrl's own string of it."""
    module = exported("ant", "cusrl")
    described = cusrl.utils.to_dict(module.GroupMirrorLoss(0.5))
    assert described["__class__"] == f"<class 'GroupMirrorLoss' from '{module.__name__}'>"
    loss = cusrl.utils.from_dict(None, described)
    assert type(loss) is module.GroupMirrorLoss and loss.weight == 0.5
    hooks = [
        (cusrl.hook.SymmetricDataAugmentation(), {"before": "value_loss"}),
        (loss, {"after": "on_policy_preparation"}),
    ]
    environment, factory = agent_of(hooks, module.mirror_observation, module.mirror_action)
    pickled = pickle.dumps(factory)

    def trainer(iterations, **options):
        logger = cusrl.template.Logger.Factory(log_dir=tmp_path, name=None)
        return cusrl.Trainer(
            environment, pickle.loads(pickled), logger, num_iterations=iterations, verbose=False, **options
        )

    def parameters(one):
        return torch.cat([value.detach().flatten() for value in one.agent.actor.parameters()])

    first = trainer(2)
    first.run_training_loop()
    resumed = trainer(4, checkpoint_path=str(tmp_path))
    assert resumed.iteration == 2
    assert torch.equal(parameters(resumed), parameters(first))
    resumed.run_training_loop()
    assert resumed.iteration == 4
    assert torch.isfinite(parameters(resumed)).all()
    assert not torch.equal(parameters(resumed), parameters(first))


def test_the_configuration_of_the_documentation(exported, tmp_path):
    page = (Path(__file__).parents[4] / "docs" / "with-other-frameworks.md").read_text()
    code = page.partition("## cusrl\n\n```python\n")[2].partition("```")[0]
    module = exported("ant", "cusrl")
    code = code.replace("my_robot_symmetry as", f"{module.__name__} as").replace("1500", "1")
    code = code.replace('"logs"', repr(str(tmp_path)))
    names = {"make_environment": lambda: DummyTorchEnvironment(28, 8, num_instances=4)}
    exec(code, names)
    assert (tmp_path / "ckpt" / "ckpt_1.pt").is_file()
